"""Stores with any number of generated entries in two languages, made once and kept, for benchmarks of a real server.

The snapshot is that of ``engine_queries.py``, about 2 KB of text an entry, with the search index a build would write.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import shutil
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from engine_queries import WORKSPACE, generate

from engine.access import AccessFile, issue_key
from snapshots.manifest import DataFile, FileKind, Manifest
from snapshots.search_index import indexed_fields, search_content, write_search_index
from snapshots.store import ANY, Store, new_version, open_store

BUILT = 1_767_225_600_000
"""2026-01-01: before any run, so that every publishing period of the content has begun."""


def indexed(arguments: tuple[Path, Manifest, DataFile]) -> DataFile | None:
    """Write the search index of a data file beside it; None where its API has no text."""
    snapshot, manifest, file = arguments
    api = manifest.workspace.api_by_uid(file.api)
    assert api is not None
    fields = indexed_fields(api)
    if not fields:
        return None
    path = file.path.removesuffix(".parquet") + ".search.parquet"
    place = snapshot / path
    records = write_search_index(snapshot / file.path, fields, place)
    with place.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    size, content = place.stat().st_size, search_content(file.content)
    return DataFile(path, file.api, file.lang, FileKind.SEARCH, records, size, digest, content)


def sized_store(place: Path, entries: int) -> tuple[Store, str]:
    """The store below ``place`` with so many entries, made unless it is there, and the text of a key for it."""
    store, key = open_store(place / "store"), place / "key.txt"
    if key.exists():
        return store, key.read_text()
    shutil.rmtree(place, ignore_errors=True)
    workspace = store.workspace(WORKSPACE.id)
    with workspace.stage(new_version(BUILT, "0" * 64)) as staging:
        manifest = replace(generate(staging.directory, entries, BUILT), version=staging.version)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            indexes = pool.map(indexed, [(staging.directory, manifest, file) for file in manifest.files], 1)
        files = manifest.files + tuple(file for file in indexes if file is not None)
        workspace.publish(staging, replace(manifest, files=files))
    workspace.activate(staging.version, expected=ANY, by="parquetry bench", now=BUILT)
    _, text = issue_key(
        AccessFile(workspace.directory),
        name="Bench",
        scope=None,
        now=BUILT,
        zone=UTC,
        validity="none",
        rate_limit=10**9,
    )
    key.write_text(text)
    return store, text
