"""The operator's night: each failure caused for real, seen by an alert of the sample rules in a real Prometheus, named
by ``/readyz``, explained in the log, and over when it is over.

| failure | alert |
|---|---|
| a worker is killed; the keeper is, again and again | ProcessDied; NoKeeper |
| the disk is full; page views are lost on it | DiskFills; ViewsDropped |
| `current` is gone, damaged, somebody else's | CurrentUnreadable |
| a version is somebody else's, damaged | RefusedVersion |
| the keys are somebody else's | KeysUnreadable |
| the counts are damaged; views wait | CountsStale; ViewsNotWritten |
| webhooks are damaged; a receiver is away | WebhooksUnreadable; WebhooksWaiting |
| the audit log cannot be written | AuditLogLate |
| a key ends; a build never ends | KeyEnds; BuildDoesNotEnd |
| the store is away; the cache cannot be written | StoreUnreadable; CacheNotWritable |
| mail is away; its certificate has ended | MailNotSent |
| Redis is away | LimitNotShared |
| memory is short; sign-ins are damaged; the report is refused | MemoryShort; SignInsUnreadable; ServerNotReported |
| the clock is set forward, and back; a version of the future | ClockWrong |
| clients are over their limit; answers are slow, 503, 500 | ClientsOverTheirLimit; Slow; Overload; Errors |
| nothing is published, or saved; the server is gone | OldContent, OldBackup; ServerGone |
| the bucket is away; a workspace in it; what is current there | StoreOutOfContact; WorkspaceNotFollowed; … |
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import msgspec
import pytest
from trustme import CA

from engine.access.keys.access import KeyChange, edit_key
from engine.access.sign_in.sign_ins import DOCUMENT
from engine.administration import keys as administration
from engine.administration.administrator import operator
from engine.backup.newest import Saved, note_saved
from server.background.keeper import NAME
from server.states.table import MAIL
from snapshots.store.changes import announce
from snapshots.store.current import CURRENT_CODEC
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY
from snapshots.times import now_ms
from tests.server.background.keepers import keeper_of, keepers_of
from tests.server.background.test_expiry_mail import PEOPLE, expiring_key
from tests.server.background.webhooks.test_sender import add
from tests.server.states.night import ALL_ALERTS, Failure, Night, needs_prometheus, night_over, nothing, wait_until
from tests.servers.mail_server import mail_server
from tests.servers.redis_server import RedisServer, needs_redis, redis_server
from tests.servers.tcp_proxy import State, TcpProxy, tcp_proxy
from tests.servers.webhook_receiver import Reply, receiver
from tests.sites.bucket_site import BucketSite
from tests.sites.served_site import Running, Site
from tests.sites.server_workers import workers_of
from tests.sites.viewed_site import DOMAINS, post
from tests.stores.object_stores import object_store
from tests.stores.small_disk import fill, small_disk

pytestmark = [pytest.mark.slow, needs_prometheus]

NOBODY = 65534
HOUR_MS = 3_600_000
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def give_away(*paths: Path) -> None:
    """Make files those of another user, as if they were published by one."""
    for top in paths:
        for path in (top, *(top.rglob("*") if top.is_dir() else ())):
            os.chown(path, NOBODY, NOBODY)
            path.chmod(0o750 if path.is_dir() else 0o640)


def take_back(*paths: Path) -> None:
    for top in paths:
        for path in (top, *(top.rglob("*") if top.is_dir() else ())):
            os.chown(path, os.geteuid(), os.getegid())


class Killing:
    """The keeper ends again and again."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()

    def _kill(self) -> None:
        while not self._ending.wait(0.05):
            for pid in keepers_of(self._server):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


class Stuck:
    """A build that begins to write and never ends."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._build)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()

    def _build(self) -> None:
        with self._site.place.stage("20990101T000000000Z-00000000"):
            self._ending.wait()


def failures(
    site: Site, night: Night, stack: ExitStack, folder: Path, redis: RedisServer, renew: Callable[[], None]
) -> Iterator[Failure]:
    """Those of one machine with a store in a directory."""
    place, server, numbers = site.place, night.server, count()
    yield Failure("the mail server's certificate has ended", "MailNotSent", "", nothing, renew)
    current, access = place.directory / "current", site.access.path
    kept: dict[str, bytes] = {}

    def workers() -> list[int]:
        return [pid for pid in workers_of(server) if Path(f"/proc/{pid}/comm").read_text().strip() != NAME]

    def damage(path: Path) -> None:
        kept[path.name] = path.read_bytes() if path.exists() else b""
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"{" * 100)

    def mend(path: Path) -> None:
        path.unlink()
        if kept[path.name]:
            path.write_bytes(kept[path.name])

    def publish() -> None:
        site.publish(f"text {next(numbers)}")

    yield Failure(
        "a worker is killed", "ProcessDied", "ended with status -9", lambda: os.kill(workers()[0], 9), nothing
    )
    killing = Killing(server)
    yield Failure("the keeper is killed", "NoKeeper", "the keeper ended", killing.begin, killing.end)
    yield Failure(
        "`current` is gone",
        "CurrentUnreadable",
        "`current` is missing",
        lambda: damage_gone(current, kept),
        lambda: current.write_bytes(kept["current"]),
    )
    yield Failure(
        "`current` is damaged", "CurrentUnreadable", "is damaged", lambda: damage(current), lambda: mend(current)
    )
    yield Failure(
        "`current` is another's",
        "CurrentUnreadable",
        "permission denied",
        lambda: give_away(current),
        lambda: take_back(current),
    )

    def publish_as_another() -> None:
        version = site.publish("by another user", activate=False)
        give_away(place.snapshots / version)
        site.activate(version)

    yield Failure(
        "a version is another's",
        "RefusedVersion",
        "refused: .*ermission denied",
        publish_as_another,
        lambda: take_back(place.snapshots),
    )

    def publish_damaged() -> None:
        version = site.publish("damaged", activate=False)
        data = place.snapshots / version / "en/posts/all.parquet"
        damaged = bytes(len(data.read_bytes()))
        data.unlink()
        data.write_bytes(damaged)
        site.activate(version)

    yield Failure("a version is damaged", "RefusedVersion", "refused: .*SHA-256", publish_damaged, publish)
    yield Failure(
        "the keys are another's",
        "KeysUnreadable",
        "permission denied",
        lambda: give_away(access),
        lambda: take_back(access),
    )

    def fold_without_keys() -> None:
        give_away(access)
        os.kill(keeper_of(server), signal.SIGKILL)

    def fold() -> None:
        take_back(access)
        os.kill(keeper_of(server), signal.SIGKILL)

    yield Failure("last uses cannot be kept", "LastUseNotKept", "last uses of keys cannot", fold_without_keys, fold)
    webhooks = place.directory / "webhooks.json"
    yield Failure(
        "webhooks are damaged", "WebhooksUnreadable", "webhooks wait", lambda: damage(webhooks), lambda: mend(webhooks)
    )
    hooked = stack.enter_context(receiver(folder, tls=False))

    def refuse() -> None:
        hooked.reply = lambda _: Reply(500)
        add(site, hooked.url())
        publish()

    def accept() -> None:
        hooked.reply = lambda _: Reply()

    yield Failure("a receiver is away", "WebhooksWaiting", "webhook .* 500", refuse, accept)

    ending = site.key(validity="none")[0].prefix
    yield Failure(
        "a key ends",
        "KeyEnds",
        "KeyEnds",
        lambda: change_end(site, ending, 1),
        lambda: change_end(site, ending, 90),
    )
    stuck = Stuck(site)
    yield Failure("a build never ends", "BuildDoesNotEnd", "BuildDoesNotEnd", stuck.begin, stuck.end)

    store, away = site.store.root, site.store.root.with_name("away")
    yield Failure(
        "the store is away",
        "StoreUnreadable",
        "the store cannot be looked at",
        lambda: store.rename(away),
        lambda: away.rename(store),
    )

    cache = site.store.cache

    def close_cache() -> None:
        shutil.rmtree(cache / "states")
        cache.chmod(0o500)

    yield Failure(
        "the cache cannot be written", "CacheNotWritable", "permission denied", close_cache, lambda: cache.chmod(0o700)
    )

    audit, aside = place.directory / "audit", place.directory / "aside"

    def disable_a_key() -> None:
        administration.disable_key(operator(place, now_ms()), site.key(validity="none")[0].prefix)

    def keep_from_logging() -> None:
        disable_a_key()
        audit.rename(aside)
        audit.write_text("in the way")
        disable_a_key()

    def let_log() -> None:
        audit.unlink()
        aside.rename(audit)

    yield Failure(
        "the audit log cannot be written", "AuditLogLate", "changes wait for the audit log", keep_from_logging, let_log
    )

    counts, counted = place.directory / "views" / "counts", place.directory / "views" / "counted"

    def keep_from_counting() -> None:
        counts.rename(counted)
        counts.write_text("in the way")
        view(server, next(numbers))
        sealed: list[Path] = []
        wait_until(lambda: sealed.extend((counts.parent / "spool").glob("*/sealed-*")) or sealed)
        an_hour_ago = time.time() - 3_600
        for segment in sealed:
            os.utime(segment, (an_hour_ago, an_hour_ago))

    def let_count() -> None:
        counts.unlink()
        counted.rename(counts)
        os.kill(keeper_of(server), signal.SIGTERM)  # it files rows when it ends, and once in five minutes otherwise

    view(server, next(numbers))
    wait_until((counts / "today.parquet").exists)
    yield Failure("views wait", "ViewsNotWritten", "cannot (read|write)", keep_from_counting, let_count)
    today = counts / "today.parquet"
    yield Failure("the counts are damaged", "CountsStale", "today.parquet", lambda: damage(today), lambda: mend(today))

    disk = store.parent
    yield Failure("the disk is full", "DiskFills", "DiskFills", lambda: fill(disk), (disk / "filler").unlink)

    def lose_views() -> None:
        fill(disk)
        often(8, lambda: view(server, next(numbers)))

    yield Failure(
        "views are lost", "ViewsDropped", "page views are being dropped", lose_views, (disk / "filler").unlink
    )

    sign_ins = site.store.root / DOCUMENT
    yield Failure(
        "sign-ins are damaged",
        "SignInsUnreadable",
        "nobody can sign in",
        lambda: damage(sign_ins),
        lambda: mend(sign_ins),
    )

    readers = site.store.root / "_readers"

    def refuse_reports() -> None:
        shutil.rmtree(readers)
        readers.write_text("in the way")
        publish()

    yield Failure("the report is refused", "ServerNotReported", "cannot report", refuse_reports, readers.unlink)

    memory = folder / "meminfo"
    yield Failure(
        "memory is short",
        "MemoryShort",
        "MemoryShort",
        lambda: memory.write_text("MemTotal: 1000 kB\nMemAvailable: 40 kB\n"),
        lambda: memory.write_text("MemTotal: 1000 kB\nMemAvailable: 400 kB\n"),
    )
    yield Failure(
        "a version of the future", "ClockWrong", "in the future", lambda: move_activation(site, HOUR_MS), publish
    )
    objects = site.store.objects
    yield Failure(
        "the backup is old",
        "OldBackup",
        "OldBackup",
        lambda: note_saved(objects, Saved("old", "elsewhere", now_ms() - 3 * 24 * HOUR_MS, 0)),
        lambda: note_saved(objects, Saved("new", "elsewhere", now_ms(), 0)),
    )
    yield Failure("nothing is published", "OldContent", "", lambda: move_activation(site, -8 * 24 * HOUR_MS), publish)
    yield Failure("the limit is not shared", "LimitNotShared", "CMS_RATE_LIMIT_URL is down", redis.stop, redis.start)

    _, slow_key = site.key(rate_limit=1)
    yield Failure(
        "clients are over their limit",
        "ClientsOverTheirLimit",
        "429",
        lambda: often(8, lambda: server.get("/v1/acme/posts", headers={"X-API-KEY": slow_key})),
        nothing,
    )
    unready = Site(folder, "beta")
    unready.store, unready.place = site.store, site.store.workspace("beta")
    unready.place.directory.mkdir()
    _, unready_key = unready.key(validity="none")
    yield Failure(
        "nothing of a workspace can be served",
        "Overload",
        "503",
        lambda: often(12, lambda: server.get("/v1/beta/posts", headers={"X-API-KEY": unready_key})),
        nothing,
    )


def view(server: Running, number: int) -> None:
    """Send the view of a visitor who was not there before."""
    assert post(server, {"path": f"/{number}"}, visitor=f"198.51.{number // 250}.{number % 250}").status == 204


def damage_gone(path: Path, kept: dict[str, bytes]) -> None:
    kept[path.name] = path.read_bytes()
    path.unlink()


def change_end(site: Site, prefix: str, days: int) -> None:
    """Have a key end in so many days."""
    end = datetime.now(UTC).date() + timedelta(days=days)
    edit_key(site.access, prefix, KeyChange(end=end), now=now_ms(), zone=UTC)


def move_activation(site: Site, by: int) -> None:
    """Write `current` as if the version had become current at another time."""
    found = site.place.current()
    assert found is not None
    moved = msgspec.structs.replace(found, activated_at=now_ms() + by)
    (site.place.directory / "current").write_bytes(CURRENT_CODEC.encode(moved))


def often(times: int, ask: Callable[[], object]) -> None:
    """Ask again and again in the background, until Prometheus has seen the numbers grow."""

    def run() -> None:
        for _ in range(times):
            with suppress(OSError):
                ask()
            time.sleep(0.25)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_night_has_all_alerts() -> None:
    """But for those of the table that are held where their subject is, and the one that ends the night."""
    played = set(re.findall(r'Failure\(\s*"[^"]*",\s*"(\w+)"', Path(__file__).read_text(encoding="utf-8")))
    assert ALL_ALERTS - played == {"ServerGone", "TracesNotSent", "ReloadFailed"}


@needs_redis
def test_the_night_of_one_machine(tmp_path: Path) -> None:
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk", 256 << 20))
        redis = stack.enter_context(redis_server(tmp_path))
        site = site_with_an_owner(disk)
        _, key = site.key(validity="none")
        authority, yesterday = CA(), datetime.now(UTC) - timedelta(days=1)
        ended = stack.enter_context(mail_server(tmp_path / "ended", authority=authority, not_after=yesterday))
        proxy, url = stack.enter_context(mailing(tmp_path, site, authority))
        good, proxy.to = proxy.to, ended.port

        def renew() -> None:
            proxy.to = good

        night = stack.enter_context(
            night_over(
                str(site.store.root),
                tmp_path,
                key=key,
                workers=2,
                CMS_RATE_LIMIT_URL=redis.url,
                CMS_WEBHOOK_ALLOW_LOOPBACK=1,
                CMS_SMTP_URL=url,
                CMS_CONSOLE=1,
                CMS_TRUSTED_PROXIES="127.0.0.1",
                CMS_PUBLIC_URL="http://127.0.0.1",
            )
        )
        wait_until(lambda: night.server.get("/readyz").status == 200)
        wait_until(lambda: night.troubles().keys() == {MAIL})
        failed = {}
        for failure in failures(site, night, stack, tmp_path, redis, renew):
            began = time.monotonic()
            try:
                failure.play(night)
                assert night.server.get("/v1/acme/posts").status == 200, "what is open is served all the while"
            except (AssertionError, OSError) as error:  # the others are played all the same
                failed[failure.name] = f"{error}; {night.troubles()}; {sorted(night.alerts())}"
            print(f"{time.monotonic() - began:.1f} s {failure.name}")
        wait_until(lambda: "certificate has expired" in night.server.log())
        night.server.process.kill()
        wait_until(lambda: night.alerts().get("ServerGone"))
        assert failed == {}


@contextmanager
def mailing(folder: Path, site: Site, authority: CA) -> Iterator[tuple[TcpProxy, str]]:
    """Have somebody be told of a key that expires, by a mail server behind a proxy: (the proxy, the setting)."""
    expiring_key(site)
    with mail_server(folder / "mail", authority=authority) as mail, tcp_proxy(mail.port) as proxy:
        yield proxy, mail.url().replace(f":{mail.port}?", f":{proxy.port}?")


def site_with_an_owner(folder: Path) -> Site:
    site = Site(folder)
    with (site.source / "workspace.yaml").open("a") as file:
        file.write(f"{DOMAINS}{PEOPLE}")
    site.publish("one")
    return site


@pytest.mark.skipif(FAKETIME is None, reason="needs libfaketime on this machine (Debian: faketime)")
def test_a_clock_that_is_set_and_a_program_with_a_fault(tmp_path: Path) -> None:
    site, offset = site_with_an_owner(tmp_path), tmp_path / "offset"
    _, key = site.key(validity="none")
    offset.write_text("+0")

    def set_clock(text: str) -> None:
        (tmp_path / "next").write_text(text)
        (tmp_path / "next").rename(offset)

    broken, slow, numbers = tmp_path / "meminfo.broken", tmp_path / "meminfo.slow", count()
    with night_over(
        str(site.store.root),
        tmp_path,
        key=key,
        LD_PRELOAD=FAKETIME,
        FAKETIME_TIMESTAMP_FILE=offset,
        FAKETIME_NO_CACHE=1,
        FAKETIME_DONT_FAKE_MONOTONIC=1,
    ) as night:

        def read_often(way: Path) -> None:
            way.touch()
            often(12, lambda: night.server.get(f"/v1/acme/posts?offset={next(numbers)}"))

        for failure in (
            Failure(
                "the clock is set forward", "ClockWrong", "set forward by 3[56]", lambda: set_clock("+1h"), nothing
            ),
            Failure("the clock is set back", "ClockWrong", "set back by 3[56]", lambda: set_clock("+0"), nothing),
            Failure(
                "the program has a fault", "Errors", "ZeroDivisionError", lambda: read_often(broken), broken.unlink
            ),
            Failure("answers are slow", "Slow", "posts.* 200 1[0-9]{3}", lambda: read_often(slow), slow.unlink),
        ):
            failure.play(night)


def test_a_bucket_that_is_away_and_what_is_wrong_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        moto = stack.enter_context(object_store("moto"))
        for name, value in moto.environment.items():
            monkeypatch.setenv(name, value)
        place = moto.place()
        site = BucketSite(tmp_path, open_objects(place))
        with (site.source / "workspace.yaml").open("a") as file:
            file.write(PEOPLE)
        site.release("one")
        mail, smtp_url = stack.enter_context(mailing(tmp_path, site, CA()))
        mail.become(State.REFUSES)
        _, key = site.released_key(validity="none")
        proxy = stack.enter_context(tcp_proxy(moto.port))
        url = place.replace(f":{moto.port}/", f":{proxy.port}/")
        night = stack.enter_context(
            night_over(url, tmp_path, key=key, cache=str(tmp_path / "cache"), CMS_SMTP_URL=smtp_url)
        )
        wait_until(lambda: site.titles(night.server) == {"one"})
        lost: list[str] = []

        def publish_without_a_file() -> None:
            version = site.publish("two")
            site.push_version(version)
            lost.append(site.object_key(version, "en/posts/all.parquet"))
            site.objects.delete(lost)
            site.push_current()

        def damage_keys() -> None:
            site.objects.replace("acme/access.json", b"{", ANY, private=True)
            announce(site.objects, "acme")

        failures = [
            Failure("mail is away", "MailNotSent", "", nothing, lambda: mail.become(State.PASSES)),
            Failure(
                "the bucket is away",
                "StoreOutOfContact",
                "cannot be reached",
                lambda: proxy.become(State.REFUSES),
                lambda: proxy.become(State.PASSES),
            ),
            Failure(
                "what is current has not arrived",
                "RefusedVersion",
                "en/posts/all.",
                publish_without_a_file,
                lambda: site.release("three"),
            ),
            Failure("the keys there are damaged", "KeysUnreadable", "access.json", damage_keys, site.push_keys),
        ]
        keeper = keeper_of(night.server)
        failures.append(
            Failure(
                "the keeper hangs",
                "WorkspaceNotFollowed",
                "the mirror has not gone on",
                lambda: os.kill(keeper, signal.SIGSTOP),
                lambda: os.kill(keeper, signal.SIGCONT),
            )
        )
        for failure in failures:
            failure.play(night)
            assert isinstance(site.titles(night.server), set), "what has arrived is served"
