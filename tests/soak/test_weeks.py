"""Weeks of a store in minutes: one process, a clock of the test's own, and everything that a server repeats.

Held against what the test itself wrote down: which views were counted, which letters are due, how many versions stay.
What has been there for longer than it is kept must not go on growing: files, their bytes, and objects in memory.
"""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from engine.access.audit.log import AuditLog, Author, Entry, Via
from engine.access.expiry.ledger import LedgerFile
from engine.access.expiry.notices import may_be_due, send_due_mails
from engine.access.keys.access import AccessFile, delete_key, issue_key
from engine.access.keys.last_use import LastUse, last_uses
from engine.access.keys.rate_limit import window_name
from engine.access.keys.rate_limit_local import LocalWindows
from engine.access.sign_in.people import member
from engine.access.sign_in.sign_ins import SignIns
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer
from engine.views.collecting.spool import SpoolWriter, View, workers
from engine.views.collecting.targets import Kind, jst_day
from engine.views.collecting.visitors import Limits, Verdict, Visitors
from engine.views.counting.counts import CountsFile
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.writer import ViewWriter
from snapshots.build.build import build
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.leases import Lease
from snapshots.store.store import Store
from tests.engine.views.gathering.machines import WORKSPACE, Machine, expected, rows_in
from tests.servers.mail_server import MailServer, mail_server

pytestmark = pytest.mark.slow

BEGIN = round(datetime(2101, 1, 3, tzinfo=UTC).timestamp() * 1000)
"""Later than any clock says: so files of the last step are told by their dates."""
HOUR = 3_600_000
DAY = 24 * HOUR
RETENTION = 5
"""Days for which raw rows of page views are kept."""
KEPT = 4
"""Versions that a prune leaves."""
KEY_DAYS = 8
"""Days that each key is valid: more than the seven before which a letter is due."""
SETTLED = max(RETENTION, KEPT, KEY_DAYS) + 1
"""Days after which as much goes as comes."""
OBJECTS = "objects in memory"


@pytest.fixture(scope="module")
def smtp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("smtp")) as running:
        yield running


@pytest.mark.parametrize(("days", "hours"), [(14, 12), pytest.param(50, 3, marks=pytest.mark.slow)])
def test_nothing_is_lost_and_nothing_grows(tmp_path: Path, smtp: MailServer, days: int, hours: int) -> None:
    for letter in smtp.folder.glob("mail-*"):
        letter.unlink()
    early: list[dict[str, int]] = []
    late: list[dict[str, int]] = []
    with closing(World(tmp_path, smtp, lease_ms=3 * hours * HOUR // 2)) as world:
        for step in range(days * 24 // hours):
            now = BEGIN + step * hours * HOUR
            world.step(now)
            day, hour = divmod(step * hours, 24)
            if hour == 0:
                world.once_a_day(now)
                if SETTLED - 3 <= day < SETTLED:
                    early.append(world.sizes())
                elif day >= days - 3:
                    late.append(world.sizes())
        world.check(BEGIN + days * DAY)
    # Counts and letters are kept for good, and are left out of the sizes.
    for name in late[-1]:
        before, after = (max(size.get(name, 0) for size in some) for some in (early, late))
        room = before // 2 + (4 if name.startswith("files") else 8_192)  # `current` names 50 versions
        if name == OBJECTS:
            # Builds in one process fill caches of compiled texts, which have bounds of their own.
            room = 1_000 + 60 * (days - SETTLED)
        assert after <= before + room, (name, before, after)


class World:
    """A store on a disk, one in a bucket with two machines, and what their servers do again and again."""

    def __init__(self, root: Path, smtp: MailServer, *, lease_ms: int) -> None:
        self._chance = random.Random(1)
        self._root = root
        self._smtp = smtp
        self._content = root / "content"
        self._store = Store(root / "store", root / "store" / ".cache")
        self._write_workspace()
        self._place = self._store.workspace(WORKSPACE)
        self._views = self._place.directory / "views"
        self._writer = ViewWriter(self._views, RETENTION)
        self._spool: SpoolWriter | None = None
        self._counted: list[View] = []
        self._visitors = Visitors(seen=1 << 10, addresses=1 << 8)
        self._windows = LocalWindows(root / "limits", now=BEGIN)
        self._last_use = LastUse(self._store.root)
        self._used: dict[str, int] = {}
        self._keys: list[tuple[str, str, date]] = []
        """ID, prefix and last day of each key that was issued."""
        self._ledger = LedgerFile(self._place)
        self._sign_ins = SignIns(self._place.objects)
        bucket = DirectoryObjects(root / "bucket")
        self._bucket = bucket
        self._machines = [Machine(root / name, bucket, RETENTION) for name in ("one", "two")]
        for name in ("one", "two"):
            (root / name / WORKSPACE / "snapshots").mkdir(parents=True)
        self._gathered: list[View] = []
        self._leases = {name: Lease(bucket, "lease.json", name, lease_ms) for name in ("one", "two")}
        self._lease_ms = lease_ms
        self._holder: str | None = None
        self._renewed_at = 0
        self._built = 0

    def step(self, now: int) -> None:
        """Do what comes every few hours."""
        self._collect_and_write(now)
        self._gather(now)
        self._take_the_lease(now)
        self._send_letters(now)
        self._admit(now)
        self._date_files(now)

    def once_a_day(self, now: int) -> None:
        """Publish a change, issue a key, restart the worker that collects."""
        self._built += 1
        self._write_entry(now)
        with AuditLog(self._place.objects, WORKSPACE).recorded(
            Entry(now, Author("root@host", "operator", Via.COMMAND_LINE), "version_built", f"Built {self._built}.")
        ):
            build(self._content, self._store, now=now)
        self._date_files(now)
        self._place.prune(KEPT)
        assert len(self._place.versions()) == min(KEPT, self._built)
        self._change_keys(now)
        link = self._sign_ins.new_link(member("mika@acme.example"), now)
        self._sign_ins.use(link, None, now)
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def sizes(self) -> dict[str, int]:
        """Return what has to stay within bounds: bytes and numbers of files by place, and objects in memory."""
        gc.collect()
        lasting = (f"{WORKSPACE}/audit/", f"{WORKSPACE}/expiry_mails", "/views/counts/")
        own = len(self._counted) + len(self._gathered)
        found = Counter({OBJECTS: len(gc.get_objects()) - own})
        for path in self._root.rglob("*"):
            name = path.relative_to(self._root).as_posix()
            if path.is_file() and not any(one in name for one in lasting):
                top = "/".join(name.split("/")[:3])
                found[f"files in {top}" if path.suffix != ".duckdb" else f"{top} (files)"] += 1
                found[f"bytes in {top}"] += path.stat().st_size
        return dict(found)

    def check(self, now: int) -> None:
        """Compare what is stored at the end with what was done."""
        first = jst_day(now - 1) - RETENTION + 1
        self._writer.round(now - 1, now / 1000, flush=True)
        with duckdb.connect(self._views / FILE, read_only=True) as connection:
            rows = connection.execute("SELECT kind, key, day - DATE '1970-01-01' FROM page_views").fetchall()
            daily = connection.execute("SELECT kind, key, day - DATE '1970-01-01', views FROM daily_counts").fetchall()
        truth = expected(self._counted)
        assert Counter(rows) == Counter({key: n for key, n in truth.items() if key[2] >= first})
        assert {(kind, key, day): n for kind, key, day, n in daily} == truth
        file = CountsFile(self._views)
        file.refresh()
        for key, total in Counter(view.key for view in self._counted).items():
            assert file.counts.total(Kind.PATH, key) == total
        assert len(workers(self._views)) <= 1
        for machine in self._machines:
            machine.gathering.round(now - 1, flush=True)
            assert machine.counts() == expected(self._gathered)
        assert rows_in(self._bucket) == sorted(view for view in self._gathered if jst_day(view.at) >= first)
        due = [(key, until) for key, _, until in self._keys if until - timedelta(7) <= _day(now - 1)]
        assert len(due) >= 2
        assert self._smtp.recipients() == sorted(["mika@acme.example", "ren@acme.example"] * len(due))
        known = {key.id for key in AccessFile(self._place).read().keys}  # type: ignore[union-attr]  # it is there
        assert last_uses(self._place.objects, WORKSPACE).keys() >= known & self._used.keys()

    def close(self) -> None:
        """Let go of files."""
        if self._spool is not None:
            self._spool.close()
        self._windows.close()

    def _collect_and_write(self, now: int) -> None:
        if self._spool is None:
            self._spool = SpoolWriter(self._views, now)
        views = []
        for number in range(40):
            address, path = bytes([self._chance.randrange(30)]), f"/p{self._chance.randrange(12)}"
            at = now - HOUR + number * 1000
            verdict = self._visitors.admit(WORKSPACE, address, b"browser", path.encode(), Limits(), at, at / 1000)
            if verdict is Verdict.NEW:
                views.append(View(at, Kind.PATH, path, "acme.example"))
        self._spool.append(*views)
        self._spool.seal()
        self._counted += views
        written = self._writer.round(now, now / 1000)
        assert written is not None
        assert self._writer.complaint is None

    def _gather(self, now: int) -> None:
        for machine in self._machines:
            views = [View(now - HOUR, Kind.ENTRY, f"e{self._chance.randrange(6)}", "acme.example") for _ in range(5)]
            self._gathered += machine.collect(views, now)
            machine.send(now)
        self._chance.choice(self._machines).gathering.round(now)

    def _take_the_lease(self, now: int) -> None:
        """Each asks now and then; whoever has it is the only one, and one that is gone is followed."""
        askers = [name for name in self._leases if self._chance.random() < 0.6]
        for name in askers:
            if self._leases[name].take(now):
                assert self._holder in (None, name) or now - self._renewed_at >= self._lease_ms
                self._holder, self._renewed_at = name, now
            else:
                assert self._holder not in (None, name)
                assert now - self._renewed_at < self._lease_ms

    def _send_letters(self, now: int) -> None:
        current = self._place.current()
        access = AccessFile(self._place).read()
        if current is None or access is None:
            return
        workspace = self._place.manifest(current.version).workspace
        if may_be_due(workspace, access.keys, now):
            with Mailer(parse_mail_server(self._smtp.url())) as mailer:
                done = send_due_mails(workspace, self._ledger, mailer, now, lambda: now)
            assert (done.refused, done.given_up, done.unheard) == ((), (), ())

    def _admit(self, now: int) -> None:
        for key, _, until in self._keys:
            if until >= _day(now):
                assert self._windows.take(window_name(WORKSPACE, key), 3, now).allowed
                self._last_use.note(WORKSPACE, key, now)
                self._used[key] = now
        self._last_use.write()
        self._last_use.fold(WORKSPACE, None, now)

    def _change_keys(self, now: int) -> None:
        today = _day(now)
        for key, prefix, until in self._keys:
            access = AccessFile(self._place).read()
            assert access is not None
            if until < today and any(one.id == key for one in access.keys):
                delete_key(AccessFile(self._place), prefix)
        if self._built % 2:
            until = today + timedelta(KEY_DAYS)
            issued, _ = issue_key(
                AccessFile(self._place), name=f"Key {today}", scope=None, now=now, zone=UTC, start=today, end=until
            )
            self._keys.append((issued.id, issued.prefix, until))

    def _date_files(self, now: int) -> None:
        """Date the files that were written since the last step as the test's clock has it: the ages of some count."""
        for path in self._root.rglob("*"):
            stat = path.stat()
            if path.is_file() and stat.st_mtime < BEGIN / 1000:
                os.utime(path, (now / 1000, now / 1000))

    def _write_workspace(self) -> None:
        (self._content / "apis").mkdir(parents=True)
        (self._content / "content" / "news").mkdir(parents=True)
        (self._content / "workspace.yaml").write_text(
            f"id: {WORKSPACE}\nlanguages: [en]\nmembers:\n"
            "  - {name: Mika, email: mika@acme.example, role: owner}\n"
            "  - {name: Ren, email: ren@acme.example, role: maintainer}\n"
        )
        (self._content / "apis" / "news.yaml").write_text(
            "uid: api_4Kq9XbT2mVc7\nendpoint: news\nkind: list\nfields:\n"
            "  - {id: title, type: text, required: true}\n  - {id: body, type: richtext}\n"
        )

    def _write_entry(self, now: int) -> None:
        """Write the entry of a day of the week, so that their number does not grow."""
        path = self._content / "content" / "news" / f"day-{self._built % 7}.md"
        path.write_text(f"---\ntitle: News {self._built}\ncreatedAt: 2026-12-01\n---\nWritten at {now}.\n")


def _day(now: int) -> date:
    return datetime.fromtimestamp(now / 1000, UTC).date()
