"""Damage under a running server: never a wrong answer, a message for the operator, and the cache is mended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.read.files.paths import bodies_file, cache_paths, tables_file
from snapshots.build.build import build
from snapshots.store.manifest import MANIFEST
from snapshots.times import now_ms
from tests.sites.served_site import Site, eventually, serving

TITLE = "a title that is nowhere else"


def write_over(file: Path, change: Callable[[bytes], bytes]) -> None:
    """Change a file where it is: who has it mapped sees the change."""
    file.chmod(0o644)
    data = change(file.read_bytes())
    with file.open("r+b") as opened:
        opened.write(data)
        opened.truncate()


def test_a_flipped_bit_in_a_body_is_never_served_and_the_cache_is_mended(tmp_path: Path) -> None:
    site = Site(tmp_path)
    version = site.publish(TITLE)
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        made = cache_paths(site.store.cache, site.workspace).parts.iterdir()
        for part in [*made]:
            write_over(bodies_file(part), lambda data: data.replace(TITLE.encode(), TITLE.encode().swapcase()))
        answers = []

        def is_mended() -> bool:
            answers.append(server.get("/v1/acme/posts"))
            return answers[-1].status == 200

        eventually(is_mended)
        assert answers[0].status == 503
        assert [entry["title"] for entry in answers[-1].json["contents"]] == [TITLE] * 3
        assert answers[-1].headers["x-snapshot"] == version
        eventually(lambda: "is damaged. It is rebuilt." in server.log())
        assert "Traceback" not in server.log()


def test_a_flipped_bit_in_a_table_is_never_served_and_the_cache_is_mended(tmp_path: Path) -> None:
    site = Site(tmp_path, entries=1000)
    site.publish(TITLE)
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        for tables in [*cache_paths(site.store.cache, site.workspace).all_tables.iterdir()]:
            # The IDs, which are stored plain.
            write_over(tables_file(tables), lambda data: data.replace(b"post-9", b"post-8"))
        answers = []

        def is_mended() -> bool:
            answers.append(server.get("/v1/acme/posts?limit=1&filters=id[equals]post-999"))
            return answers[-1].status == 200

        eventually(is_mended)
        assert answers[0].status == 503
        assert answers[-1].json["totalCount"] == 1
        assert "Traceback" not in server.log()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"parquetry", b"\xff\xfe"),
        lambda data: data.replace(b'"files"', b'"life"'),
        lambda _: b"[]",
    ],
    ids=["cut off", "no text", "without files", "a list"],
)
def test_a_damaged_manifest_is_told_and_the_version_before_goes_on(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    site = Site(tmp_path)
    before = site.publish("one")
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        after = site.publish("two", activate=False)
        write_over(site.place.snapshots / after / MANIFEST, change)
        pointer = site.place.directory / "current"
        pointer.write_text(json.dumps({**json.loads(pointer.read_text()), "version": after}) + "\n")
        eventually(lambda: f"version {after} refused" in server.log())
        assert server.get("/v1/acme/posts").headers["x-snapshot"] == before
        eventually(lambda: "manifest" in server.log())
        assert "Traceback" not in server.log()


def test_damaged_drafts_fail_previews_alone(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    with (site.source / "content" / "posts.jsonl").open("a") as file:
        draft = {"id": "post-1", "draft": True, "draftKey": "open", "title": "Not yet", "createdAt": "2026-01-01"}
        file.write(json.dumps(draft) + "\n")
    version = build(site.source, site.store, now=now_ms()).version
    [drafts] = (site.place.snapshots / version).rglob("_drafts/*/*/*.parquet")
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        preview = "/v1/acme/posts/post-1?draftKey=open"
        whole = drafts.read_bytes()
        write_over(drafts, lambda data: data[:-20])
        assert server.get(preview).status == 503
        assert server.get("/v1/acme/posts/post-1").status == 200
        eventually(lambda: drafts.name in server.log())
        assert "Traceback" not in server.log()
        write_over(drafts, lambda _: whole)
        assert server.get(preview).json["title"] == "Not yet"
