"""Servers in processes of their own over one bucket: S3 as moto and SeaweedFS have it."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from engine.access.keys.access import ACCESS, AccessFile, disable_key, issue_key
from engine.access.keys.last_use import last_uses
from engine.read.files.paths import LAYOUT
from engine.views.gathering.layout import LEASE, today_key
from engine.webhooks.editing import add_endpoint
from engine.webhooks.webhooks_file import WebhooksFile
from server.mirror.contact import CONTACT, VIEWS_CONTACT
from server.mirror.mirror import POLL_SECONDS
from server.mirror.mirror_store import mirror_of
from snapshots.store.changes import announce
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.programs.command_line import entry, in_process, process, write_workspace
from tests.programs.copied_process import started
from tests.server.background.keepers import keeper_of
from tests.servers.mail_server import mail_server
from tests.servers.tcp_proxy import State, TcpProxy, tcp_proxy
from tests.sites.bucket_site import BucketSite, mirror_in, readiness, serving_bucket
from tests.sites.halting import halt
from tests.sites.served_site import Running, eventually, serving
from tests.sites.server_workers import told_by_each
from tests.sites.viewed_site import DOMAINS, post
from tests.stores.object_stores import ObjectStore, object_store
from tests.stores.small_disk import fill, small_disk

pytestmark = pytest.mark.slow

READERS = 3
SLOW_READERS = 10
MINUTES = 3
"""For which it is counted what a server asks."""
OUTAGE_SECONDS = 2.0
SLOW_OUTAGE_SECONDS = 60.0
MIRROR = """
import sys, threading
from server.mirror.following import follow
from server.mirror.mirror import Mirror
from snapshots.store.locations import open_objects
from snapshots.store.store import open_store
from snapshots.times import now_ms
follow(Mirror(open_objects(sys.argv[1]), open_store(sys.argv[2]), now_ms, 86_400_000), threading.Event())
"""


@pytest.fixture(scope="module")
def moto() -> Iterator[ObjectStore]:
    with object_store("moto") as store:
        yield store


@pytest.fixture
def url(moto: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    return moto.place()


@pytest.fixture
def objects(url: str) -> Objects:
    return open_objects(url)


@pytest.fixture
def site(tmp_path: Path, objects: Objects) -> BucketSite:
    return BucketSite(tmp_path, objects)


@contextmanager
def proxied(url: str, store: ObjectStore) -> Iterator[tuple[TcpProxy, str]]:
    """A proxy before the store, and the URL by which it is used."""
    with tcp_proxy(store.port) as proxy:
        yield proxy, url.replace(f":{store.port}/", f":{proxy.port}/")


@contextmanager
def readers(count: int, url: str, directory: Path, key: str) -> Iterator[list[Running]]:
    with ExitStack() as running:
        found = [
            running.enter_context(serving_bucket(url, directory / f"reader-{number}", key=key))
            for number in range(count)
        ]
        yield found


def seconds_until_all_serve(site: BucketSite, found: list[Running], text: str, began: float) -> list[float]:
    """For each reader, the seconds since ``began`` after which it served a version; sorted."""

    def wait(reader: Running) -> float:
        eventually(lambda: site.titles(reader) == {text})
        return time.monotonic() - began

    with ThreadPoolExecutor(len(found)) as waiting:
        return sorted(waiting.map(wait, found))


def follow(site: BucketSite, found: list[Running], rounds: int) -> None:
    """Publish some versions, and print how soon the readers served them."""
    seconds: list[float] = []
    for number in range(rounds):
        version = site.publish(f"round {number}")
        site.push_version(version)
        site.push_current()
        seconds += seconds_until_all_serve(site, found, f"round {number}", time.monotonic())
    seconds.sort()
    print(
        f"\n{len(found)} readers, {rounds} activations, seconds until served: median "
        f"{seconds[len(seconds) // 2]:.2f}, worst {seconds[-1]:.2f}"
    )


def test_readers_follow_versions_and_keys(url: str, site: BucketSite, tmp_path: Path) -> None:
    site.release("before")
    issued, key = site.released_key()
    with readers(READERS, url, tmp_path, key) as found:
        seconds_until_all_serve(site, found, "before", time.monotonic())
        follow(site, found, 2)
        _, another = site.released_key()
        for reader in found:
            eventually(lambda reader=reader: reader.get("/v1/acme/posts", headers={"X-API-KEY": another}).status == 200)
        disable_key(site.access, issued.prefix)
        site.push_keys()
        for reader in found:
            eventually(lambda reader=reader: reader.get("/v1/acme/posts").status == 401)


def test_ten_readers_on_a_real_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store("seaweedfs") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        url = store.place()
        site = BucketSite(tmp_path, open_objects(url), entries=200)
        site.release("before")
        _, key = site.released_key()
        with readers(SLOW_READERS, url, tmp_path, key) as found:
            seconds_until_all_serve(site, found, "before", time.monotonic())
            follow(site, found, 5)


def test_a_server_that_does_all_there_is_asks_at_most_70_times_a_minute_while_nothing_changes(
    url: str, moto: ObjectStore, objects: Objects, tmp_path: Path
) -> None:
    for number in range(6):
        site = BucketSite(tmp_path / str(number), objects, f"w{number}")
        version = site.release("one")
        _, key = site.released_key()
    add_endpoint(
        WebhooksFile(objects, site.workspace), "https://receiver.example/", form="standard", token=None, apis=None,
        langs=None, reasons=None, current=version, allow_loopback=False, now=now_ms(),
    )  # fmt: skip
    with (
        proxied(url, moto) as (proxy, through),
        serving_bucket(through, tmp_path / "reader", key=key, workers=2, CMS_CONSOLE="1") as reader,
    ):
        eventually(lambda: site.titles(reader) == {"one"})
        time.sleep(45)  # until all that a start asks has been asked
        assert objects.read(LEASE) is not None, "it writes the counts of page views, and sends webhooks"
        proxy.requests.clear()
        time.sleep(60 * MINUTES)
        print(f"\n{proxy.requests.total() / MINUTES:.1f} requests a minute: {proxy.requests.most_common(5)}")
        assert proxy.requests.total() <= 70 * MINUTES


def test_a_machine_without_a_cache_answers_503_until_it_reaches_the_store(
    url: str, moto: ObjectStore, site: BucketSite, tmp_path: Path
) -> None:
    site.release("one")
    _, key = site.released_key()
    with proxied(url, moto) as (proxy, through):
        proxy.become(State.REFUSES)
        with serving_bucket(through, tmp_path / "reader", key=key) as reader:
            refused = reader.get("/v1/acme/posts")
            assert (refused.status, "not reached this server" in refused.message) == (503, True)
            ready = reader.get("/readyz")
            assert (ready.status, ready.json["store"], ready.json["ready"]) == (503, {"lastContact": None}, False)
            assert reader.get("/healthz").status == 200
            proxy.become(State.PASSES)
            eventually(lambda: site.titles(reader) == {"one"})
            eventually(lambda: reader.get("/readyz").status == 200)


def test_a_mirror_is_a_store_that_is_served_without_any_bucket(url: str, site: BucketSite, tmp_path: Path) -> None:
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key) as reader:
        eventually(lambda: site.titles(reader) == {"one"})
    [mirror] = (tmp_path / "reader" / "cache").glob("*/mirror")
    assert mirror == mirror_in(tmp_path / "reader", url).root
    with serving(open_store(mirror), tmp_path / "log", key=key) as alone:
        eventually(lambda: site.titles(alone) == {"one"})


def test_a_server_starts_from_its_cache_during_an_outage(
    url: str, moto: ObjectStore, site: BucketSite, tmp_path: Path
) -> None:
    site.release("one")
    _, key = site.released_key()
    with proxied(url, moto) as (proxy, through):
        with serving_bucket(through, tmp_path / "reader", key=key) as reader:
            eventually(lambda: site.titles(reader) == {"one"})
            assert reader.stop() == 0
        proxy.become(State.REFUSES)
        with serving_bucket(through, tmp_path / "reader", key=key, workers=2) as reader:
            eventually(lambda: reader.log().count("serving snapshot version") == 2)
            assert site.titles(reader) == {"one"}
            eventually(lambda: "cannot be reached" in (readiness(reader)["problem"] or ""))
            assert readiness(reader)["store"]["lastContact"] > 0
            assert reader.get("/readyz").status == 200
            site.release("two")
            proxy.become(State.PASSES)
            eventually(lambda: site.titles(reader) == {"two"})
            eventually(lambda: readiness(reader)["problem"] is None)
            eventually(lambda: reader.log().count("the store cannot be reached") == 1)
            eventually(lambda: reader.log().count("answers again") == 1)


@pytest.mark.parametrize("state", [State.REFUSES, State.STALLS])
def test_reads_go_on_through_an_outage(
    url: str, moto: ObjectStore, site: BucketSite, tmp_path: Path, state: State
) -> None:
    with proxied(url, moto) as (proxy, through):
        serve_through_an_outage(site, proxy, through, tmp_path, state, OUTAGE_SECONDS)


def test_reads_go_on_for_a_minute_without_a_real_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store("seaweedfs") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        url = store.place()
        site = BucketSite(tmp_path, open_objects(url))
        with proxied(url, store) as (proxy, through):
            serve_through_an_outage(site, proxy, through, tmp_path, State.REFUSES, SLOW_OUTAGE_SECONDS)


def serve_through_an_outage(
    site: BucketSite, proxy: TcpProxy, through: str, directory: Path, state: State, seconds: float
) -> None:
    """Keep asking while the store is gone: all is answered 200. After it, what happened meanwhile is served."""
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(through, directory / "reader", key=key) as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        with load(reader) as answered:
            proxy.become(state)
            time.sleep(seconds)
            assert site.titles(reader) == {"one"}
            site.release("two")
            during = answered.total()
            proxy.become(State.PASSES)
            eventually(lambda: site.titles(reader) == {"two"})
        print(f"\n{during:,} reads in {seconds:g} s without the store, {dict(answered)} in all")
        assert set(answered) == {200}
        assert during > 0


@contextmanager
def load(reader: Running, clients: int = 4) -> Iterator[Counter[object]]:
    """Have clients read all the time: how often each status was answered, and each failure to answer."""
    answered: Counter[object] = Counter()
    stopping = threading.Event()

    def read(number: int) -> None:
        connection = HTTPConnection(reader.host, timeout=60)
        turn = 0
        while not stopping.is_set():
            turn += 1
            try:
                connection.request("GET", f"/v1/acme/posts?offset={turn % 50}&x={number}", headers=reader.headers)
                response = connection.getresponse()
                response.read()
                answered[response.status] += 1
            except (OSError, HTTPException) as error:
                answered[repr(error)] += 1
                connection.close()
        connection.close()

    threads = [threading.Thread(target=read, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield answered
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def test_a_store_that_is_not_reached_for_too_long_is_not_answered_from(
    url: str, moto: ObjectStore, site: BucketSite, tmp_path: Path
) -> None:
    site.release("one")
    _, key = site.released_key()
    with (
        proxied(url, moto) as (proxy, through),
        serving_bucket(through, tmp_path / "reader", key=key, CMS_MAX_STALE="2") as reader,
    ):
        eventually(lambda: site.titles(reader) == {"one"})
        proxy.become(State.REFUSES)
        eventually(lambda: site.titles(reader) == 503)
        assert "out of date" in reader.get("/v1/acme/posts").message
        assert reader.get("/readyz").status == 503
        assert reader.get("/healthz").status == 200
        assert reader.get("/v1/acme/posts", method="OPTIONS").status == 204
        proxy.become(State.PASSES)
        eventually(lambda: site.titles(reader) == {"one"})


def test_a_damaged_version_is_told_and_not_served(url: str, site: BucketSite, objects: Objects, tmp_path: Path) -> None:
    first = site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key, CMS_METRICS="127.0.0.1:0") as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        second = site.publish("two")
        site.push_version(second)
        damaged = site.object_key(second, "en/posts/all.parquet")
        objects.delete([damaged])
        site.push_current()
        eventually(lambda: readiness(reader)["workspaces"][0]["refused"])
        [workspace] = readiness(reader)["workspaces"]
        assert (workspace["version"], workspace["refused"]["version"]) == (first, second)
        assert "completely" in workspace["refused"]["reason"]
        eventually(lambda: damaged in reader.log())
        assert site.titles(reader) == {"one"}
        third = site.release("three")
        eventually(lambda: site.titles(reader) == {"three"})
        eventually(lambda: readiness(reader)["workspaces"][0]["refused"] is None)
        assert readiness(reader)["workspaces"][0]["version"] == third
        age = metric(reader, "parquetry_store_contact_age_seconds")
        assert 0 <= age < 20


def metric(reader: Running, name: str) -> float:
    """The value of a metric, once it is told: the process that tells it may see a fault after a worker does."""
    address = re.search(r"metrics at http://(\S+)/metrics", reader.log())
    assert address
    found: list[float] = []

    def told() -> list[float]:
        connection = HTTPConnection(address[1], timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        found.extend(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))
        return found

    eventually(told)
    return found[0]


def test_a_builder_makes_what_readers_open(
    url: str, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cms = in_process(monkeypatch, capsys)
    monkeypatch.setenv("CMS_STORE", url)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "builder"))
    source = write_workspace(tmp_path / "site")
    monkeypatch.chdir(source)
    version = cms("snapshot", "build", "--json").json["version"]
    key = cms("key", "create", "reader", "--json").json["key"]
    pushed = {one.key for one in objects.names("site/cache")}
    assert pushed
    with serving_bucket(url, tmp_path / "reader", key=key) as reader:
        eventually(lambda: reader.get("/v1/site/blog").status == 200)
        parts = mirror_in(tmp_path / "reader", url).cache / "site" / f"layout-{LAYOUT}" / "parts"
        assert {path.name for path in parts.iterdir()} == {key.split("/")[3] for key in pushed}
    (source / "content" / "blog" / "one.md").write_text(entry("Another"), encoding="utf-8")
    assert cms("snapshot", "build", "--json", "--without-cache").json["version"] != version
    assert {one.key for one in objects.names("site/cache")} == pushed
    (source / "content" / "blog" / "one.md").write_text(entry("A third"), encoding="utf-8")
    cms("snapshot", "build", "--json", "--with-cache")
    assert len({one.key for one in objects.names("site/cache")} - pushed) > 0
    cms("snapshot", "prune", "--keep", "1")
    assert pushed - {one.key for one in objects.names("site/cache")}


def test_servers_of_one_machine_share_the_mirror(url: str, moto: ObjectStore, site: BucketSite, tmp_path: Path) -> None:
    site.release("one")
    _, key = site.released_key()
    with (
        proxied(url, moto) as (proxy, through),
        serving_bucket(through, tmp_path / "reader", key=key, workers=2) as reader,
        serving_bucket(through, tmp_path / "reader", key=key) as other,
    ):
        eventually(lambda: site.titles(reader) == {"one"} == site.titles(other))
        hint = next(path for path in proxy.requests if path.endswith("/changes.json"))
        before = proxy.requests[hint]
        began = time.monotonic()
        time.sleep(2)
        polls = proxy.requests[hint] - before
        assert polls <= time.monotonic() - began + 1, "one mirror polls for all three processes"
        assert reader.stop() == 0
        version = site.release("two")
        eventually(lambda: site.titles(other) == {"two"})
        assert readiness(other)["workspaces"][0]["version"] == version


def test_a_mirror_killed_at_any_instant_leaves_a_whole_store(url: str, site: BucketSite, tmp_path: Path) -> None:
    """The mirror's process, without a server: ended by SIGKILL in the middle of whatever it does."""
    kill_mirrors(url, site, mirror_in(tmp_path, url), rounds=5)


def test_a_mirror_killed_again_and_again(url: str, site: BucketSite, tmp_path: Path) -> None:
    kill_mirrors(url, site, mirror_in(tmp_path, url), rounds=40)


def kill_mirrors(url: str, site: BucketSite, mirror: Store, rounds: int) -> None:
    generator = random.Random(20261123)
    place = mirror.workspace("acme")
    mirror.root.mkdir(parents=True)
    site.released_key()
    site.entries = 2000
    moved = 0
    for number in range(rounds):
        version = site.release(f"round {number}")
        before = place.current()
        with mirror_process(url, mirror):
            time.sleep(generator.uniform(0.05, 0.8))
        current = place.current()
        if current is not None:
            assert place.verify(current.version) == []
            moved += current != before
    print(f"\n{moved} of {rounds} mirrors got to move current")
    with mirror_process(url, mirror):
        eventually(lambda: (found := place.current()) is not None and found.version == version)
    assert place.verify(version) == []


@contextmanager
def mirror_process(url: str, mirror: Store) -> Iterator[None]:
    """Run the mirror's process for the block, and end it by SIGKILL."""
    with (mirror.root / "log").open("a") as log:
        process = started(MIRROR, [url, str(mirror.root)], os.environ, log)
        try:
            yield
        finally:
            process.kill()
            assert process.wait() == -signal.SIGKILL
            process.communicate()


def test_a_full_disk_keeps_no_revoked_key_and_no_withdrawn_version(
    url: str, objects: Objects, site: BucketSite, tmp_path: Path
) -> None:
    first = site.release("one")
    issued, key = site.released_key()
    with small_disk(tmp_path / "disk", 64 << 20) as disk:
        with serving(
            mirror_of(url, disk),
            tmp_path / "log",
            location=url,
            cache=str(disk),
            key=key,
            workers=2,
            CMS_METRICS="127.0.0.1:0",
        ) as reader:
            eventually(lambda: site.titles(reader) == {"one"})
            site.release("two")
            eventually(lambda: site.titles(reader) == {"two"})
            filler = fill(disk)
            site.activate(first)
            site.push_current()
            eventually(lambda: site.titles(reader) == {"one"})
            disabled = process("key", "disable", issued.prefix, env={"CMS_STORE": url, "XDG_CACHE_HOME": str(tmp_path)})
            assert disabled.status == 0, disabled.err
            eventually(lambda: site.titles(reader) == 401)
            eventually(lambda: readiness(reader)["workspaces"][0]["behind"] == [])
            assert reader.get("/readyz").status == 200
            site.pull_keys()
            site.entries = 5000
            site.release("three")
            eventually(lambda: reader.get("/readyz").status == 503)
            eventually(lambda: told_by_each(reader, lambda: behind(reader)) == [{"snapshot"}] * 2)
            for told in told_by_each(reader, lambda: readiness(reader)["message"]):
                assert "cannot follow what changes in acme" in told
            assert metric(reader, "parquetry_behind_since_timestamp_seconds") > 0
            eventually(lambda: "snapshot on this machine has been older" in reader.log())
        other, another = site.released_key()
        with serving(
            mirror_of(url, disk), tmp_path / "log", location=url, cache=str(disk), key=key, workers=2
        ) as reader:
            assert site.titles(reader) == 401, "from the first request on"
            reader.headers["X-API-KEY"] = another
            eventually(lambda: site.titles(reader) == {"one"})
            disable_key(site.access, other.prefix)
            site.push_keys()
            eventually(lambda: site.titles(reader) == 401)
            eventually(lambda: reader.get("/readyz").status == 503)
            filler.unlink()
            eventually(lambda: reader.get("/readyz").status == 200)
            mirrored = mirror_of(url, disk).workspace("acme")
            eventually(lambda: AccessFile(mirrored.directory).read() == site.access.read())
            eventually(lambda: mirrored.current() == site.place.current())


def behind(reader: Running) -> set[str]:
    return {one["what"] for one in readiness(reader)["workspaces"][0]["behind"]}


def test_damaged_keys_in_the_store_are_told_and_leave_a_reader_ready(
    url: str, objects: Objects, site: BucketSite, tmp_path: Path
) -> None:
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key, CMS_METRICS="127.0.0.1:0") as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        began = time.time()
        objects.replace(f"acme/{ACCESS}", b"{", ANY, private=True)
        announce(objects, "acme")
        eventually(lambda: behind(reader) == {"keys"})
        assert metric(reader, "parquetry_behind_since_timestamp_seconds") > began
        ready = reader.get("/readyz")
        assert (ready.status, ready.json["ready"], site.titles(reader)) == (200, True, {"one"})
        assert all(told not in ready.body for told in (b"s3://", str(tmp_path).encode(), ACCESS.encode()))
        site.push_keys()
        eventually(lambda: behind(reader) == set())
        told = [line for line in reader.log().splitlines() if "acme: keys on this machine" in line]
        assert [line.partition("machine ")[2] for line in told] == [
            "has been older than in the store for two polls",
            "is as in the store again",
        ]


@contextmanager
def hung(reader: Running) -> Iterator[None]:
    """Halt the keeper, which follows the store, for the block."""
    pid = keeper_of(reader)
    halt(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def without_page(reader: Running, mirror: Store) -> Iterator[None]:
    """Keep the mirror from writing what it knows of the store."""
    page = mirror.root / CONTACT
    page.replace(mirror.root / "before")
    while not page.is_dir():  # the mirror may write it once more in between
        page.unlink(missing_ok=True)
        with suppress(FileExistsError):
            page.mkdir()
    try:
        yield
    finally:
        page.rmdir()
        (mirror.root / "before").replace(page)


@pytest.mark.parametrize("fault", ["hangs", "cannot write"])
def test_a_mirror_that_does_not_go_on_is_told(url: str, site: BucketSite, tmp_path: Path, fault: str) -> None:
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key, CMS_METRICS="127.0.0.1:0") as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        assert metric(reader, "parquetry_store_contact_age_seconds") < 20
        with hung(reader) if fault == "hangs" else without_page(reader, mirror_in(tmp_path / "reader", url)):
            eventually(lambda: behind(reader) == {"workspace"})
            since = metric(reader, "parquetry_behind_since_timestamp_seconds")
            assert time.time() - since > 2 * POLL_SECONDS
            assert site.titles(reader) == {"one"}
            eventually(lambda: "the mirror has not gone on since" in reader.log())
        eventually(lambda: behind(reader) == set())
        eventually(lambda: "the mirror goes on again" in reader.log())


def test_a_machine_whose_processes_hang_is_not_ready(url: str, site: BucketSite, tmp_path: Path) -> None:
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key) as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        eventually((mirror_in(tmp_path / "reader", url).root / VIEWS_CONTACT).exists)
        with hung(reader):
            eventually(lambda: reader.get("/readyz").status == 503)
            assert "cannot follow what changes in acme" in readiness(reader)["message"]
            eventually(lambda: behind(reader) == {"counts", "workspace"})
            assert site.titles(reader) == {"one"}
        eventually(lambda: reader.get("/readyz").status == 200)
        eventually(lambda: behind(reader) == set())


def test_counts_that_cannot_be_had_and_views_that_cannot_be_sent_are_told(
    url: str, objects: Objects, site: BucketSite, tmp_path: Path
) -> None:
    with (site.source / "workspace.yaml").open("a") as definition:
        definition.write(DOMAINS)
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "reader", key=key) as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        assert post(reader, {"path": "/a"}).status == 204
        eventually(lambda: objects.read(today_key("acme")) is not None)
        whole = objects.read(today_key("acme"))
        assert whole is not None
        objects.replace(today_key("acme"), b"damaged", ANY)
        views = mirror_in(tmp_path / "reader", url).workspace("acme").directory / "views"
        (views / "sending.json").rename(views / "before")
        (views / "sending.json").mkdir()
        assert post(reader, {"path": "/b"}).status == 204
        eventually(lambda: behind(reader) == {"counts", "views"}, within=3 * 60)
        assert reader.get("/readyz").status == 200
        (views / "sending.json").rmdir()
        (views / "before").rename(views / "sending.json")
        objects.replace(today_key("acme"), whole.data, ANY)
        eventually(lambda: behind(reader) == set())
        for told in ("acme: counts on this machine has been older", "acme: views wait on this machine"):
            eventually(lambda told=told: reader.log().count(told) == 1)


def test_a_full_disk_under_the_mirror_ends_nothing(url: str, site: BucketSite, tmp_path: Path) -> None:
    site.release("one")
    _, key = site.released_key()
    with small_disk(tmp_path / "disk", 64 << 20) as disk, serving_bucket(url, disk / "reader", key=key) as reader:
        eventually(lambda: site.titles(reader) == {"one"})
        filler = fill(disk)
        site.entries = 5000
        second = site.release("two")
        eventually(lambda: (readiness(reader)["workspaces"][0]["refused"] or {}).get("version") == second)
        assert site.titles(reader) == {"one"}
        assert readiness(reader)["store"]["lastContact"] < 20
        filler.unlink()
        eventually(lambda: site.titles(reader) == {"two"})


def test_letters_go_out_once_and_last_uses_come_together(
    url: str, objects: Objects, site: BucketSite, tmp_path: Path
) -> None:
    with (site.source / "workspace.yaml").open("a") as definition:
        definition.write("members:\n  - {name: Mika, email: mika@acme.example, role: owner}\n")
    site.release("one")
    issue_key(site.access, name="Old", scope=None, now=now_ms() - 85 * 86_400_000, zone=UTC, validity="90d")
    issued, key = site.released_key()
    with mail_server(tmp_path / "smtp") as smtp:
        for number in (1, 2):
            # The first start of each finds nothing in its mirror yet, the second begins with a round.
            with serving_bucket(url, tmp_path / f"reader-{number}", key=key) as reader:
                eventually(lambda reader=reader: site.titles(reader) == {"one"})
                assert reader.stop() == 0
        settings = {"key": key, "CMS_SMTP_URL": smtp.url()}
        with (
            serving_bucket(url, tmp_path / "reader-1", **settings) as one,
            serving_bucket(url, tmp_path / "reader-2", **settings) as two,
        ):
            eventually(lambda: len(smtp.mails()) >= 1)
            eventually(lambda: site.titles(one) == {"one"} == site.titles(two))
            assert one.stop() == two.stop() == 0
        assert smtp.recipients() == ["mika@acme.example"]
        assert (one.log() + two.log()).count("told one owner") == 1
    assert set(last_uses(objects, "acme")) == {issued.id}
    assert len(objects.names("acme/last_use")) == 2, "one of each machine"
