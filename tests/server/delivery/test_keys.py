"""access.json changing under a running server (decision 43): within a second, and never a way in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.access.keys import access
from tests.sites.served_site import Running, Site, eventually, serving


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


@pytest.fixture
def server(site: Site, tmp_path: Path) -> Iterator[Running]:
    with serving(site.store, tmp_path / "log") as running:
        yield running


@pytest.fixture(scope="module")
def asked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    """A server that is only asked, and the text of a key for it."""
    directory = tmp_path_factory.mktemp("asked")
    site = Site(directory)
    site.publish("one")
    _, text = site.key()
    with serving(site.store, directory / "log") as running:
        eventually(lambda: status(running, text) == 200)
        yield running, text


def status(server: Running, text: str, target: str = "/v1/acme/posts") -> int:
    return server.get(target, headers={"X-API-KEY": text}).status


def test_edits_are_in_force_within_a_second(site: Site, server: Running) -> None:
    assert server.get("/v1/acme/posts").message == "An API key is required."
    key, text = site.key()
    eventually(lambda: status(server, text) == 200)
    access.disable_key(site.access, key.prefix)
    eventually(lambda: status(server, text) == 401)
    assert server.get("/v1/acme/posts", headers={"X-API-KEY": text}).message == "This API key is disabled."
    access.enable_key(site.access, key.prefix)
    eventually(lambda: status(server, text) == 200)
    site_only = frozenset({"api_site00000001"})
    access.edit_key(site.access, key.prefix, access.KeyChange(scope=site_only), now=key.created_at, zone=access.UTC)
    eventually(lambda: status(server, text) == 404)
    assert status(server, text, "/v1/acme/site") == 200
    access.delete_key(site.access, key.prefix)
    eventually(lambda: status(server, text, "/v1/acme/site") == 401)


def test_scope_follows_the_uid_not_the_endpoint(site: Site, server: Running) -> None:
    _, text = site.key(scope=frozenset({"api_posts0000001"}))
    eventually(lambda: status(server, text) == 200)
    assert status(server, text, "/v1/acme/site") == 404
    assert [api["endpoint"] for api in _schema(server, text)] == ["posts"]
    definition = site.source / "apis" / "posts.yaml"
    definition.write_text(definition.read_text().replace("endpoint: posts", "endpoint: notes"))
    (site.source / "content" / "posts.jsonl").rename(site.source / "content" / "notes.jsonl")
    site.publish("two")
    (site.source / "content" / "posts.jsonl").unlink()
    eventually(lambda: status(server, text, "/v1/acme/notes") == 200)
    assert status(server, text) == 404
    definition.write_text(definition.read_text().replace("api_posts0000001", "api_posts0000002"))
    site.publish("three")
    eventually(lambda: status(server, text, "/v1/acme/notes") == 404)
    assert _schema(server, text) == []


def _schema(server: Running, text: str) -> list[dict[str, object]]:
    apis: list[dict[str, object]] = server.get("/v1/acme/_schema", headers={"X-API-KEY": text}).json["apis"]
    return apis


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"format": 1, "dr', b"\x00" * 100, None])
def test_a_damaged_file_lets_nobody_in_and_takes_nothing_down(
    site: Site, server: Running, damage: bytes | None
) -> None:
    _, good = site.key()
    eventually(lambda: status(server, good) == 200)
    whole = site.access.path.read_bytes()
    if damage is None:
        site.access.path.unlink()
    else:
        site.access.path.write_bytes(damage)
    eventually(lambda: _problems(server))
    assert status(server, good) == 200
    assert status(server, "pq_AAAAAAAA_" + "A" * 24 + "_AAAAAA") == 401
    assert "The last good list of keys stays in force." in str(_problems(server))
    assert str(site.store.root) not in str(_problems(server))
    eventually(lambda: "The last good list of keys stays in force." in server.log())
    site.access.path.write_bytes(whole)
    eventually(lambda: not _problems(server))
    access.delete_key(site.access, good[:11])
    eventually(lambda: status(server, good) == 401)


def test_a_file_damaged_from_the_start_lets_nobody_in(site: Site, tmp_path: Path) -> None:
    _, text = site.key()
    whole = site.access.path.read_bytes()
    site.access.path.write_bytes(whole[:-30])
    with serving(site.store, tmp_path / "log") as server:
        assert status(server, text) == 401
        assert "No key is accepted until then." in str(_problems(server))
        site.access.path.write_bytes(whole)
        eventually(lambda: status(server, text) == 200)


def _problems(server: Running) -> object:
    (workspace,) = server.get("/readyz").json["workspaces"]
    return workspace["problems"]


def test_keys_never_reach_the_log(site: Site, server: Running) -> None:
    key, text = site.key()
    eventually(lambda: status(server, text) == 200)
    server.get(f"/v1/acme/posts/post-1?draftKey=geheim&X-API-KEY={text}&q={text}", headers={"X-API-KEY": text})
    server.get(f"/v1/acme/{text}", headers={"X-API-KEY": text, "X-Draft-Key": "geheim"})
    server.get(f"/{text}")
    for place in (text, f"%70{text[1:]}", f"{text[:15]}%{ord(text[15]):02x}{text[16:]}", f"%2570{text[1:]}"):
        for sent in ({}, {"X-API-KEY": text}):
            for target in (
                f"/v1/{place}/posts",
                f"/v1/{place}/posts/a",
                f"/v1/{'x' * 40}{place}/posts",
                f"/pv/{place}/counts",
            ):
                server.get(target, headers=sent)
            server.get(f"/v1/acme/posts?q={place}&{place}=1&orders={place}", headers=sent)
    unknown = f"{text[:-1]}!"
    server.get("/v1/acme/posts", headers={"X-API-KEY": unknown})
    assert server.stop() == 0
    eventually(lambda: key.prefix in server.log())  # the prefix of a known key is there
    assert text[11:] not in server.log()
    assert unknown not in server.log()
    assert "geheim" not in server.log()


@pytest.mark.parametrize(
    "target",
    [
        "posts?orders={}",
        "posts?filters={}[equals]x",
        "posts?filters=title[{}]x",
        "posts?filters={}",
        "posts?lang={}",
        "posts?include={}",
        "posts?limit={}",
        "posts?depth={}",
        "posts/post-1?draftKey={}!",
        "{}",
        "posts/{}",
        "_views/posts?ids={}!",
        "_views/{}?ids=a",
        "_schema?lang={}",
    ],
)
def test_a_failure_repeats_no_key(asked_server: tuple[Running, str], target: str) -> None:
    server, text = asked_server
    for _ in range(2):
        answer = server.get(f"/v1/acme/{target.format(text)}", headers={"X-API-KEY": text})
        assert text[12:] not in answer.body.decode()
        assert text[12:] not in str(answer.headers)


def test_a_key_in_the_url_is_not_read(asked_server: tuple[Running, str]) -> None:
    server, text = asked_server
    for name in ("X-API-KEY", "x-api-key", "apiKey", "api_key", "key"):
        answer = server.get(f"/v1/acme/posts?{name}={text}")
        assert (answer.status, answer.message) == (401, "An API key is required.")
    repeated = server.get("/v1/acme/posts", headers={"X-API-KEY": f"{text}, {text}"})
    assert (repeated.status, repeated.message) == (401, "This API key is not valid.")
