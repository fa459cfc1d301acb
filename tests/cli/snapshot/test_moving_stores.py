"""The commands by which the guide for several machines backs a store up and moves it, typed in as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind
from engine.views.gathering.writer import ViewWriter
from engine.webhooks.webhooks_file import WEBHOOKS
from snapshots.store.locations import open_objects
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import CMS
from tests.project.test_docs import page
from tests.sites.bucket_site import serving_bucket
from tests.sites.served_site import Running, Site, eventually
from tests.sites.viewed_site import site_with_domains, total
from tests.stores.object_stores import BUCKET, ObjectStore, object_store

GUIDE = "several-machines.md"
STORE, LOCAL, BACKUP = "s3://example-content/store", "/var/lib/parquetry/store", "/mnt/backup/store"
VIEWS = 3
OTHERS = (WEBHOOKS, "audit/2026-11.ndjson")
"""What else people have made."""


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    if shutil.which("aws") is None:
        pytest.skip("aws, the command line of Amazon's services, is not installed: pip install awscli")
    with object_store("any") as running:
        yield running


@pytest.fixture
def place(server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in a bucket, spelled as that of Amazon's."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "programs"))
    monkeypatch.chdir(tmp_path)
    return f"s3://{BUCKET}/{server.place().rpartition('/')[2]}"


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Site, str]:
    """A site whose store is in a directory, with a key, a webhook, an audit log and views: (the site, the key)."""
    (tmp_path / "before").mkdir()
    site = site_with_domains(tmp_path / "before")
    _, key = site.key()
    for name in OTHERS:
        path = site.place.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
    views = site.place.directory / "views"
    spool = SpoolWriter(views, now_ms())
    spool.append(*[View(now_ms(), Kind.PATH, "/a", "acme.example")] * VIEWS)
    spool.close()
    ViewWriter(views).round(now_ms(), 0.0, flush=True)
    return site, key


def commands(heading: str) -> list[str]:
    """The commands in a section of the guide that name a store."""
    section = page(GUIDE).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(
        r"(?:`|^)((?:cms snapshot pu|cms backup |aws s3 sync )[^`#]*?)(?:`|\s+#|$(?!\n   ))", section, re.MULTILINE
    )
    return [" ".join(one.split()) for one in found if STORE in one or BACKUP in one]


def type_in(command: str, place: str, local: Path) -> None:
    program = " ".join(f"'{part}'" for part in CMS)
    aws = f"aws --endpoint-url {os.environ['AWS_ENDPOINT_URL_S3']} "  # which older ones do not read
    typed = command.replace(STORE, place).replace(LOCAL, str(local))
    typed = re.sub(r"^cms ", f"{program} ", re.sub(r"^aws ", aws, typed))
    ran = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"


def check_served(reader: Running, key: str) -> None:
    """The content, the key and the counts of before are there."""
    reader.headers["X-API-KEY"] = key
    eventually(lambda: reader.get("/v1/acme/posts").status == 200)
    assert {one["title"] for one in reader.get("/v1/acme/posts").json["contents"]} == {"one"}
    eventually(lambda: total(reader, "paths", "/a") == VIEWS, within=60)


@pytest.mark.slow
def test_a_store_moves_from_a_directory_into_a_bucket(moved: tuple[Site, str], place: str, tmp_path: Path) -> None:
    site, key = moved
    to_bucket = [one for one in commands("Moving in and out") if "pull" not in one]
    assert [one.split()[0] for one in to_bucket] == ["cms", "aws"]
    for command in to_bucket:
        type_in(command, place, site.store.root)
    objects = open_objects(place)
    assert all(objects.read(f"acme/{name}") for name in OTHERS)
    with serving_bucket(place, tmp_path / "reader") as reader:
        check_served(reader, key)


@pytest.mark.slow
def test_a_store_moves_out_of_a_bucket_and_its_backup_is_a_store(
    moved: tuple[Site, str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = moved
    for command in commands("Moving in and out")[:2]:
        type_in(command, place, site.store.root)
    [*_, pull] = commands("Moving in and out")
    assert pull.startswith("cms snapshot pull ")
    type_in(pull, place, tmp_path / "back")
    version = site.place.versions()[0]
    back = open_store(tmp_path / "back").workspace("acme")
    assert (back.current().version, back.verify(version)) == (version, [])  # type: ignore[union-attr]
    monkeypatch.setenv("CMS_STORE", place)
    [backup] = commands("Backup")
    saved, restored = tmp_path / "saved", tmp_path / "restored"
    type_in(backup.replace(BACKUP, str(saved)), place, tmp_path)
    type_in(f"cms restore {saved} --store {restored}", place, tmp_path)
    kept = open_store(restored).workspace("acme")
    assert (kept.current().version, kept.verify(version)) == (version, [])  # type: ignore[union-attr]
    access = (restored / "acme" / "access.json").read_bytes()
    assert access == (site.place.directory / "access.json").read_bytes()
    assert (restored / "acme" / "views" / "counts" / "today.parquet").is_file()
