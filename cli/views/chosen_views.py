"""Where the commands of ``cms views`` find counts and titles: in a local store, or in a bucket."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.location import ChosenWorkspace, choose_workspace
from cli.output import lines
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.views.gathering.stored_views import FiledViews
    from snapshots.store.objects import Objects
    from snapshots.store.store import Store, WorkspaceStore

Days: TypeAlias = Annotated[
    int, typer.Option("--days", min=1, max=3650, metavar="N", help="Calendar days in Japan, today included.")
]
MOST_TITLE_BYTES = 100_000_000
"""Bytes of content in a bucket that are downloaded for the sake of titles."""


class NoViews(ParquetryError):
    """The page views cannot be used: there are none yet, or another process is writing them."""


@dataclass(frozen=True, slots=True)
class ChosenViews:
    """The page views of one workspace. Of a bucket, ``views`` is a copy of the counts, gone after the command."""

    store: Store
    workspace_store: WorkspaceStore
    views: Path
    """The directory with the counts files."""

    @property
    def objects(self) -> Objects | None:
        """The bucket; ``None`` for a local store."""
        return self.store.bucket

    def name(self) -> str:
        """Return the workspace's name, which is its ID where nothing is current."""
        current = self.workspace_store.current()
        name = None if current is None else self.workspace_store.manifest(current.version).workspace.name
        return name or self.workspace_store.id

    def titles(self, ids: Collection[str] | None = None) -> dict[str, str]:
        """Return the titles of the current version's entries that have one, by entry ID; only for ``ids`` if given."""
        current = self.workspace_store.current()
        if current is None or (ids is not None and not ids):
            return {}
        from engine.views.counting.titles import files_of_titles, titles_of

        manifest = self.workspace_store.manifest(current.version)
        if self.objects is not None and sum(file.bytes for file in files_of_titles(manifest)) > MOST_TITLE_BYTES:
            lines.message("Titles are left out: the content is large. `cms views pull` has them.")
            return {}
        return titles_of(self.workspace_store, manifest, ids)

    def flush(self, wait: float) -> FiledViews | None:
        """Write the views that wait; ``None`` when another process went on writing for ``wait`` seconds."""
        if self.objects is None:
            from engine.views.gathering.writer import ViewWriter

            return ViewWriter(self.views).round(now_ms(), time.monotonic(), wait=wait, flush=True)
        from engine.views.gathering.gathering import ViewGathering

        gathering = ViewGathering(self.objects, self.store, self.views, only=self.workspace_store.id)
        return gathering.round(now_ms(), flush=True)


@contextmanager
def open_views(store: str | None, workspace_id: str | None, *, needed: bool = True) -> Iterator[ChosenViews]:
    """Give the page views of the workspace that is meant. Raises ``NoViews`` where there are none yet.

    Without ``needed``, the counts of a bucket are not got: they may be missing or damaged.
    """
    with views_of_workspace(choose_workspace(store, workspace_id), needed=needed) as found:
        yield found


@contextmanager
def views_of_workspace(chosen: ChosenWorkspace, *, needed: bool = True) -> Iterator[ChosenViews]:
    """Give the page views of a workspace, as ``open_views`` does."""
    from engine.views.collecting.spool import VIEWS
    from engine.views.counting.count_files import COUNTS, TODAY

    nothing = (
        f'Workspace "{chosen.workspace_store.id}" has no page views yet. '
        "Views count while `cms serve` runs, on pages of the hosts under `domains` in workspace.yaml."
    )
    if chosen.store.bucket is None:
        views = chosen.workspace_store.directory / VIEWS
        if not views.is_dir():
            raise NoViews(nothing)
        yield ChosenViews(chosen.store, chosen.workspace_store, views)
        return
    import tempfile

    from engine.views.gathering.pulled_counts import PulledCounts

    with tempfile.TemporaryDirectory(prefix="cms-views-") as folder:
        views = Path(folder)
        if needed:
            PulledCounts(chosen.store.bucket, chosen.workspace_store.id, views).refresh()
            if not (views / COUNTS / TODAY).exists():
                raise NoViews(nothing)
        yield ChosenViews(chosen.store, chosen.workspace_store, views)
