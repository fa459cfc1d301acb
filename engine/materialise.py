"""A snapshot's Parquet files → one DuckDB file in the cache, made once and shared by all readers (design section 4)."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from filelock import FileLock

from engine.bodies import TOKEN_BYTES, BodiesWriter
from engine.body_rows import bodies_of
from engine.cache_file import SnapshotUnusable, bodies_file, search_file
from engine.making_tables import TablesMaker
from engine.search_file import is_indexed
from engine.search_writer import SearchWriter
from engine.version_files import VersionFiles
from snapshots.manifest import DataFile, FileKind, Manifest
from snapshots.model import Api
from snapshots.verification import altered


@dataclass(frozen=True, slots=True)
class MaterialiseSettings:
    """What making the DuckDB file may use."""

    memory: str = "1GB"
    threads: int = 2


def materialise(
    snapshot_dir: Path, manifest: Manifest, place: Path, settings: MaterialiseSettings, is_made: Callable[[], bool]
) -> None:
    """Verify every file of a version against the manifest, and make its DuckDB file at ``place``.

    Several processes may do so at once: one works, the others wait and find by ``is_made`` that there is nothing to
    do. A file that is made is complete; work that was cut off leaves only what the next run removes. Files of versions
    that the store no longer has are dropped. Raises ``SnapshotUnusable``.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(place.with_name("making.lock")):
            if is_made():
                return
            for left in place.parent.glob(".*.making*"):
                _remove(left)
            verify_files(snapshot_dir, manifest.files)
            with _scratch(place) as scratch:
                _make(snapshot_dir, manifest, scratch, settings)
                scratch.bodies.replace(bodies_file(place))
                scratch.search.replace(search_file(place))
                scratch.tables.replace(place)  # last: it names the bodies that belong to it
            _drop_pruned(place, snapshot_dir.parent)
    except OSError as error:
        raise SnapshotUnusable(
            f"The cache in {place.parent} cannot be written: {error}. Check its rights and space."
        ) from None


def verify_files(snapshot_dir: Path, files: Sequence[DataFile]) -> None:
    """Hold files against their recorded sizes and SHA-256. Raises ``SnapshotUnusable`` for the first that differs."""
    with ThreadPoolExecutor(2) as pool:
        for file, wrong in zip(files, pool.map(lambda f: altered(snapshot_dir / f.path, f), files), strict=True):
            if wrong is not None:
                raise SnapshotUnusable(
                    f"{snapshot_dir / file.path} {wrong}. Restore the file, or activate another version."
                )


def _drop_pruned(made: Path, snapshots: Path) -> None:
    """Remove the files of versions without a directory in ``snapshots``. Who has them open goes on reading them."""
    for place in made.parent.glob("*.duckdb"):
        if place != made and not (snapshots / place.stem).exists():
            _remove(place)
            _remove(bodies_file(place))
            _remove(search_file(place))


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Scratch:
    """Where the files in the making are, beside their destination, and what DuckDB spills."""

    tables: Path
    bodies: Path
    search: Path
    spill: Path


@contextmanager
def _scratch(place: Path) -> Iterator[_Scratch]:
    """Paths for one run; what is still there at the end of the block goes away."""
    base = f".{place.stem}.making-{secrets.token_hex(4)}"
    scratch = _Scratch(*(place.with_name(base + suffix) for suffix in (".duckdb", ".bodies", ".search", ".spill")))
    try:
        yield scratch
    finally:
        for left in place.parent.glob(f"{base}*"):
            _remove(left)


def _make(snapshot_dir: Path, manifest: Manifest, scratch: _Scratch, settings: MaterialiseSettings) -> None:
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": str(settings.threads),
        "memory_limit": settings.memory,
        "temp_directory": str(scratch.spill),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "arrow_large_buffer_size": "true",
    }
    import pyarrow as pa  # noqa: PLC0415 - heavy to import, and not needed to open what is made

    token = secrets.token_bytes(TOKEN_BYTES)
    try:
        with (
            BodiesWriter(scratch.bodies, token) as bodies,
            SearchWriter(scratch.search, token) as search,
            duckdb.connect(scratch.tables, config=config) as connection,
        ):
            _fill(connection, VersionFiles(snapshot_dir, manifest), bodies, search, token)
    except (duckdb.Error, pa.ArrowException, KeyError) as error:
        raise SnapshotUnusable(
            f"Version {manifest.version} cannot be opened: {str(error).rstrip('.')}. "
            "Build it again, or activate another version."
        ) from None


def _fill(
    connection: duckdb.DuckDBPyConnection, files: VersionFiles, bodies: BodiesWriter, search: SearchWriter, token: bytes
) -> None:
    """Write all three files from one version's data files."""
    tables = TablesMaker(connection, files)
    # Rows are inserted by one thread, to keep their order; copying the texts meanwhile is the others' work.
    with ThreadPoolExecutor(3) as pool:
        copying = pool.submit(_copy_bodies, files, bodies)
        reading = pool.submit(_write_texts, files, search)
        tables.arrange()
        filled = reading.result()
        # Most is written by now: the disk gets it while the rest is worked out.
        settling = pool.submit(search.settle)
        searching = pool.submit(_write_search, files, search)
        tables.fill(filled)
        indexes = copying.result()
        tables.write_arrays(bodies)
        settling.result()
        searching.result()
    tables.finish(indexes, token, bodies.size)


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
    from snapshots.search_index import indexed_fields  # noqa: PLC0415 - heavy, and not needed to open what is made

    for api in files.workspace.apis:
        first = 0
        for lang, file in files.of(api):
            index = files.manifest.file(api, lang, FileKind.SEARCH)
            if index is not None and is_indexed(files.manifest, api):
                for field in indexed_fields(api):
                    yield api, lang, field, first, files.path(file), files.path(index)
            first += file.rows
