"""The parts of a version in the cache: made once from its verified data files, and shared by all readers (design 4)."""

from __future__ import annotations

import math
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import duckdb

from engine.read.files.parts import ApiParts, Part, VersionParts, every_part, names_of
from engine.read.files.paths import LAYOUTS, CachePaths
from engine.read.files.plain_path import plain_path
from engine.read.files.unusable import SnapshotUnusable
from engine.read.materialise.base_tables import Base, base_of
from engine.read.materialise.settings import MaterialiseSettings
from snapshots.store.durable import locked, sync_directory
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.verification import altered

_OLDER_FILES: Final = ("*.duckdb", "*.bodies", "*.search", ".*.making*")
"""Patterns of the files that layouts before the seventh had in a workspace's directory."""


Unfit: TypeAlias = tuple[Collection[Part], Collection[ApiParts]]
"""Parts that are not fit for use, and the APIs whose tables are not."""


def materialise(
    snapshot_dir: Path,
    manifest: Manifest,
    paths: CachePaths,
    parts: VersionParts,
    settings: MaterialiseSettings,
    unfit: Callable[[], Unfit],
) -> None:
    """Make the parts and tables of a version that are not fit for use, from files that are verified against the
    manifest, and list the version's.

    Several processes may do so at once: one works, the others wait and find by ``unfit`` that there is nothing to make.
    What is made is complete; work that was cut off leaves only what the next run removes. What no version of the store
    needs is dropped. Raises ``SnapshotUnusable``.
    """
    with _changing(paths):
        wanted = unfit()
        if any(wanted):
            _make(snapshot_dir, manifest, paths, wanted, settings)
        _list(paths, manifest.version, parts)
        _drop_unlisted(paths, snapshot_dir.parent, manifest.version)


def adopt(paths: CachePaths, made: Path, version: str, parts: VersionParts) -> None:
    """Take over parts that were made elsewhere: the directories in ``made``, on the same file system, each with the
    name of the part it is. With them, where none is missing any more, the version's parts are listed.

    Raises ``SnapshotUnusable`` where the cache cannot be written.
    """
    with _changing(paths):
        for directory in made.iterdir():
            target = paths.part(directory.name)
            if not directory.name.startswith(".") and not target.exists():
                directory.replace(target)
        sync_directory(paths.parts)
        if all(paths.part(part.name).exists() for part in every_part(parts)):
            _list(paths, version, parts)


def drop_pruned(paths: CachePaths, snapshots: Path) -> int:
    """Drop the parts that no version in ``snapshots`` needs. Returns the bytes freed. Raises ``SnapshotUnusable``
    where the cache cannot be written."""
    if not paths.layout.is_dir():
        return 0
    with _changing(paths):
        return _drop_unlisted(paths, snapshots)


def verify_files(snapshot_dir: Path, files: Sequence[DataFile]) -> None:
    """Compare files with their recorded sizes and SHA-256. Raises ``SnapshotUnusable`` for the first that differs."""
    with ThreadPoolExecutor(2) as pool:
        for file, wrong in zip(files, pool.map(lambda f: altered(snapshot_dir / f.path, f), files), strict=True):
            if wrong is not None:
                raise SnapshotUnusable(
                    f"{snapshot_dir / file.path} {wrong}. Restore the file, or activate another snapshot version."
                )


@contextmanager
def _changing(paths: CachePaths) -> Iterator[None]:
    """Hold the right to make and drop parts for the block; what killed runs and older layouts left is removed."""
    try:
        for directory in (paths.parts, paths.all_tables, paths.versions):
            directory.mkdir(parents=True, exist_ok=True)
        with locked(paths.lock, seconds=math.inf):
            for pattern in _OLDER_FILES:
                for left in paths.workspace.glob(pattern):
                    _remove(left)
            for layout in paths.workspace.glob(f"{LAYOUTS}*"):
                if layout != paths.layout:
                    _remove(layout)
            for left in paths.layout.glob(".*"):
                _remove(left)
            yield
    except OSError as error:
        raise SnapshotUnusable(
            f"The cache in {paths.workspace} cannot be written: {error}. Check its rights and space."
        ) from None


def _make(
    snapshot_dir: Path, manifest: Manifest, paths: CachePaths, wanted: Unfit, settings: MaterialiseSettings
) -> None:
    parts, tables = wanted
    bases = [(api, base_of(api, paths)) for api in tables]
    with ThreadPoolExecutor(1) as pool:
        verifying = pool.submit(verify_files, snapshot_dir, _files_read(parts, bases))
        from engine.read.materialise.making import making  # noqa: PLC0415 - Arrow takes 0.2 s, and made parts open without it

        verifying.result()
    # DuckDB writes into it, and misreads some paths.
    scratch = plain_path(paths.workspace) / paths.layout.name / f".making-{secrets.token_hex(4)}"
    try:
        scratch.mkdir()
        with making(snapshot_dir, manifest, scratch, settings) as maker:

            def make(name: str, target: Path, work: Callable[[Path], None]) -> None:
                made = scratch / name
                made.mkdir()
                work(made)
                sync_directory(made)
                _remove(target)
                made.replace(target)

            for part in parts:
                make(part.name, paths.part(part.name), partial(maker.make, part))
            for api, base in bases:
                work = partial(maker.make_tables, api, paths=paths)
                try:
                    make(api.name, paths.tables(api.name), partial(work, base=base))
                except duckdb.Error:  # the older tables are damaged
                    _remove(scratch / api.name)
                    verify_files(snapshot_dir, _files_read((), [(api, None)]))
                    make(api.name, paths.tables(api.name), partial(work, base=None))
        sync_directory(paths.parts)
        sync_directory(paths.all_tables)
    finally:
        _remove(scratch)


def _files_read(parts: Collection[Part], tables: Collection[tuple[ApiParts, Base | None]]) -> list[DataFile]:
    """Return the data files that parts, and tables with their bases, are made from, once each."""
    read = {
        one.data.path: one.data
        for api, base in tables
        for number, part in enumerate(api.parts)
        if base is None or number not in base.numbers.values()
        for one in part.files
    }
    for part in parts:
        for one in part.files:
            read[one.data.path] = one.data
            if one.index is not None:
                read[one.index.path] = one.index
    return list(read.values())


def _list(paths: CachePaths, version: str, parts: VersionParts) -> None:
    """Write the list of a version's parts and tables."""
    unfinished = paths.layout / f".{version}"
    unfinished.write_text("".join(f"{name}\n" for name in names_of(parts)))
    unfinished.replace(paths.version(version))


def _drop_unlisted(paths: CachePaths, snapshots: Path, opening: str | None = None) -> int:
    """Remove the lists of versions without a directory in ``snapshots``, but for the version that is being opened, and
    the parts that are in no list; processes that have them open go on reading. Returns the bytes freed."""
    freed = 0
    listed: set[str] = set()
    for version in paths.versions.iterdir():
        if version.name == opening or (snapshots / version.name).exists():
            listed.update(version.read_text().split())
        else:
            _remove(version)
    for made in (*paths.parts.iterdir(), *paths.all_tables.iterdir()):
        if made.name not in listed:
            freed += sum(file.stat().st_size for file in made.iterdir())
            _remove(made)
    return freed


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)
