"""Released programs beside this one, on one store: what each wrote is read by the other, or refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date
from pathlib import Path

import duckdb
import pytest

from engine.access.expiry.ledger import LedgerFile, MailId, MailRecord
from engine.access.keys.access import AccessFile, Keyring
from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import Cms, in_process
from tests.releases.released import BEFORE_BUCKETS, Release, release, unpacked
from tests.stores.object_stores import ObjectStore, object_store

pytestmark = pytest.mark.slow

__all__ = ["release", "unpacked"]  # fixtures

POSTS = "/v1/site/posts"


@pytest.fixture
def cms(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    """This program's commands, on the store of the release."""
    monkeypatch.setenv("CMS_STORE", str(release.store))
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


@pytest.fixture(scope="module")
def moto() -> Iterator[ObjectStore]:
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
    with object_store("any") as server:
        yield server


def change(cms: Cms, *arguments: str) -> None:
    ran = cms(*arguments)
    assert ran.status == 0, ran.err


def test_this_program_works_on_a_store_that_a_release_has_made(release: Release, cms: Cms) -> None:
    access = AccessFile(open_store(release.store).workspace("site")).read()
    assert access is not None
    assert Keyring({"site": access}).authorize(release.key.encode(), "site", now_ms(), UTC).name == "Site"
    newest = cms("snapshot", "list", "--json").json[0]["version"]
    assert cms("query", "posts", "--key", release.key, "--json").json["totalCount"] == 2
    change(cms, "snapshot", "verify")
    change(cms, "key", "edit", "Other", "--name", "Another")
    change(cms, "snapshot", "rollback")
    assert [one["current"] for one in cms("snapshot", "list", "--json").json] == [False, True]
    change(cms, "snapshot", "activate", newest)


def test_a_release_reads_what_this_program_has_changed(release: Release, cms: Cms) -> None:
    """Each kind of change, after each of which somebody may go back."""
    newest = cms("snapshot", "list", "--json").json[0]["version"]
    created = cms("key", "create", "Mine", "--api", "posts", "--rate-limit", "60", "--json").json
    for arguments in (
        ("key", "list"),
        ("key", "edit", created["prefix"], "--name", "Mine alone", "--validity", "30d"),
        ("key", "disable", created["prefix"]),
        ("key", "enable", created["prefix"]),
        ("key", "delete", created["prefix"], "--yes"),
        ("draft", "rotate"),
    ):
        change(cms, *arguments)
        assert release.told("key", "list") == cms("key", "list", "--json").json, arguments
    for arguments in (
        ("snapshot", "rollback"),
        ("snapshot", "activate", newest),
        ("snapshot", "prune", "--keep", "1"),
    ):
        change(cms, *arguments)
        told = [(one["version"], one["current"]) for one in release.told("snapshot", "list")]
        assert told == [(one["version"], one["current"]) for one in cms("snapshot", "list", "--json").json], arguments
    assert release.told("query", "posts", "--key", release.key)["totalCount"] == 2
    release.told("key", "disable", "Site")
    assert cms("key", "show", "Site", "--json").json["state"] == "disabled", "and this program reads what it writes"


def test_what_is_held_stays_held_whatever_a_release_does_meanwhile(release: Release, cms: Cms) -> None:
    """A release knows nothing of holds, drops what it does not know in what it writes, and leaves theirs alone."""
    newest, before = [one["version"] for one in cms("snapshot", "list", "--json").json]
    change(cms, "snapshot", "rollback")
    held = cms("snapshot", "list", "--json").json[0]["held"]
    assert held["version"] == newest
    release.told("snapshot", "activate", newest)
    release.told("snapshot", "activate", before)
    assert cms("snapshot", "list", "--json").json[0]["held"] == held
    change(cms, "snapshot", "activate", newest)
    assert cms("snapshot", "list", "--json").json[0]["held"] is None


def test_a_release_knows_which_letters_were_sent(release: Release) -> None:
    file = LedgerFile(open_store(release.store).workspace("site"))
    file.change(lambda mails: {**mails, MailId("key_1", date(2027, 1, 2), "ana@example.com"): MailRecord(1, 0, 5)})
    told = release.python(
        "import sys\n"
        "from pathlib import Path\n"
        "from engine.expiry.ledger import LedgerFile\n"
        "[(mail, record)] = LedgerFile(Path(sys.argv[1], 'site')).read().items()\n"
        "print(mail.key, mail.until, mail.address, record.attempts, record.sent_at)\n"
    )
    assert told.split() == ["key_1", "2027-01-02", "ana@example.com", "1", "5"]


def test_a_running_server_of_a_release_follows_the_keys_that_this_program_changes(release: Release, cms: Cms) -> None:
    with release.serving() as server:
        server.wait(POSTS, release.key, 200)
        change(cms, "key", "disable", "Site")
        server.wait(POSTS, release.key, 401)
        change(cms, "key", "edit", "Site", "--name", "Still disabled")
        key = cms("key", "create", "Late", "--json").json["key"]
        server.wait(POSTS, key, 200)
        assert server.status(POSTS, release.key) == 401
        first = cms("snapshot", "list", "--json").json[1]["version"]
        change(cms, "snapshot", "rollback")
        assert server.status(POSTS, key) == 200
    with release.serving() as server:  # and one that is started again
        server.wait(POSTS, key, 200)
        assert server.status(POSTS, release.key) == 401
        assert [one["version"] for one in release.told("snapshot", "list") if one["current"]] == [first]


def test_webhooks_are_read_by_the_releases_that_have_some(release: Release, cms: Cms) -> None:
    if release.day == BEFORE_BUCKETS:
        pytest.skip("it has no webhooks")
    (known,) = release.told("webhook", "list")
    added = cms("webhook", "add", "https://example.com/other", "--json").json
    change(cms, "webhook", "disable", known["id"])
    change(cms, "webhook", "rotate", known["id"])
    assert release.told("webhook", "list") == cms("webhook", "list", "--json").json
    change(cms, "webhook", "delete", added["id"], "--yes")
    assert [one["id"] for one in release.told("webhook", "list")] == [known["id"]]


def test_keys_in_a_bucket_are_read_by_the_releases_that_know_buckets(
    release: Release, cms: Cms, moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    place = moto.place()
    monkeypatch.setenv("CMS_STORE", place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    change(cms, "init", "site")
    monkeypatch.chdir("site")
    if release.day == BEFORE_BUCKETS:
        ran = release.run("key", "list", "--store", place, "--json")
        assert "only local directories can be stores" in ran.err
        return
    release.told("snapshot", "build", str(Path.cwd()), "--store", place)  # a version that it can read, too
    change(cms, "key", "create", "One", "--yes")
    change(cms, "key", "disable", "One")
    ran = release.run("key", "list", "--store", place, "--json")
    assert ran.json == cms("key", "list", "--json").json
    assert ran.json[0]["state"] == "disabled"
    release.told("key", "enable", "One", "--store", place)
    assert cms("key", "show", "One", "--json").json["state"] == "valid"


def test_sessions_and_the_audit_log_are_read_by_the_releases_that_have_them(release: Release, cms: Cms) -> None:
    if release.day == BEFORE_BUCKETS:
        pytest.skip("it has no console")
    from engine.access.sign_in.people import member
    from engine.access.sign_in.sign_ins import SignIns

    ana, now = member("ana@example.com"), now_ms()
    sign_ins = SignIns(open_store(release.store).objects)
    session, _ = sign_ins.use(sign_ins.new_link(ana, now), None, now)
    assert sign_ins.new_mailed_link(ana, "browser", now) is not None
    attempt = sign_ins.complete("attempt", ana, now)
    change(cms, "key", "disable", "Site")
    told = release.python(
        "import sys\n"
        "from engine.audit.log import AuditLog\n"
        "from engine.sign_in.sign_ins import SignIns\n"
        "from snapshots.store.locations import open_objects\n"
        "objects = open_objects(sys.argv[1])\n"
        f"for token in ({session!r}, {attempt!r}):\n"
        f"    print(SignIns(objects).session(token, {now}).person.address)\n"
        "log = AuditLog(objects, 'site')\n"
        "print(log.entries(log.months()[0])[0].sentence)\n"
    )
    assert told.splitlines()[:2] == ["ana@example.com", "ana@example.com"]
    assert told.splitlines()[2].startswith("Disabled the key “Site”")


def test_a_snapshot_version_that_a_release_cannot_read_is_refused_with_the_reason(
    release: Release, cms: Cms, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(cms, "init", "site")
    monkeypatch.chdir("site")
    definition = Path("apis/posts.yaml")  # with what a release has never heard of
    described = definition.read_text().replace("type: text", "type: text, description: A line.", 1)
    definition.write_text(f"{described}description: What is new.\n")
    change(cms, "snapshot", "build", "--allow-breaking")
    assert "What is new." in cms("types", "typescript").out
    ran = release.run("query", "posts", "--json")
    if ran.status:
        assert "newer than this program reads" in ran.err
        assert re.search(r"Upgrade parquetry on this machine, or activate an older (snapshot )?version\.", ran.err)
        change(cms, "snapshot", "rollback")
        ran = release.run("query", "posts", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["totalCount"] == 2


WRITE = """
import sys
from pathlib import Path
from engine.page_views.collecting.spool import SpoolWriter, View
from engine.page_views.collecting.targets import Kind
from engine.page_views.counting.writer import ViewWriter

views, now, flush = Path(sys.argv[1], "site", "views"), {now}, {flush}
for _ in range(2):
    spool = SpoolWriter(views, now)
    spool.append(*[View(now, Kind.PATH, "/a", "acme.example"), View(now - 86_400_000, Kind.ENTRY, "e", "acme.example")])
    spool.close()
    ViewWriter(views).round(now, 0.0, flush=flush)
"""
"""Has a release count two views of a path, and two of an entry the day before; ``flush`` has it write their rows."""


def test_page_views_of_a_release_are_counted_on_by_this_program_and_back(
    release: Release, cms: Cms, tmp_path: Path
) -> None:
    """Nothing is lost or doubled, whether or not the other had written its rows when it ended."""
    views = release.store / "site" / "views"
    now, sent = now_ms(), 0

    def counted_here() -> None:
        nonlocal sent
        spool = SpoolWriter(views, now)
        spool.append(*[View(now, Kind.PATH, "/a", "h"), View(now, Kind.ENTRY, "e", "h")])
        spool.close()
        sent += 1
        change(cms, "views", "flush")
        check()

    def counted_there(*, flush: bool) -> None:
        nonlocal sent
        release.python(WRITE.format(now=now, flush=flush))
        sent += 2
        told = {one["key"]: one["total"] for one in release.told("views", "top")}
        assert told == {"/a": sent, "e": sent}

    def check() -> None:
        assert {one["key"]: one["total"] for one in cms("views", "top", "--json").json} == {"/a": sent, "e": sent}
        with duckdb.connect(views / "views.duckdb", read_only=True) as connection:
            for table in ("SELECT key, count(*) FROM page_views", "SELECT key, sum(views) FROM daily_counts"):
                rows = dict(connection.execute(f"{table} GROUP BY key").fetchall())
                assert rows == {"/a": sent, "e": sent}, table
        verified = cms("views", "verify")
        assert verified.status == 0, verified.out + verified.err

    counted_there(flush=True)
    counted_there(flush=False)
    counted_here()
    counted_here()
    counted_there(flush=False)
    counted_there(flush=True)
    assert release.told("views", "verify") == {"complaints": []}
    counted_here()
    change(cms, "views", "rebuild", "counts")
    check()
    (views / "views.duckdb").write_bytes(b"noise")
    change(cms, "views", "rebuild", "file")
    assert {one["key"]: one["total"] for one in cms("views", "top", "--json").json} == {"/a": sent, "e": sent}
    assert cms("views", "verify", "--json").json == {"complaints": []}
    assert not list((views / "spool").iterdir())
    (views / "counts" / "today.parquet").write_bytes(b"noise")
    change(cms, "views", "rebuild", "counts")
    assert {one["key"]: one["total"] for one in cms("views", "top", "--json").json} == {"/a": sent, "e": sent}


def test_counts_of_a_release_that_are_damaged_come_back_from_its_file(release: Release, cms: Cms) -> None:
    views = release.store / "site" / "views"
    release.python(WRITE.format(now=now_ms(), flush=True))
    (views / "counts" / "today.parquet").write_bytes(b"noise")
    change(cms, "views", "rebuild", "counts")
    change(cms, "views", "flush")
    assert {one["key"]: one["total"] for one in cms("views", "top", "--json").json} == {"/a": 2, "e": 2}
