"""Make the three files of a part in the cache from its data files: tables, bodies, search (design section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb

from engine.read.files.parts import Part
from engine.read.files.paths import bodies_file, search_file, tables_file
from engine.read.files.unusable import SnapshotUnusable
from engine.read.materialise.part_rows import PartRows
from engine.read.materialise.settings import MaterialiseSettings
from engine.read.materialise.version_files import VersionFiles
from engine.read.materialise.write_bodies import BodiesWriter
from engine.read.materialise.write_search import SearchWriter
from engine.read.materialise.write_tables import TablesWriter
from snapshots.columns import indexed_fields
from snapshots.store.manifest import Manifest


@contextmanager
def making(snapshot_dir: Path, manifest: Manifest, scratch: Path, settings: MaterialiseSettings) -> Iterator[PartMaker]:
    """Yield the maker of a version's parts, whose files are verified. ``scratch`` is a directory to spill to."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": str(settings.threads),
        "memory_limit": settings.memory,
        "temp_directory": str(scratch / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # A transaction that ends with a checkpoint goes to the file alone, not to the log of writes first.
        "checkpoint_threshold": "1KB",
    }
    files = VersionFiles(snapshot_dir, manifest)
    with duckdb.connect(":memory:", config=config) as connection:
        yield PartMaker(files, TablesWriter(connection, files))


class PartMaker:
    """Makes parts of one version, one after the other."""

    def __init__(self, files: VersionFiles, tables: TablesWriter) -> None:
        self._files = files
        self._tables = tables

    def make(self, part: Part, directory: Path) -> None:
        """Write the files of a part into an empty directory. They are complete, and on the disk, when this returns.
        Raises ``SnapshotUnusable`` and ``OSError``."""
        token = part.token
        try:
            with (
                BodiesWriter(bodies_file(directory), token) as bodies,
                SearchWriter(search_file(directory), token) as search,
            ):
                self._fill(part, tables_file(directory), bodies, search)
        except (SnapshotUnusable, OSError):
            raise
        except Exception as error:  # whatever files say that no build has checked
            reason = str(error).rstrip(".") or type(error).__name__
            raise SnapshotUnusable(
                f"Snapshot version {self._files.manifest.version} cannot be opened: {reason}. "
                "Build it again, or activate another snapshot version."
            ) from None

    def _fill(self, part: Part, tables: Path, bodies: BodiesWriter, search: SearchWriter) -> None:
        # One thread inserts the rows, which keeps their order; the others copy the texts meanwhile.
        with ThreadPoolExecutor(3) as pool:
            copying = pool.submit(bodies.write, part.api, [self._files.path(one.data) for one in part.files])
            reading = pool.submit(self._write_texts, part, search)
            rows = PartRows(self._files, part)
            filled = reading.result()
            # Most is written by now: syncing it goes on while the rest is computed.
            settling = pool.submit(search.settle)
            searching = pool.submit(self._write_search, part, search)
            self._tables.write(tables, part, filled)
            copying.result()
            for name, values in rows.arrays():
                bodies.append(name, values)
            settling.result()
            searching.result()

    def _write_texts(self, part: Part, search: SearchWriter) -> set[tuple[str, str]]:
        """Write the indexed texts. Returns the (language, field) pairs in which every row has a text."""
        return {
            (one.lang, field)
            for one in part.files
            if one.index is not None
            for field in indexed_fields(part.api)
            if search.add_texts(one.lang, field, self._files.path(one.data))
        }

    def _write_search(self, part: Part, search: SearchWriter) -> None:
        """Write the search index of the texts."""
        with ThreadPoolExecutor(2) as pool:
            adding = [
                pool.submit(search.add, one.lang, field, self._files.path(one.index))
                for one in part.files
                if one.index is not None
                for field in indexed_fields(part.api)
            ]
            for added in adding:
                added.result()
