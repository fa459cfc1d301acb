"""A snapshot version, opened: runs statements over it and counts what is visible (design section 4)."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import msgspec

from engine.cache.bodies import Bodies
from engine.cache.files import Cached, CacheUnfit, SnapshotUnusable, open_cached
from engine.cache.materialise import MaterialiseSettings, materialise, verify_files
from engine.cache.places import cache_file
from engine.cache.search_file import SearchFile
from engine.cache.tables import VIEW_TOTALS, VIEWS_DATABASE
from engine.page_views.counting.sorted_texts import SortedTexts
from engine.page_views.counting.totals import NO_VIEWS, ViewTotals
from engine.query.plan import ListPlan, Visibility
from engine.query.sql import Statement, epoch_statement, ids_statement, row_ids_statement, visible_statement
from engine.reader.matches import Matches, Searches
from engine.reader.rows import Positions
from engine.reader.value_orders import SortKey
from engine.reader.values import FieldValues
from engine.reader.view_orders import Array, ViewedRows, by_totals
from engine.reader.watchdog import Watchdog
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER, Api, Workspace
from snapshots.problems import ParquetryError
from snapshots.store.manifest import DataFile, Manifest

__all__ = ["Epoch", "QueryTimeout", "Reader", "ReaderSettings", "SnapshotUnusable", "open_reader"]

Row = tuple[Any, ...]
Fetched = TypeVar("Fetched")
_KEPT_ORDERS: Final = 16


class QueryTimeout(ParquetryError):
    """A request took longer, or more memory, than it may (503)."""


class ReaderSettings(msgspec.Struct, frozen=True):
    """What a reader and its statements may use."""

    time_limit: float = 5.0
    """Seconds for all statements of one request."""
    memory: str = "1GB"
    """DuckDB's memory, its cache included, for the whole reader."""
    making: MaterialiseSettings = msgspec.field(default_factory=MaterialiseSettings)


class Epoch(msgspec.Struct, frozen=True):
    """A stretch of time in which nothing about an API's visibility in a language changes."""

    since: int
    """UTC milliseconds, included."""
    until: int
    """UTC milliseconds, excluded."""
    total: int
    """How many entries are visible."""


class ViewOrder(msgspec.Struct, frozen=True):
    """The entries of a list by views, as long as neither the counts nor the epoch change."""

    generation: int
    epoch: Epoch
    positions: array[int]


class Visible:
    """The rows that are visible in an epoch, in default order."""

    def __init__(self, epoch: Epoch, positions: array[int], rows: int) -> None:
        """``rows`` is how many the table has."""
        import numpy as np  # noqa: PLC0415 - heavy, and loaded by DuckDB anyway once it gives the positions

        self.epoch: Final = epoch
        self.positions: Final = positions
        self._positions = np.frombuffer(positions, np.int64) if positions else np.empty(0, np.int64)
        self._places = np.full(rows, -1, np.int32)
        self._places[self._positions] = np.arange(len(positions), dtype=np.int32)

    def of(self, rows: array[int]) -> array[int]:
        """Those of some rows that are visible, in default order."""
        import numpy as np  # noqa: PLC0415 - as above

        if not rows:
            return rows
        places = self._places[np.frombuffer(rows, np.int64)]
        places = places[places >= 0]
        places.sort()
        return array("q", self._positions[places].tobytes())


class Reader:
    """One version of a workspace. Any number of threads may run statements at the same time."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        bodies: Bodies,
        search: SearchFile,
        snapshot_dir: Path,
        manifest: Manifest,
        settings: ReaderSettings,
    ) -> None:
        self.manifest: Final = manifest
        self.snapshot_dir: Final = snapshot_dir
        self._connection = connection
        self._bodies = bodies
        self._settings = settings
        self._watchdog = Watchdog()
        self._local = threading.local()
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        self._epochs: dict[tuple[str, Visibility], Epoch] = {}
        self._verified: set[str] = set()
        self._entry_ids: dict[str, SortedTexts] = {}
        self._view_orders: dict[tuple[str, Visibility, bool], ViewOrder] = {}
        self._visible: dict[tuple[str, Visibility], Visible] = {}
        apis = manifest.workspace.apis
        self._positions: Final = {api.uid: Positions(api, manifest, bodies) for api in apis}
        values = {api.uid: FieldValues(api, bodies, self._positions) for api in apis}
        self._searches: Final = Searches(search, manifest, self._positions, values)
        self._loading = threading.Lock()
        self._ordering = threading.Lock()
        self._counting = threading.Lock()
        self._views = NO_VIEWS
        self._loaded_generation = 0
        self._viewed: dict[str, ViewedRows] = {}

    @property
    def workspace(self) -> Workspace:
        return self.manifest.workspace

    @property
    def version(self) -> str:
        return self.manifest.version

    def deadline(self) -> float:
        """When a request that begins now is over its time limit, in ``time.monotonic`` seconds."""
        return time.monotonic() + self._settings.time_limit

    def run(self, statement: Statement, deadline: float) -> list[Row]:
        """All rows of a statement. Raises ``QueryTimeout`` past the deadline, or out of memory."""
        return self._execute(statement, deadline, duckdb.DuckDBPyConnection.fetchall)

    def run_for_positions(self, statement: Statement, deadline: float) -> array[int]:
        """The one column of a statement's rows, which are integers and may be very many. Raises as ``run``."""
        found = self._execute(statement, deadline, duckdb.DuckDBPyConnection.fetchnumpy)
        [column] = found.values()
        return array("q", column.astype("int64").tobytes())

    def _execute(
        self, statement: Statement, deadline: float, fetch: Callable[[duckdb.DuckDBPyConnection], Fetched]
    ) -> Fetched:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
            self._cursors.append(cursor)
        try:
            if time.monotonic() >= deadline:
                raise duckdb.InterruptException
            with self._watchdog.until(deadline, cursor.interrupt), _registered(cursor, statement):
                return fetch(cursor.execute(statement.text, statement.parameters))
        except duckdb.InterruptException:
            raise self._over_time() from None
        except duckdb.OutOfMemoryException:
            raise QueryTimeout(
                "The request needs more memory than it may use and was stopped. Ask for less, or try again."
            ) from None

    def _over_time(self) -> QueryTimeout:
        return QueryTimeout(
            f"The request took longer than {self._settings.time_limit:g} seconds and was stopped. "
            "Ask for less: fewer conditions, a smaller limit or offset."
        )

    def positions(self, api: Api) -> Positions:
        """What is known of an API's rows without a statement."""
        return self._positions[api.uid]

    def check(self, deadline: float) -> None:
        """Raise ``QueryTimeout`` past the deadline, for work that runs no statement."""
        if time.monotonic() >= deadline:
            raise self._over_time()

    def visible(self, api: Api, visibility: Visibility, now: int, deadline: float) -> Sequence[int]:
        """The rows of a list that has no conditions, in default order: found once an epoch. Raises as ``run``."""
        epoch = self.epoch(api, visibility, now, deadline)
        known = self.known_visible(api, visibility, now)
        return self._stored_visible(api, visibility, epoch, now, deadline).positions if known is None else known

    def known_visible(self, api: Api, visibility: Visibility, now: int) -> Sequence[int] | None:
        """What ``visible`` gives, if that takes no statement and no waiting for one."""
        epoch = self.known_epoch(api, visibility, now)
        if epoch is None:
            return None
        rows = self.positions(api).rows[visibility.lang]
        if visibility.fallback is None and epoch.total == len(rows):
            return rows
        found = self._visible.get((api.uid, visibility))
        return found.positions if found is not None and found.epoch == epoch else None

    def of_visible(
        self, rows: array[int], api: Api, visibility: Visibility, now: int, deadline: float
    ) -> Sequence[int]:
        """Those of some ascending rows that are visible, in default order; without a fallback they are of the language
        asked for. Raises as ``run``."""
        epoch = self.epoch(api, visibility, now, deadline)
        if visibility.fallback is None and epoch.total == len(self.positions(api).rows[visibility.lang]):
            return rows
        return self._stored_visible(api, visibility, epoch, now, deadline).of(rows)

    def _stored_visible(self, api: Api, visibility: Visibility, epoch: Epoch, now: int, deadline: float) -> Visible:
        key = (api.uid, visibility)
        with self._ordering:
            found = self._visible.pop(key, None)
            if found is None or found.epoch != epoch:
                statement = visible_statement(api, visibility, self.workspace, now)
                rows = len(self.positions(api).published)
                found = Visible(epoch, self.run_for_positions(statement, deadline), rows)
            self._visible[key] = found
            while len(self._visible) > _KEPT_ORDERS:
                self._visible.pop(next(iter(self._visible)))
        return found

    def matches(self, plan: ListPlan, deadline: float) -> Matches | None:
        """What is known of a plan's conditions without a statement, as ``Searches.matches``. Raises as ``run``."""
        return self._searches.matches(plan, lambda: self.check(deadline))

    def decides(self, plan: ListPlan) -> bool:
        """Whether a list without a phrase takes no statement, as ``Searches.decides``."""
        return self._searches.decides(plan)

    def sort_keys(self, plan: ListPlan) -> list[SortKey] | None:
        """What a list is sorted by without a statement, as ``Searches.sort_keys``."""
        return self._searches.sort_keys(plan)

    def take_views(self, totals: ViewTotals) -> bool:
        """Sort by these view counts from now on, unless newer ones are known: whether there are any."""
        if totals.generation > self._views.generation:
            with self._loading:
                if totals.generation > self._views.generation:
                    self._views = totals
        return totals.generation > 0

    def load_views(self) -> None:
        """Have the view counts in ``VIEW_TOTALS``, for statements that sort by them."""
        totals = self._views
        if totals.generation > self._loaded_generation:
            with self._loading:
                if totals.generation > self._loaded_generation:
                    with self._connection.cursor() as cursor:
                        cursor.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {VIEWS_DATABASE} (READ_WRITE)")
                        cursor.register("counted", totals.table())
                        cursor.execute(f"CREATE OR REPLACE TABLE {VIEW_TOTALS} AS SELECT id, total FROM counted")  # noqa: S608 - constants
                    self._loaded_generation = totals.generation

    def epoch(self, api: Api, visibility: Visibility, now: int, deadline: float) -> Epoch:
        """The epoch that ``now`` (UTC milliseconds) is in; computed once and kept until it is left."""
        epoch = self.known_epoch(api, visibility, now)
        if epoch is None:
            [(total, since, until)] = self.run(epoch_statement(api, visibility, self.workspace, now), deadline)
            epoch = Epoch(ALWAYS if since is None else since, NEVER if until is None else until, total)
            self._epochs[api.uid, visibility] = epoch
        return epoch

    def known_epoch(self, api: Api, visibility: Visibility, now: int) -> Epoch | None:
        """The epoch that ``now`` is in, if it has been computed already."""
        epoch = self._epochs.get((api.uid, visibility))
        return epoch if epoch is not None and epoch.since <= now < epoch.until else None

    def drafts(self, api: Api, lang: str) -> Path | None:
        """The file with unpublished changes, verified once; ``None`` without any. Raises ``SnapshotUnusable``."""
        file: DataFile | None = self.manifest.file(api, lang, FileKind.DRAFTS)
        if file is None:
            return None
        if file.path not in self._verified:
            verify_files(self.snapshot_dir, [file])
            self._verified.add(file.path)
        return self.snapshot_dir / file.path

    def entry_ids(self, api: Api, deadline: float) -> SortedTexts:
        """The IDs of an API's entries, of whatever status, unpublished ones included; read once.

        Raises ``SnapshotUnusable`` for drafts that cannot be read, and as ``run``.
        """
        if api.uid not in self._entry_ids:
            # Heavy to import, and needed by few requests.
            import pyarrow as pa  # noqa: PLC0415 - as above
            import pyarrow.parquet as pq  # noqa: PLC0415 - as above

            found = {row[0] for row in self.run(ids_statement(api), deadline)}
            for lang in self.workspace.languages_of(api):
                path = self.drafts(api, lang)
                if path is not None:
                    try:
                        found.update(pq.read_table(path, columns=["id"], partitioning=None)["id"].to_pylist())
                    except (pa.ArrowException, OSError) as error:
                        raise SnapshotUnusable(f"{path}: the drafts cannot be read: {error}. Restore it.") from None
            self._entry_ids[api.uid] = SortedTexts(pa.array(sorted(found), pa.string()))
        return self._entry_ids[api.uid]

    def view_order(self, plan: ListPlan, now: int, deadline: float) -> array[int]:
        """The positions of all entries of an unfiltered list by views, kept until the counts or the epoch change.

        Raises as ``run``.
        """
        [order] = plan.orders
        key = (plan.api.uid, plan.visibility, order.descending)
        epoch = self.epoch(plan.api, plan.visibility, now, deadline)
        rows = self.visible(plan.api, plan.visibility, now, deadline)
        views = self._views
        with self._counting:
            found = self._view_orders.pop(key, None)
            if found is None or found.epoch != epoch or found.generation < views.generation:
                totals = self._row_totals(plan.api, views, deadline)
                positions = by_totals(rows, totals, descending=order.descending)
                found = ViewOrder(views.generation, epoch, positions)
            self._view_orders[key] = found
            while len(self._view_orders) > _KEPT_ORDERS:
                self._view_orders.pop(next(iter(self._view_orders)))
        return found.positions

    def by_views(self, rows: Sequence[int], api: Api, deadline: float, *, descending: bool) -> array[int]:
        """Rows in default order → the same by views. Raises as ``run``."""
        with self._counting:
            totals = self._row_totals(api, self._views, deadline)
        return by_totals(rows, totals, descending=descending)

    def _row_totals(self, api: Api, views: ViewTotals, deadline: float) -> Array:
        viewed = self._viewed.get(api.uid)
        if viewed is None:
            self.check(deadline)
            with self._connection.cursor() as cursor:
                ids = cursor.sql(row_ids_statement(api).text).to_arrow_table()["id"]
            viewed = self._viewed[api.uid] = ViewedRows(ids)
        return viewed.totals(views)

    def explain(self, statement: Statement, deadline: float) -> str:
        """DuckDB's plan for a statement, with what each part took."""
        explaining = Statement(f"EXPLAIN ANALYZE {statement.text}", statement.parameters, statement.positions)
        rows = self.run(explaining, deadline)
        return "\n".join(str(row[-1]) for row in rows)

    def close(self) -> None:
        """Close the version. No statement may be running, and none can run after."""
        self._watchdog.close()
        for cursor in self._cursors:
            cursor.close()
        self._connection.close()
        self._searches.close()
        self._bodies.close()


@contextmanager
def _registered(cursor: duckdb.DuckDBPyConnection, statement: Statement) -> Iterator[None]:
    """The statement's positions as tables of the cursor's own, for the length of the block."""
    if not statement.positions:
        yield
        return
    # Heavy to import, and needed by few requests.
    import pyarrow as pa  # noqa: PLC0415 - as above

    try:
        for name, positions in statement.positions.items():
            cursor.register(name, pa.table({"row": positions}))
        yield
    finally:
        for name in statement.positions:
            cursor.unregister(name)


def open_reader(
    snapshot_dir: Path, manifest: Manifest, cache_dir: Path, settings: ReaderSettings | None = None
) -> Reader:
    """Open a version for reading, making its DuckDB file in ``cache_dir`` first where there is none that fits.

    A cache file that fits was made from verified files, so the snapshot's own files are not needed to open it.
    Raises ``SnapshotUnusable`` with the reason.
    """
    settings = settings or ReaderSettings()
    place = cache_file(cache_dir, manifest.workspace.id, manifest.version)

    opened: Cached | None = None

    def is_made() -> bool:
        nonlocal opened
        with suppress(CacheUnfit):
            opened = open_cached(place, manifest, settings.memory)
        return opened is not None

    if not is_made():
        materialise(snapshot_dir, manifest, place, settings.making, is_made)
    connection, bodies, search = opened or open_cached(place, manifest, settings.memory)
    return Reader(connection, bodies, search, snapshot_dir, manifest, settings)
