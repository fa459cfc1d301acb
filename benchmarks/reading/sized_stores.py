"""Stores with any number of generated entries in two languages, made once and kept, for benchmarks of a real server.

The snapshot is that of ``engine_queries.py``, about 2 KB of text an entry, with the search index a build would write.
"""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC
from pathlib import Path

import pyarrow.parquet as pq
from msgspec.structs import replace

from benchmarks.reading.engine_queries import WORKSPACE, generate
from engine.access.keys.access import AccessFile, issue_key
from snapshots.columns import FileKind, indexed_fields
from snapshots.search.index import search_content, write_search_index
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.objects import ANY
from snapshots.store.store import Store, new_version, open_store

BUILT = 1_767_225_600_000
"""2026-01-01: before any run, so that every publishing period of the content has begun."""


def indexes(snapshot: Path, manifest: Manifest) -> list[DataFile]:
    """Write the search indexes beside the data files. Both languages say the same, so one's index is the other's."""
    made: list[DataFile] = []
    for file in manifest.files:
        api = manifest.workspace.api_by_uid(file.api)
        assert api is not None
        path = file.path.removesuffix(".parquet") + ".search.parquet"
        target = snapshot / path
        content = search_content(file.content)
        same = next((one for one in made if one.api == file.api), None)
        if same is not None:
            target.unlink(missing_ok=True)
            target.hardlink_to(snapshot / same.path)
            made.append(replace(same, path=path, lang=file.lang, content=content))
            continue
        if not target.exists():
            part = target.with_suffix(".part")
            write_search_index(snapshot / file.path, indexed_fields(api), part)
            part.rename(target)
        records = pq.ParquetFile(target).metadata.num_rows
        with target.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        size = target.stat().st_size
        made.append(DataFile(path, file.api, file.lang, FileKind.SEARCH, records, size, digest, content))
    return made


def sized_store(directory: Path, entries: int) -> tuple[Store, str]:
    """The store below ``directory`` with so many entries, made unless it is there, and the text of a key for it."""
    store, key = open_store(directory / "store"), directory / "key.txt"
    if key.exists():
        return store, key.read_text()
    shutil.rmtree(directory / "store", ignore_errors=True)
    data = directory / "data"  # finished files outlive an interrupted run
    manifest = generate(data, entries, BUILT)
    files = (*manifest.files, *indexes(data, manifest))
    workspace_store = store.workspace(WORKSPACE.id)
    with workspace_store.stage(new_version(BUILT, "0" * 64)) as staging:
        for file in files:
            (staging.directory / file.path).parent.mkdir(exist_ok=True)
            (staging.directory / file.path).hardlink_to(data / file.path)
        workspace_store.publish(staging, replace(manifest, version=staging.version, files=files))
    shutil.rmtree(data)
    workspace_store.activate(staging.version, expected=ANY, by="parquetry bench", now=BUILT)
    _, text = issue_key(
        AccessFile(workspace_store.directory),
        name="Bench",
        scope=None,
        now=BUILT,
        zone=UTC,
        validity="none",
        rate_limit=10**9,
    )
    key.write_text(text)
    return store, text
