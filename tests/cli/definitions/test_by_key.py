"""``cms types`` and ``cms openapi`` by a server's address and a key, against the endpoints and the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from engine.access.keys.access import AccessFile, issue_key
from snapshots.times import now_ms
from tests.engine.typed.scripted_server import Scripted, scripted
from tests.programs.command_line import Cms, in_process
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server
from tests.sites.served_site import eventually

COMMANDS = {
    "_types/typescript": ("types", "typescript", "--client"),
    "_types/typescript?client=false": ("types", "typescript"),
    "_types/typescript?client=microcms": ("types", "typescript", "--microcms"),
    "_types/python": ("types", "python", "--client"),
    "_types/python?client=false": ("types", "python"),
}
NARROW = ("breads", "shop")


@dataclass
class Site:
    server: ExampleServer
    url: str
    keys: dict[str, str]
    """Whole keys by their names."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with example_server(tmp_path_factory.mktemp("by-key")) as server:
        keys = {}
        place = AccessFile(server.store.workspace("komugi").directory)
        for name, scope in (("everything", None), ("narrow", NARROW)):
            uids = (
                None if scope is None else frozenset(api.uid for api in server.workspace.apis if api.endpoint in scope)
            )
            settings = {"now": now_ms(), "zone": UTC, "validity": "none", "rate_limit": 1_000_000}
            keys[name] = issue_key(place, name=name, scope=uids, **settings)[1]
        schema = "/v1/komugi/_schema"
        for key in keys.values():
            eventually(lambda key=key: server.running.get(schema, headers={"X-API-KEY": key}).status == 200)
        yield Site(server, f"{server.url}/v1/komugi", keys)


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cms:
    """The command in an empty directory."""
    for variable in ("CMS_STORE", "CMS_PUBLIC_URL", "CMS_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    "command",
    [
        ("types", "typescript", "--client", "--key", "pq_secret", "--url"),
        ("openapi", "--key", "pq_secret", "--url"),
        ("review", str(EXAMPLE), "--live"),
    ],
    ids=lambda command: command[0],
)
def test_a_key_is_not_sent_along_a_redirect(
    cms: Cms, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CMS_KEY", "pq_secret")
    with scripted([Scripted("{}")]) as other:
        target = f"{other.url}/v1/komugi/_schema"
        with scripted([Scripted("", {"Location": target}, 308)]) as server:
            ran = cms(*command, f"{server.url}/v1/komugi")
        assert (ran.status, other.requests) == (1, [])
    assert server.sent("x-api-key") == ["pq_secret"]
    assert f"redirects to {target}, where the key is not sent" in " ".join(ran.err.split())


@pytest.mark.parametrize("name", ["everything", "narrow"])
@pytest.mark.parametrize("target", COMMANDS)
def test_one_module_in_three_ways(site: Site, cms: Cms, target: str, name: str) -> None:
    """The endpoint's bytes are what the command prints with the address, and on the store with a key of that scope."""
    command, key = COMMANDS[target], site.keys[name]
    served = site.server.running.get(f"/v1/komugi/{target}", headers={"X-API-KEY": key})
    by_url = cms(*command, "--url", site.url, "--key", key)
    assert (by_url.status, by_url.err) == (0, "")
    assert by_url.out.encode() == served.body
    stored = cms(*command, "--store", str(site.server.store.root), "--key", name)
    assert stored.out.encode() == served.body
    assert ("journal" in by_url.out) == (name == "everything")


@pytest.mark.parametrize("name", ["everything", "narrow"])
def test_one_document_in_three_ways(site: Site, cms: Cms, name: str) -> None:
    key = site.keys[name]
    served = site.server.running.get("/v1/komugi/_openapi", headers={"X-API-KEY": key}).json
    by_url = cms("openapi", "--url", f"{site.url}/", "--key", key)
    assert by_url.err == ""
    # The server does not know its address, and the command does.
    assert by_url.json == served | {"servers": [{"url": site.server.url}]}
    stored = cms("openapi", "--store", str(site.server.store.root), "--key", name, "--public-url", site.server.url)
    assert stored.json == by_url.json
    assert ("/v1/komugi/journal" in stored.json["paths"]) == (name == "everything")


def test_the_key_of_the_environment(site: Site, cms: Cms, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("types", "python", "--url", site.url)
    missing = cms(*command)
    assert (missing.status, missing.out) == (1, "")
    assert "Set CMS_KEY to an API key" in missing.err
    monkeypatch.setenv("CMS_KEY", site.keys["narrow"])
    assert cms(*command).out == cms(*command, "--key", site.keys["narrow"]).out
    assert "journal" in cms(*command, "--key", site.keys["everything"]).out


def test_a_file_is_checked(site: Site, cms: Cms, tmp_path: Path) -> None:
    command = ("types", "typescript", "--client", "--url", site.url, "--key", site.keys["everything"])
    file = tmp_path / "cms.ts"
    missing = cms(*command, "--check", "cms.ts")
    assert (missing.status, missing.out) == (1, "")
    assert "There is no file cms.ts." in missing.err
    file.write_text(cms(*command).out)
    fresh = cms(*command, "--check", "cms.ts")
    assert (fresh.status, fresh.out, fresh.err) == (0, "", "cms.ts is up to date.\n")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert cms(*command, "--check", "cms.ts").status == 0
    for other in ((*command[:-1], site.keys["narrow"]), ("types", "typescript", "--microcms", *command[3:])):
        stale = cms(*other, "--check", "cms.ts")
        assert (stale.status, stale.out) == (1, "")
        assert "without --check" in stale.err
        assert site.keys["narrow"] not in stale.err
    file.write_bytes(file.read_bytes() + b"\xff")
    assert cms(*command, "--check", "cms.ts").status == 1
    assert cms(*command, "--check", str(tmp_path)).status == 1


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (("--url", "{server}/v1/komugi", "--key", "pq_AbCdEfGh_abcdefghijklmnopqrstuvwx_012345"), 1, "not valid"),
        (("--url", "{server}/v1/other", "--key", "{key}"), 1, "another workspace"),
        (("--url", "{server}/komugi", "--key", "{key}"), 1, "is not the address of a workspace"),
        (("--url", "{server}/v1/komugi", "--key", "{key}", "-w", "komugi"), 2, "--url names the workspace"),
        (("--url", "http://127.0.0.1:1/v1/komugi", "--key", "{key}"), 1, "No answer from"),
    ],
)
@pytest.mark.parametrize("command", [("openapi",), ("types", "python")])
def test_what_cannot_be_asked(
    site: Site, cms: Cms, command: tuple[str, ...], more: tuple[str, ...], status: int, said: str
) -> None:
    ran = cms(*command, *(one.format(server=site.server.url, key=site.keys["everything"]) for one in more))
    assert (ran.status, ran.out) == (status, "")
    assert said in " ".join(ran.err.split())
    assert site.keys["everything"] not in ran.err


class _Older(BaseHTTPRequestHandler):
    """A server that knows neither of the two paths."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.end_headers()
        self.wfile.write(b'{"message": "There is nothing at this path."}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("command", [("openapi",), ("types", "python")])
def test_an_older_server(cms: Cms, command: tuple[str, ...]) -> None:
    with HTTPServer(("127.0.0.1", 0), _Older) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        ran = cms(*command, "--url", f"http://127.0.0.1:{server.server_port}/v1/acme", "--key", "pq_any")
        thread.join()
    assert (ran.status, ran.out) == (1, "")
    assert "the server is older than this command" in " ".join(ran.err.split())
