"""The rows and counts in a bucket → the analysts' file on a machine of their own, which grows with every pull."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from engine.views.collecting.spool import View
from engine.views.collecting.targets import day_of
from engine.views.counting import analysts_file, count_files
from engine.views.counting.analysts_file import Batch
from engine.views.counting.count_files import CountState
from engine.views.counting.titles import live_titles
from engine.views.counting.writer import VIEWS
from engine.views.gathering.layout import day_and_number
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import views_in_rows
from snapshots.problems import ParquetryError
from snapshots.store.objects import Objects
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import duckdb

_FILES: Final = "files of rows"
"""The name in the table ``segments`` behind which the number of the last file is."""
_ROWS_AT_ONCE: Final = 100_000
_READ_AT_ONCE: Final = 64
"""Files that are read before their rows are added."""
_THREADS: Final = 8


class NotPulled(ParquetryError):
    """The file has the views of something else."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """The result of a pull."""

    rows: int
    """Raw rows that are new in the file."""
    total: int
    """Raw rows in it."""


def pull_views(
    store: WorkspaceStore, file: Path, now: int, tell: Callable[[str, int, int], None] | None = None
) -> Pulled:
    """Bring an analysts' file up to what a bucket has of a workspace; one that is not there is made.

    Rows that it has are not asked for again, and one that was cut off goes on where it ended. ``now`` (UTC
    milliseconds) decides which entries are live; ``tell`` is called as ``cli.output.progress`` has it. Raises
    ``FileBusy``, ``FileDamaged``, ``NotPulled``, ``StoreError`` and ``CountsDamaged``.
    """
    tell = tell or (lambda _what, _done, _total: None)
    objects, workspace = store.objects, store.id
    named = f"{objects.location} {workspace}"
    with TemporaryDirectory(prefix="cms-views-") as folder:
        counts = PulledCounts(objects, workspace, Path(folder))
        counts.refresh()
        with analysts_file.opened(file.parent, name=file.name) as connection:
            _check(connection, file, named)
            rows = _add_rows(connection, objects, workspace, counts.state, tell)
            analysts_file.replace_counts(connection, count_files.all_rows(Path(folder), counts.state), [], {})
            if counts.state.filing.kept_from:
                analysts_file.keep_from(connection, day_of(counts.state.filing.kept_from))
            tell("reading the entries' titles", 0, 0)
            _title(connection, store, now)
            [(total,)] = connection.execute("SELECT count(*) FROM page_views").fetchall()
    return Pulled(rows, total)


def filed_rows(objects: Objects, workspace: str, after: int, state: CountState) -> Iterator[tuple[int, list[View]]]:
    """The number and the rows of each filing after number ``after``, in order, of those that are finished.

    A file that was dropped meanwhile, as old ones are, has no rows. Raises ``StoreError``, and pyarrow's errors.
    """
    filing = state.filing
    last = filing.number if filing.claim is None else filing.claim.number - 1
    found = [(day_and_number(one.key), one.key) for one in objects.names(f"{workspace}/{VIEWS}")]
    wanted = sorted((place[1], key) for place, key in found if place is not None and after < place[1] <= last)

    def read(one: tuple[int, str]) -> tuple[int, list[View]]:
        content = objects.read(one[1])
        return one[0], [] if content is None else views_in_rows(content.data)

    def each() -> Iterator[tuple[int, list[View]]]:
        with ThreadPoolExecutor(_THREADS) as threads:
            for first in range(0, len(wanted), _READ_AT_ONCE):
                yield from threads.map(read, wanted[first : first + _READ_AT_ONCE])

    for number, files in groupby(each(), lambda one: one[0]):
        yield number, [view for _, views in files for view in views]


def _check(connection: duckdb.DuckDBPyConnection, file: Path, named: str) -> None:
    source, through = analysts_file.source(connection), analysts_file.through(connection)
    if source != named and (source is not None or through):
        has = f"was pulled from {source}" if source else "is the file of a server"
        raise NotPulled(f"{file} {has}, and not from {named}. Name another file.")
    if source is None:
        analysts_file.note_source(connection, named)


def _add_rows(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    workspace: str,
    state: CountState,
    tell: Callable[[str, int, int], None],
) -> int:
    added = 0
    waiting: list[View] = []
    last = analysts_file.through(connection).get(_FILES, 0)
    numbers = state.filing.number - last

    def write(number: int) -> None:
        nonlocal added
        analysts_file.add_rows(connection, Batch(waiting, {_FILES: number}))
        added += len(waiting)
        waiting.clear()

    number = last
    for number, views in filed_rows(objects, workspace, last, state):
        tell(f"{added + len(waiting):,} views", number - last, numbers)
        waiting += views
        if len(waiting) >= _ROWS_AT_ONCE:
            write(number)
    write(number)
    return added


def _title(connection: duckdb.DuckDBPyConnection, store: WorkspaceStore, now: int) -> None:
    current = store.current()
    if current is not None:
        titles, _ = live_titles(store, store.manifest(current.version), now)
        analysts_file.replace_titles(connection, titles, current.version)
