"""``--on-publish``: tell a command on this machine, as an event, that a version was made current."""

from __future__ import annotations

from engine.timeline.changes import changes
from engine.timeline.points import Point
from engine.timeline.timeline import Timeline
from engine.webhooks.events import News, content_body
from snapshots.store.store import MissingVersion, WorkspaceStore


def published_event(workspace_store: WorkspaceStore, before: str | None, after: Point) -> bytes:
    """Return the event ``content.changed`` of an activation, as JSON: from the version current before, to ``after``.

    Raises ``StoreError`` or another ``ParquetryError`` where a version cannot be read.
    """
    found = None
    try:
        if before is not None:
            found = changes(workspace_store, Point(before, after.at), after)
    except MissingVersion:
        if not workspace_store.has(after.version):
            raise
    current, manifest = workspace_store.current(), workspace_store.manifest(after.version)
    news = News(
        workspace=manifest.workspace,
        before=None if before is None else Point(before, after.at),
        after=after,
        at=after.at,
        keys=(),
        changes=found,
        next_change=Timeline(workspace_store, manifest).flips.next(after.at),
        is_return=before is not None and current is not None and current.is_return(before, after.version),
    )
    return content_body(news)
