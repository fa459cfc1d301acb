"""Make the files in the cache: of a part from its data files, of tables from all of an API (design section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb

from engine.database import Setting, open_database
from engine.read.files.array_file import ArrayFileWriter
from engine.read.files.parts import ApiParts, Part
from engine.read.files.paths import CachePaths, bodies_file, rows_file, search_file, tables_file, vocabulary_file
from engine.read.files.unusable import SnapshotUnusable
from engine.read.materialise.base_tables import Base
from engine.read.materialise.part_rows import PartRows
from engine.read.materialise.search_files.write_search import SearchWriter
from engine.read.materialise.search_files.write_vocabulary import write_vocabulary
from engine.read.materialise.settings import MaterialiseSettings
from engine.read.materialise.version_files import VersionFiles
from engine.read.materialise.write_bodies import BodiesWriter
from engine.read.materialise.write_tables import TablesWriter
from snapshots.columns import indexed_fields
from snapshots.store.manifest import Manifest


@contextmanager
def making(snapshot_dir: Path, manifest: Manifest, scratch: Path, settings: MaterialiseSettings) -> Iterator[Maker]:
    """Yield the maker of a version's parts, whose files are verified. ``scratch`` is a directory to spill to."""
    config: dict[str, Setting] = {
        "threads": str(settings.threads),
        "memory_limit": settings.memory,
        "temp_directory": str(scratch / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # A transaction that ends with a checkpoint goes to the file alone, not to the log of writes first.
        "checkpoint_threshold": "1KB",
    }
    files = VersionFiles(snapshot_dir, manifest)
    with open_database(config=config) as connection:
        yield Maker(files, TablesWriter(connection, files))


class Maker:
    """Makes parts and tables of one version, one after the other. What is made is complete, and on the disk."""

    def __init__(self, files: VersionFiles, tables: TablesWriter) -> None:
        self._files = files
        self._tables = tables

    def make(self, part: Part, directory: Path) -> None:
        """Write the files of a part into an empty directory. Raises ``SnapshotUnusable`` and ``OSError``."""
        token = part.token
        with (
            self._told(),
            BodiesWriter(bodies_file(directory), token) as bodies,
            SearchWriter(search_file(directory), token) as search,
        ):
            self._fill(part, bodies, search)

    def make_tables(self, api: ApiParts, directory: Path, paths: CachePaths, base: Base | None) -> None:
        """Write the files of an API's tables into an empty directory, from data files and the ``base``. All parts are
        in the cache. Raises as ``make``; where the base is damaged, ``duckdb.Error``."""
        with self._told(passing=duckdb.Error if base is not None else ()):
            places = self._tables.write(tables_file(directory), api, paths, base)
            with ArrayFileWriter(rows_file(directory), api.token) as rows:
                for name, values in places:
                    rows.append(name, values)
            if api.has_vocabulary:
                write_vocabulary(vocabulary_file(directory), api, paths, base)

    @contextmanager
    def _told(self, passing: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        try:
            yield
        except passing:
            raise
        except (SnapshotUnusable, OSError):
            raise
        except Exception as error:  # whatever files say that no build has checked
            reason = str(error).rstrip(".") or type(error).__name__
            raise SnapshotUnusable(
                f"Snapshot version {self._files.manifest.version} cannot be opened: {reason}. "
                "Build it again, or activate another snapshot version."
            ) from None

    def _fill(self, part: Part, bodies: BodiesWriter, search: SearchWriter) -> None:
        with ThreadPoolExecutor(3) as pool:
            copying = pool.submit(bodies.write, part.api, [self._files.path(one.data) for one in part.files])
            reading = pool.submit(self._write_texts, part, search)
            rows = PartRows(self._files, part)
            reading.result()
            # Most is written by now: syncing it goes on while the rest is computed.
            settling = pool.submit(search.settle)
            searching = pool.submit(self._write_search, part, search)
            for name, values in rows.arrays(*copying.result()):
                bodies.append(name, values)
            settling.result()
            searching.result()

    def _write_texts(self, part: Part, search: SearchWriter) -> None:
        """Write the indexed texts."""
        for one in part.files if part.is_indexed else ():
            for field in indexed_fields(part.api):
                search.add_texts(one.lang, field, self._files.path(one.data))

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
