"""Stores with any number of generated entries in two languages, made once and kept, for benchmarks of a real server.

The snapshot is that of ``engine_queries.py``, about 2 KB of text an entry, with the search index a build would write.
"""

from __future__ import annotations

import shutil
from datetime import UTC
from pathlib import Path

from msgspec.structs import replace

from benchmarks.reading.engine_queries import WORKSPACE, generate
from benchmarks.reading.segmented import write_indexes
from engine.access.keys.access import AccessFile, issue_key
from snapshots.store.objects import ANY
from snapshots.store.store import Store, new_version, open_store

BUILT = 1_767_225_600_000
"""2026-01-01: before any run, so that every publishing period of the content has begun."""


def sized_store(directory: Path, entries: int) -> tuple[Store, str]:
    """The store below ``directory`` with so many entries, made unless it is there, and the text of a key for it."""
    store, key = open_store(directory / "store"), directory / "key.txt"
    if key.exists():
        return store, key.read_text()
    shutil.rmtree(directory / "store", ignore_errors=True)
    data = directory / "data"  # finished files outlive an interrupted run
    manifest = generate(data, entries, BUILT)
    files = (*manifest.files, *write_indexes(data, manifest))
    workspace_store = store.workspace(WORKSPACE.id)
    with workspace_store.stage(new_version(BUILT, "0" * 64)) as staging:
        for file in files:
            (staging.directory / file.path).parent.mkdir(parents=True, exist_ok=True)
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
