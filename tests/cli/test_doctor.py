"""``cms doctor``: each of its findings is caused here, and is gone when the cause is."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.administration.heartbeats import ReadingServer, encode_reader, reader_key
from engine.backup.newest import Saved, newest_backup, note_saved
from snapshots.store.objects import ANY
from snapshots.store.store import WorkspaceStore, open_store
from snapshots.times import now_ms
from tests.programs.command_line import Cms
from tests.servers.ports import free_port
from tests.sites.served_site import eventually
from tests.stores.small_disk import fill, small_disk

DAY = 86_400_000
NOBODY = 65534
FROZEN = Path(__file__).parents[1] / "frozen"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to give files away")

Found = Callable[..., dict[str, list[str]]]


@pytest.fixture
def place(cms_in_copy: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkspaceStore:
    """A workspace in a store with nothing wrong, in which the command runs."""
    for name in [name for name in os.environ if name.startswith("CMS_")]:
        monkeypatch.delenv(name)
    programs = tmp_path / "programs"
    programs.mkdir()
    clock = programs / "timedatectl"
    clock.write_text("#!/bin/sh\ncat '" + str(tmp_path / "synchronized") + "'\n")
    clock.chmod(0o755)
    (tmp_path / "synchronized").write_text("yes\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CMS_METRICS", f"127.0.0.1:{free_port()}")
    assert cms_in_copy("key", "create", "web").status == 0
    (tmp_path / ".cms").chmod(0o700)
    assert cms_in_copy("backup", tmp_path / "backups").status == 0
    return open_store(tmp_path / ".cms").workspace("site")


@pytest.fixture
def found(cms_in_copy: Cms) -> Found:
    """What is found, by severity: sentences that begin with their subject; but for Prometheus, which is not there."""

    def look(*arguments: str | Path) -> dict[str, list[str]]:
        ran = cms_in_copy("doctor", "--json", *arguments)
        told: dict[str, list[str]] = {"problem": [], "hint": []}
        for one in ran.json["findings"]:
            assert one["why"].endswith(".")
            assert one["command"]
            if "Prometheus cannot be asked at http://127.0.0.1:9090" not in one["what"]:
                told[one["severity"]].append(f"{one['subject']}: {one['what']}")
        assert ran.status == int(bool(told["problem"]))
        assert ran.json["ok"] is (not told["problem"])
        return told

    return look


WELL: dict[str, list[str]] = {"problem": [], "hint": []}


def only(told: dict[str, list[str]], severity: str, beginning: str) -> str:
    """The one sentence that was told."""
    other = {"problem": "hint", "hint": "problem"}[severity]
    assert told[other] == []
    [sentence] = told[severity]
    assert sentence.startswith(beginning), sentence
    return sentence


def test_nothing_is_wrong(cms_in_copy: Cms, place: WorkspaceStore, found: Found) -> None:
    assert found() == WELL
    ran = cms_in_copy("doctor")
    assert ran.status == 0
    assert "owner and rights, git, clock, disk, proxy, alerts, backup, versions." in ran.out
    told = cms_in_copy("doctor", "--json").json
    assert (told["ok"], len(told["looks"])) == (True, 8)


def test_a_problem_is_told_with_its_reason_and_what_mends_it(cms_in_copy: Cms, place: WorkspaceStore) -> None:
    (place.directory / "access.json").chmod(0o644)
    ran = cms_in_copy("doctor")
    assert ran.status == 1
    lines = ran.out.splitlines()
    assert lines[0] == "owner and rights: site/access.json can be read by others than its owner."
    assert lines[1].startswith("  It holds the secrets of draft keys")
    assert lines[2] == f"  $ chmod 600 {place.directory / 'access.json'}"
    assert lines[-1].startswith("1 problem, ")
    subprocess.run(["sh", "-c", lines[2].removeprefix("  $ ")], check=True)
    assert cms_in_copy("doctor").status == 0


def test_a_store_that_is_not_there(cms_in_copy: Cms, place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    assert only(found("--store", tmp_path / "none"), "problem", "owner and rights: There is no store at ")
    assert not (tmp_path / "none").exists()
    assert "holds no workspace" in only(found("--store", tmp_path / "backups"), "hint", "versions: ")


@as_root
def test_files_of_another_user(place: WorkspaceStore, found: Found, cms_in_copy: Cms) -> None:
    [version] = place.versions()
    manifest = place.snapshots / version / "manifest.json"
    os.chown(manifest, NOBODY, NOBODY)
    assert "snapshots/" in only(found(), "problem", "owner and rights: 1 file in the store belong to another user")
    command = cms_in_copy("doctor", "--json").json["findings"][0]["command"]
    subprocess.run(["sh", "-c", command], check=True)
    assert found() == WELL


def test_a_store_that_everybody_can_look_into(place: WorkspaceStore, found: Found) -> None:
    place.directory.parent.chmod(0o755)
    assert only(found(), "hint", "owner and rights: Every user of this machine can look into the store.")


@as_root
def test_another_user_than_the_store_s(place: WorkspaceStore, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert only(found(), "hint", "owner and rights: This command runs as nobody, and the store belongs to root.")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Mika", "-c", "user.email=mika@example.com", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
    )


def test_git(place: WorkspaceStore, found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init")
    git(tmp_path, "add", "workspace.yaml", "apis", "content")
    git(tmp_path, "commit", "-m", "one")
    assert found() == WELL
    for text in ("two", "three"):
        (tmp_path / "content" / "more.txt").write_text(text)
        git(tmp_path, "add", "content")
        git(tmp_path, "commit", "-m", text)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--depth", "1", f"file://{tmp_path}", str(clone))
    monkeypatch.chdir(clone)
    at = ("--store", tmp_path / ".cms")
    assert "is a shallow clone" in only(found(*at), "problem", "git: ")
    monkeypatch.chdir(tmp_path)
    if os.geteuid() == 0:
        os.chown(tmp_path / ".git", NOBODY, NOBODY)
        os.chown(tmp_path, NOBODY, NOBODY)
        assert only(found(), "problem", "git: ")
        os.chown(tmp_path / ".git", 0, 0)
        os.chown(tmp_path, 0, 0)
    programs = tmp_path / "programs"
    monkeypatch.setenv("PATH", str(programs))
    (programs / "cat").symlink_to("/bin/cat")
    assert only(found(), "problem", "git: git is not installed here.")


def test_the_clock(place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    (tmp_path / "synchronized").write_text("no\n")
    assert only(found(), "hint", "clock: Nothing keeps the clock of this machine right.")
    (tmp_path / "synchronized").write_text("yes\n")
    [version] = place.versions()
    (place.directory / "current").unlink()
    place.activate(version, expected=ANY, by="mika@web-1", now=now_ms() + 3_600_000)
    told = only(found(), "problem", f"clock: {version} of site became current at ")
    assert "this clock is behind, or that of mika@web-1 was ahead." in told


@pytest.mark.slow
def test_room_on_the_disk(place: WorkspaceStore, found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", 8 << 20) as disk:
        shutil.copytree(tmp_path / ".cms", disk / "store")
        (disk / "store").chmod(0o700)
        at = ("--store", disk / "store")
        assert found(*at) == WELL
        filler = fill(disk)
        assert "left of 8.4 MB" in only(found(*at), "problem", "disk: The disk of the store has ")
        filler.unlink()
        today = time.strftime("%Y-%m-%d", time.gmtime())
        rows = disk / "store" / "site" / "views" / f"day={today}" / "00000001.parquet"
        rows.parent.mkdir(parents=True)
        rows.write_bytes(b"x" * (3 << 20))
        assert "most of it page views: the disk is full in " in only(found(*at), "problem", "disk: The store has grown")
        monkeypatch.setenv("CMS_VIEWS_RETENTION_DAYS", "90")
        assert found(*at) == WELL
        rows.unlink()
        used = os.statvfs(disk).f_files - os.statvfs(disk).f_ffree
        subprocess.run(["mount", "-o", f"remount,nr_inodes={used + 1}", str(disk)], check=True)
        assert "has place for 1 more files" in only(found(*at), "problem", "disk: The disk of the store")
        subprocess.run(["mount", "-o", "remount,nr_inodes=0", str(disk)], check=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert "cannot be written to" in "".join(found(*at)["problem"])


def test_many_versions(place: WorkspaceStore, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        folder = place.snapshots / f"2025010{number % 9 + 1}T0000000{number:02}Z-00000000"
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
    assert only(found(), "hint", "disk: site has 51 snapshot versions, and CMS_KEEP_VERSIONS is not set here.")
    monkeypatch.setenv("CMS_KEEP_VERSIONS", "30")
    assert found() == WELL


def test_the_proxy(place: WorkspaceStore, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMS_PUBLIC_URL", "https://content.example.com")
    assert "and no proxy is trusted" in only(found(), "problem", "proxy: Browsers reach the server by ")
    monkeypatch.setenv("CMS_TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")
    assert found() == WELL
    monkeypatch.setenv("CMS_TRUSTED_PROXIES", "0.0.0.0/0")
    assert only(found(), "problem", "proxy: CMS_TRUSTED_PROXIES trusts everybody in 0.0.0.0/0.")
    monkeypatch.setenv("CMS_TRUSTED_PROXIES", "127.0.0.1")
    monkeypatch.setenv("CMS_PUBLIC_URL", "http://content.example.com")
    assert only(found(), "hint", "proxy: CMS_PUBLIC_URL, http://content.example.com, is not https.")
    monkeypatch.delenv("CMS_PUBLIC_URL")
    monkeypatch.delenv("CMS_TRUSTED_PROXIES")
    monkeypatch.setenv("CMS_HOST", "0.0.0.0")
    assert only(found(), "hint", "proxy: The server listens at 0.0.0.0, and no proxy is trusted.")


def test_alerts_that_nobody_can_have(place: WorkspaceStore, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    told = only(found("--prometheus", f"http://127.0.0.1:{port}"), "problem", "alerts: Prometheus cannot be asked at ")
    assert str(port) in told
    monkeypatch.delenv("CMS_METRICS")
    assert only(found(), "hint", "alerts: The server has no metrics.")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus on this machine")
def test_alerts_of_a_real_prometheus(
    place: WorkspaceStore, found: Found, tmp_path: Path, cms_in_copy: Cms, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, port = free_port(), free_port()
    monkeypatch.setenv("CMS_METRICS", f"127.0.0.1:{metrics}")
    settings = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(tmp_path / "rules.yml")],
        "scrape_configs": [{"job_name": "parquetry", "static_configs": [{"targets": [f"127.0.0.1:{metrics}"]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps({**settings, "scrape_configs": []}))
    at = ("--prometheus", f"http://127.0.0.1:{port}")
    arguments = [f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    program = ["prometheus", *arguments, f"--web.listen-address=127.0.0.1:{port}", "--web.enable-lifecycle"]
    served = [shutil.which("python3") or "python3", "-m", "http.server", "--bind", "127.0.0.1", str(metrics)]
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "metrics").write_text("up_to_date 1\n")
    with subprocess.Popen(program, stderr=subprocess.DEVNULL) as prometheus:
        try:
            eventually(lambda: "cannot be asked" not in "".join(found(*at)["problem"]))
            told = found(*at)["problem"]
            assert [one.partition(" the ")[0] for one in told] == [
                "alerts: Prometheus does not have",
                "alerts: Prometheus does not read",
            ]
            command = cms_in_copy("doctor", "--json", *at).json["findings"][0]["command"]
            assert " -m server.states.rules > " in command
            rules = Path(__file__).parents[2] / "deploy" / "alerts.yml"
            shutil.copy(rules, tmp_path / "rules.yml")
            (tmp_path / "prometheus.yml").write_text(json.dumps(settings))
            prometheus.send_signal(1)
            eventually(lambda: "cannot read the metrics" in "".join(found(*at)["problem"]))
            assert len(found(*at)["problem"]) == 1
            with subprocess.Popen(served, cwd=tmp_path / "page", stderr=subprocess.DEVNULL) as server:
                try:
                    eventually(lambda: found(*at) == WELL)
                finally:
                    server.terminate()
        finally:
            prometheus.terminate()


def test_backups(place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    store = open_store(tmp_path / ".cms")
    newest = newest_backup(store.objects)
    assert newest is not None

    def note(**changed: object) -> None:
        told = {"name": newest.name, "place": newest.place, "begun_at": newest.begun_at, "complaints": 0, **changed}
        note_saved(store.objects, Saved(**told))  # type: ignore[arg-type]

    note(begun_at=now_ms() - 3 * DAY)
    assert "is 3 days old" in only(found(), "problem", f"backup: The newest backup, {newest.name}, ")
    note(complaints=2)
    assert only(
        found(), "problem", f"backup: The newest backup, {newest.name}, lacks what was damaged in the store (2)."
    )
    note()
    [listed] = (tmp_path / "backups" / "backups").glob("*.json")
    data = listed.read_bytes()
    listed.write_bytes(data[:-9])
    assert only(found(), "problem", "backup: The newest backup cannot be read: ")
    shutil.rmtree(tmp_path / "backups")
    assert "is not in" in only(found(), "problem", "backup: ")
    shutil.rmtree(store.root / "_backups")
    assert only(found(), "problem", "backup: There is no backup of the store.")


def test_versions_of_program_and_formats(place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    store = open_store(tmp_path / ".cms")
    other = encode_reader(ReadingServer("web-1", "parquetry 0.9", ()))
    store.objects.replace(reader_key("one"), other, ANY)
    assert only(found(), "hint", "versions: The server on web-1 is parquetry 0.9, and this program parquetry 1")
    store.objects.delete([reader_key("one")])
    for name, written, told in (
        ("access.json", b'{"format": 99}', "newer than this program reads"),
        ("current", b"{", "is damaged"),
        ("current", None, "No snapshot version of site is current."),
    ):
        path = place.directory / name
        kept = path.read_bytes()
        path.unlink()
        if written is not None:
            path.write_bytes(written)
            path.chmod(0o600)
        assert told in only(found(), "problem", "versions: "), name
        path.write_bytes(kept)
        path.chmod(0o600)
    assert found() == WELL
    [version] = place.versions()
    data = next((place.snapshots / version).rglob("*.parquet"))
    data.rename(tmp_path / "kept")
    assert "is damaged: " in only(found(), "problem", f"versions: The current snapshot version of site, {version}, ")
    (tmp_path / "kept").rename(data)
    manifest = place.snapshots / version / "manifest.json"
    kept = manifest.read_bytes()
    mode = stat.S_IMODE(manifest.stat().st_mode)
    manifest.chmod(0o600)
    manifest.write_bytes(kept.replace(b'"full"', b'"fuII"') + b" ")
    assert "it was altered" in only(found(), "problem", "versions: ")
    manifest.write_bytes(kept)
    manifest.chmod(mode)
    assert found() == WELL


def test_an_older_format(place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    shutil.copytree(FROZEN / "format-3", tmp_path / "older")
    (tmp_path / "older").chmod(0o700)
    told = found("--store", tmp_path / "older")
    assert any("has format 3; this program writes " in one for one in told["hint"])


def test_what_cannot_be_looked_at(place: WorkspaceStore, found: Found, tmp_path: Path) -> None:
    (tmp_path / ".cms" / "_readers").write_text("in the way")
    assert only(found(), "problem", "versions: This could not be looked at: cannot read ")


@pytest.mark.slow
def test_a_store_that_does_not_answer(place: WorkspaceStore, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    told = found("--store", f"s3+http://127.0.0.1:{free_port()}/bucket/store")
    assert "gives no usable answer" in only(told, "problem", "store: The store cannot be read: ")


def test_a_setting_that_cannot_be_used(
    cms_in_copy: Cms, place: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMS_WORKERS", "many")
    ran = cms_in_copy("doctor")
    assert (ran.status, "CMS_WORKERS" in ran.err) == (1, True)
