"""Versions changing under a running server (decision 43, design sections 3 and 4)."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from snapshots.store.carrying import manifest_digest
from snapshots.store.current import CURRENT_CODEC, Current
from snapshots.store.manifest import FORMAT
from snapshots.times import now_ms
from tests.sites.served_site import BEGUN, Running, Site, eventually, serving
from tests.sites.viewed_site import post, site_with_domains
from tests.stores.small_disk import fill, small_disk

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def server(site: Site, tmp_path: Path) -> Iterator[Running]:
    site.publish("one")
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text) as running:
        eventually(lambda: running.get("/readyz").status == 200)
        yield running


def served(server: Running) -> str:
    answer = server.get("/v1/acme/posts?limit=1")
    assert answer.status == 200, answer.body
    return answer.headers["x-snapshot"]


def ready(server: Running) -> dict[str, Any]:
    (workspace,) = server.get("/readyz").json["workspaces"]
    assert isinstance(workspace, dict)
    return workspace


def test_activation_under_load_fails_nothing_and_mixes_nothing(site: Site, server: Running) -> None:
    versions = {served(server): "one"}
    for text in ("two", "three"):
        versions[site.publish(text, activate=False)] = text
    stop = threading.Event()
    answered: list[list[str]] = [[] for _ in range(4)]
    failures: list[str] = []

    def ask(seen: list[str]) -> None:
        while not stop.is_set():
            for target in ("/v1/acme/posts", "/v1/acme/posts/post-1", "/v1/acme/site"):
                answer = server.get(target)
                if answer.status != 200:
                    failures.append(f"{target}: {answer.status} {answer.body!r}")
                    continue
                version = answer.headers["x-snapshot"]
                entries = answer.json.get("contents", [answer.json])
                titles = {entry["title"] for entry in entries}
                if titles != {versions[version]} or (target.endswith("posts") and len(entries) != site.entries):
                    failures.append(f"{target}: {version} ({versions[version]}) says {titles}")
                seen.append(version)
            time.sleep(0.01)  # leaves the server a part of the processor

    askers = [threading.Thread(target=ask, args=(seen,)) for seen in answered]
    for asker in askers:
        asker.start()
    try:
        for version in [*versions, *reversed(versions)] * 2:
            site.activate(version)
            eventually(lambda version=version: served(server) == version)
    finally:
        stop.set()
        for asker in askers:
            asker.join()
    assert not failures, failures[:3]
    assert all(set(seen) == set(versions) for seen in answered), "every client met every version"


def test_a_request_finishes_on_the_version_it_began_with(site: Site, tmp_path: Path) -> None:
    first, second = site.publish("one"), site.publish("two", activate=False)
    _, text = site.key(validity="none")
    let_go = tmp_path / "let go"
    with (
        serving(site.store, tmp_path / "log", key=text, slow=let_go, CMS_THREADS=8) as server,
        ThreadPoolExecutor() as pool,
    ):
        eventually(lambda: server.get("/readyz").status == 200)
        asked = [pool.submit(server.get, f"/v1/acme/posts?limit={limit}") for limit in (3, 4, 5)]  # each made by itself
        try:
            eventually(lambda: server.log().count(BEGUN) == 3)
            site.activate(second)
            eventually(lambda: server.get("/v1/acme/site").headers.get("x-snapshot") == second)
            assert not any(one.done() for one in asked), "the requests were still under way"
        finally:
            let_go.touch()
        answers = [one.result() for one in asked]
    for answer in answers:
        assert answer.status == 200
        assert answer.headers["x-snapshot"] == first
        assert {entry["title"] for entry in answer.json["contents"]} == {"one"}


def test_a_broken_version_is_refused_until_its_files_change(site: Site, server: Running) -> None:
    good = served(server)
    bad = site.publish("two", activate=False)
    directory = site.place.snapshots / bad
    # Activation looks at sizes; damage that keeps them is the reader's to find, before it serves anything.
    victim = next(directory.rglob("*.parquet"))
    whole = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(whole[:-20] + bytes(20))
    site.activate(bad)
    eventually(lambda: ready(server)["refused"])
    refused = ready(server)["refused"]
    assert isinstance(refused, dict)
    assert refused["version"] == bad
    assert refused["reason"]
    assert str(site.store.root) not in refused["reason"], "the public is not told where the store lies"
    assert served(server) == good
    eventually(lambda: f"version {bad} refused" in server.log())
    eventually(lambda: f"{good} goes on being served" in server.log())
    eventually(lambda: server.log().count("refused:") == 1)  # it is not tried again while nothing changes
    victim.unlink()
    victim.write_bytes(whole)
    eventually(lambda: served(server) == bad)
    assert ready(server)["refused"] is None


def test_a_version_of_a_newer_format_is_refused(site: Site, server: Running) -> None:
    good = served(server)
    newer = site.publish("two", activate=False)
    manifest = site.place.snapshots / newer / "manifest.json"
    site.activate(newer)
    eventually(lambda: served(server) == newer)
    site.activate(good)
    eventually(lambda: served(server) == good)
    data = json.loads(manifest.read_bytes())
    manifest.unlink()
    manifest.write_text(json.dumps({**data, "format": FORMAT + 1}))
    # Somebody with a newer program makes it current.
    digests = {newer: manifest_digest(manifest.read_bytes())}
    moved = Current(newer, (good,), now_ms(), "somebody@else", manifests=digests)
    (site.place.directory / "current").write_bytes(CURRENT_CODEC.encode(moved, None, "a-write"))
    eventually(lambda: ready(server)["refused"])
    eventually(lambda: "newer than this program reads" in server.log())
    assert served(server) == good


def test_a_damaged_or_missing_current_keeps_the_last_good_version(site: Site, server: Running) -> None:
    current = site.place.directory / "current"
    for number, damage in enumerate([b"", b"{", b'{"version": "../../etc"}', b"\xff\x00", None]):
        good, whole = served(server), current.read_bytes()
        if damage is None:
            current.unlink()
        else:
            current.write_bytes(damage)
        eventually(lambda: ready(server)["problems"])
        assert served(server) == good, damage
        eventually(lambda number=number: server.log().count("acme: ") > number)  # type: ignore[misc]
        current.write_bytes(whole)
        eventually(lambda: not ready(server)["problems"])
        other = site.publish(f"after {number}")
        eventually(lambda other=other: served(server) == other)  # type: ignore[misc]


def test_a_version_is_served_once_there_is_room_for_it(tmp_path: Path) -> None:
    site = Site(tmp_path, entries=2000)
    first = site.publish("one")
    _, text = site.key(validity="none")
    with (
        small_disk(tmp_path / "disk", 48 << 20) as disk,
        serving(site.store, tmp_path / "log", key=text, cache=str(disk / "cache")) as server,
    ):
        eventually(lambda: served(server) == first)
        filler = fill(disk)
        second = site.publish("two")
        eventually(lambda: ready(server)["refused"])
        assert ready(server)["refused"]["version"] == second
        time.sleep(2)
        assert served(server) == first
        filler.unlink()
        eventually(lambda: served(server) == second)
        assert ready(server)["refused"] is None


def test_nothing_of_the_machine_is_told_in_public(site: Site, server: Running, tmp_path: Path) -> None:
    """Not of the keys, `current`, the store, the files or the counts, each of which is wrong or away for a while."""
    good = served(server)

    def told() -> str:
        answer = server.get("/readyz").json
        (workspace,) = answer["workspaces"]
        troubles = [one["message"] for one in answer["troubles"]]
        return str([*workspace["problems"], answer["problem"] or "", workspace["refused"] or "", *troubles])

    def see(wrong: str) -> None:
        eventually(lambda: "the log says why" in told())
        for secret in (str(tmp_path), "Error", "nonsense", ".parquet", "access.json", "SHA"):
            assert secret not in told(), wrong
        numbers = re.findall(r"\d+", re.sub(r"[0-9-]{10}T[0-9:.]{12}Z|[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}", "", told()))
        assert str(server.process.pid) not in numbers, wrong
        eventually(lambda: str(site.store.root) in server.log().removeprefix(logged))

    for place in (site.access.path, site.place.directory / "current"):
        logged, whole = server.log(), place.read_bytes()
        place.write_text("nonsense")
        see(place.name)
        place.write_bytes(whole)
        eventually(lambda: "the log says why" not in told())
    logged = server.log()
    site.store.root.rename(tmp_path / "away")
    see("store")
    (tmp_path / "away").rename(site.store.root)
    eventually(lambda: "the log says why" not in told())
    logged, version = server.log(), site.publish("two", activate=False)
    for file in (site.place.snapshots / version).rglob("*.parquet"):
        file.write_bytes(bytes(file.stat().st_size))
    site.activate(version)
    see("files")
    site.activate(good)
    eventually(lambda: "the log says why" not in told())
    logged, counts = server.log(), site.place.directory / "views" / "counts"
    counts.mkdir(parents=True)
    (counts / "today.parquet").write_text("nonsense")
    see("counts")


@pytest.mark.parametrize(
    ("what", "told"), [("access.json", {"keys", "mail", "last_use"}), ("current", {"current", "mail"})]
)
def test_what_was_damaged_while_a_server_started_is_soon_told_to_be_well(
    site: Site, tmp_path: Path, what: str, told: set[str]
) -> None:
    site.publish("one")
    site.key(validity="none")
    damaged = site.place.directory / what
    whole = damaged.read_bytes()
    damaged.write_text("nonsense")
    with serving(site.store, tmp_path / "log") as server:

        def troubles() -> set[str]:
            return {one["what"] for one in server.get("/readyz").json["troubles"]}

        eventually(lambda: told <= troubles())
        damaged.write_bytes(whole)
        eventually(lambda: not told & troubles(), within=120)
        eventually(lambda: server.get("/readyz").status == 200)


def test_a_store_that_is_moved_away_is_not_made_anew_and_loses_nothing(tmp_path: Path) -> None:
    site = site_with_domains(tmp_path)
    _, text = site.key(validity="none", rate_limit=1_000_000)
    root, away = site.store.root, tmp_path / "away"
    with serving(site.store, tmp_path / "log", key=text, workers=2, CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        visitors = count()

        def send(path: str, views: int) -> None:
            for _ in range(views):
                assert (
                    post(server, {"path": path}, visitor=f"10.1.{next(visitors) % 250}.{next(visitors) % 250}").status
                    == 204
                )

        send("/before", 40)
        root.rename(away)
        send("/meanwhile", 40)
        eventually(lambda: server.get("/readyz").json["problem"])
        for _ in range(300):  # enough for the counts of the rate limit to notice
            assert server.get("/v1/acme/posts").status == 200
        answer = server.get("/v1/acme/posts/unseen?draftKey=x")
        assert (answer.status, answer.message) == (503, "The store cannot be read at the moment. Try again later.")
        assert server.get("/v1/acme/_views/posts?ids=post-1").status == 200, "which entries are live is in memory"
        send("/meanwhile", 40)
        time.sleep(3)
        send("/meanwhile", 5)
        assert not root.exists()
        dropped = server.get("/readyz").json["pageViews"]["dropped"]
        assert dropped >= 5
        away.rename(root)
        eventually(lambda: server.get("/readyz").json["problem"] is None)
        time.sleep(1.1)  # for a second after a failure no place is asked for
        dropped = server.get("/readyz").json["pageViews"]["dropped"]
        send("/after", 40)

        def counted() -> dict[str, int]:
            return dict(server.get("/pv/acme/counts?path=/before&path=/meanwhile&path=/after").json["paths"])

        eventually(lambda: counted() == {"/before": 40, "/meanwhile": 85 - dropped, "/after": 40})
        assert server.get("/v1/acme/_views/posts?ids=post-1").status == 200
        assert server.get("/v1/acme/posts/unseen?draftKey=x").status == 404
        eventually(lambda: not server.get("/readyz").json["rateLimit"]["problems"])


def test_the_store_may_vanish_for_a_while(site: Site, server: Running, tmp_path: Path) -> None:
    good = served(server)
    root = site.store.root
    away = tmp_path / "away"
    root.rename(away)
    eventually(lambda: ready(server)["problems"])
    assert served(server) == good
    away.rename(root)
    other = site.publish("two")
    eventually(lambda: served(server) == other)
    assert not ready(server)["problems"]


def test_rolling_back_and_pruning(site: Site, server: Running) -> None:
    first = served(server)
    second = site.publish("two")
    eventually(lambda: served(server) == second)
    site.place.rollback(by="test", now=0)
    eventually(lambda: served(server) == first)
    shutil.rmtree(site.place.snapshots / second)
    assert served(server) == first


def test_a_new_workspace_is_picked_up(site: Site, server: Running, tmp_path: Path) -> None:
    other = Site(tmp_path, "other")
    _, text = other.key(validity="none")
    eventually(lambda: server.get("/v1/other/posts", headers={"X-API-KEY": text}).status == 503)
    refusal = server.get("/v1/other/posts", headers={"X-API-KEY": text})
    assert "not ready" in refusal.message
    assert refusal.headers["retry-after"] == "1"
    assert server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 403
    other.publish("hello")
    eventually(lambda: server.get("/v1/other/posts", headers={"X-API-KEY": text}).status == 200)
    assert server.get("/v1/other/posts").status == 403


def test_ready_only_when_something_can_be_served(site: Site, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log") as server:
        assert server.get("/healthz").status == 200
        answer = server.get("/readyz")
        assert (answer.status, answer.json["ready"]) == (503, False)
        assert answer.json["message"]
        version = site.publish("one")
        eventually(lambda: server.get("/readyz").status == 200)
        (workspace,) = server.get("/readyz").json["workspaces"]
        assert (workspace["id"], workspace["version"], workspace["refused"]) == ("acme", version, None)


def test_every_worker_follows(site: Site, tmp_path: Path) -> None:
    first = site.publish("one")
    second = site.publish("two", activate=False)
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text, workers=2) as server:
        eventually(lambda: server.log().count(f"serving snapshot version {first}") == 2)
        assert {server.get("/v1/acme/posts").headers["x-snapshot"] for _ in range(20)} == {first}
        site.activate(second)
        eventually(lambda: server.log().count(f"serving snapshot version {second}") == 2)
        answers = [server.get("/v1/acme/posts") for _ in range(20)]  # kept ones, in each worker
        assert {answer.headers["x-snapshot"] for answer in answers} == {second}
        assert {entry["title"] for answer in answers for entry in answer.json["contents"]} == {"two"}
        assert server.stop() == 0


def test_definitions_change_over_the_same_content_there_and_back_and_after_a_restart(
    site: Site, tmp_path: Path
) -> None:
    """Each version answers as its own definitions say, whatever the one before made of the same files."""
    api = (
        "uid: api_colours000001\nendpoint: colours\nkind: list\nfields:\n"
        "  - {id: colour, type: TYPE}\n  - {id: box, type: group, fields: [{id: colour, type: TYPE}]}\n"
    )
    people = "uid: api_people0000001\nendpoint: people\nkind: list\nfields: [{id: name, type: text}]\n"
    (site.source / "apis/people.yaml").write_text(people)
    for folder in ("people", "colours"):
        (site.source / "content" / folder).mkdir()
    (site.source / "content/people/red.yaml").write_text("name: Red\ncreatedAt: 2026-01-01\n")
    text = "createdAt: 2026-01-01\ncolour: red\nbox: {colour: red}\n"
    (site.source / "content/colours/one.yaml").write_text(text)
    alone, deep = {"colour": "red", "box": {"colour": "red"}}, {"id": "red", "name": "Red"}
    wanted = {
        "json": (400, alone),
        "single_select": (1, alone),
        "text": (1, alone),
        "reference, api: people": (1, {"colour": deep, "box": {"colour": deep}}),
        "richtext": (400, alone),
        "textarea": (1, alone),
    }
    versions = {}
    for kind in wanted:
        (site.source / "apis/colours.yaml").write_text(api.replace("TYPE", kind))
        versions[kind] = site.publish("one", activate=False)
    _, key = site.key(validity="none")

    def answers_as(server: Running, kind: str) -> None:
        site.activate(versions[kind])
        eventually(lambda: server.get("/v1/acme/colours").headers.get("x-snapshot") == versions[kind])
        found, inside = wanted[kind]
        equal = server.get("/v1/acme/colours?filters=colour[equals]red&fields=id")
        assert (equal.json["totalCount"] if equal.status == 200 else equal.status) == found, kind
        entry = server.get("/v1/acme/colours/one?depth=1&fields=colour,box").json
        for given in (entry["colour"], entry["box"]["colour"]):
            said = {name: given[name] for name in deep} if isinstance(given, dict) else given
            assert said == inside["colour"], kind
        assert ready(server)["version"] == versions[kind]

    site.activate(versions["json"])
    for kinds in ([*wanted], [*wanted][::-1]):
        with serving(site.store, tmp_path / "log", key=key) as server:
            eventually(lambda: server.get("/readyz").status == 200)
            for kind in [*kinds, kinds[0]]:
                answers_as(server, kind)
