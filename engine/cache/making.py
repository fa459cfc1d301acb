"""A version's data files → the three files of its cache: tables, bodies, search (design section 4)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from engine.cache.bodies import TOKEN_BYTES, BodiesWriter
from engine.cache.files import SnapshotUnusable
from engine.cache.materialise import MaterialiseSettings, Scratch
from engine.cache.search_file import is_indexed
from engine.cache.version_files import VersionFiles
from engine.cache.write_bodies import bodies_of
from engine.cache.write_search import SearchWriter
from engine.cache.write_tables import TablesMaker
from snapshots.columns import FileKind
from snapshots.model import Api
from snapshots.search.index import indexed_fields
from snapshots.store.manifest import Manifest


def make_files(snapshot_dir: Path, manifest: Manifest, scratch: Scratch, settings: MaterialiseSettings) -> None:
    """Write the DuckDB file, the bodies file and the search file of a version, which is verified. They are complete,
    and on the disk, when this returns. Raises ``SnapshotUnusable`` and ``OSError``."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": str(settings.threads),
        "memory_limit": settings.memory,
        "temp_directory": str(scratch.spill),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "arrow_large_buffer_size": "true",
    }
    files, token = VersionFiles(snapshot_dir, manifest), secrets.token_bytes(TOKEN_BYTES)
    try:
        with BodiesWriter(scratch.bodies, token) as bodies, SearchWriter(scratch.search, token) as search:
            _fill(partial(duckdb.connect, scratch.tables, config=config), files, bodies, search, token)
    except (duckdb.Error, pa.ArrowException, KeyError) as error:
        raise SnapshotUnusable(
            f"Version {manifest.version} cannot be opened: {str(error).rstrip('.')}. "
            "Build it again, or activate another version."
        ) from None


def _fill(
    connect: Callable[[], duckdb.DuckDBPyConnection],
    files: VersionFiles,
    bodies: BodiesWriter,
    search: SearchWriter,
    token: bytes,
) -> None:
    """Write all three files from one version's data files."""
    # Rows are inserted by one thread, to keep their order; copying the texts meanwhile is the others' work.
    with ThreadPoolExecutor(3) as pool:
        copying = pool.submit(_copy_bodies, files, bodies)
        reading = pool.submit(_write_texts, files, search)
        with connect() as connection:
            tables = TablesMaker(connection, files)
            tables.arrange()
            filled = reading.result()
            # Most is written by now: the disk gets it while the rest is worked out.
            settling = pool.submit(search.settle)
            searching = pool.submit(_write_search, files, search)
            tables.fill(filled)
            indexes = copying.result()
            tables.write_arrays(bodies)
            tables.finish(indexes, token, bodies.size)
        settling.result()
        searching.result()


def _copy_bodies(files: VersionFiles, bodies: BodiesWriter) -> dict[str, tuple[int, int]]:
    """Write the bodies of all APIs. Returns where those of each are, by ``uid``."""
    written = {api.uid: bodies.append(bodies_of(files, api)) for api in files.workspace.apis}
    bodies.settle()
    return written


def _write_texts(files: VersionFiles, search: SearchWriter) -> set[tuple[str, str, str]]:
    """The texts that searches may have to look at. Returns of which API's language and field every row has one."""
    return {
        (api.uid, lang, field)
        for api, lang, field, _, data, _ in _searched(files)
        if search.add_texts(api.uid, lang, field, data)
    }


def _write_search(files: VersionFiles, search: SearchWriter) -> None:
    """What terms are looked up in."""
    with ThreadPoolExecutor(2) as pool:
        sections = [(api.uid, lang, field, first, index) for api, lang, field, first, _, index in _searched(files)]
        for adding in [pool.submit(search.add, *section) for section in sections]:
            adding.result()


def _searched(files: VersionFiles) -> Iterator[tuple[Api, str, str, int, Path, Path]]:
    """(API, language, field, its first row, data file, index) for all that has an index."""
    for api in files.workspace.apis:
        first = 0
        for lang, file in files.of(api):
            index = files.manifest.file(api, lang, FileKind.SEARCH)
            if index is not None and is_indexed(files.manifest, api):
                for field in indexed_fields(api):
                    yield api, lang, field, first, files.path(file), files.path(index)
            first += file.rows
