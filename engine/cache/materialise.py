"""A snapshot's Parquet files → one DuckDB file in the cache, made once and shared by all readers (design section 4)."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from filelock import FileLock

from engine.cache.files import SnapshotUnusable
from engine.cache.places import bodies_file, search_file
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.verification import altered

_LOOK_SECONDS: Final = 0.01
"""How often who waits for another process looks whether that one is done."""


class MaterialiseSettings(msgspec.Struct, frozen=True):
    """What making the DuckDB file may use."""

    memory: str = "1GB"
    threads: int = 2


class Scratch(msgspec.Struct, frozen=True):
    """Where the three files in the making are, beside their destination, and what DuckDB spills."""

    tables: Path
    bodies: Path
    search: Path
    spill: Path


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
        with FileLock(place.with_name("making.lock"), poll_interval=_LOOK_SECONDS):
            if is_made():
                return
            for left in place.parent.glob(".*.making*"):
                _remove(left)
            with ThreadPoolExecutor(1) as pool:
                verifying = pool.submit(verify_files, snapshot_dir, manifest.files)
                # Loads Arrow, and what is made is opened without it.
                from engine.cache.making import make_files  # noqa: PLC0415 - as above

                verifying.result()
            with _scratch(place) as scratch:
                make_files(snapshot_dir, manifest, scratch, settings)
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


@contextmanager
def _scratch(place: Path) -> Iterator[Scratch]:
    """Paths for one run; what is still there at the end of the block goes away."""
    base = f".{place.stem}.making-{secrets.token_hex(4)}"
    scratch = Scratch(*(place.with_name(base + suffix) for suffix in (".duckdb", ".bodies", ".search", ".spill")))
    try:
        yield scratch
    finally:
        for left in place.parent.glob(f"{base}*"):
            _remove(left)
