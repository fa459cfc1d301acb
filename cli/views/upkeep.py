"""``cms views flush``, ``verify`` and ``rebuild``: the upkeep of the files in which views are kept."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.views.chosen_views import NoViews, open_views
from snapshots.times import now_ms

FLUSH_SECONDS = 30.0


class Sink(StrEnum):
    """The file that is written again."""

    FILE = "file"
    COUNTS = "counts"


def flush(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Add waiting views to the counts and the analysts' file.

    A running server does this every few seconds. In a bucket, the rows go into files every ten minutes, and
    only views that the servers have sent to the bucket are added; the newest may still be on their machines.
    """
    with progress() as tell, open_views(store, workspace_id, needed=False) as chosen:
        tell("writing what waits", 0, 0)
        written = chosen.flush(FLUSH_SECONDS)
    if written is None:
        raise NoViews(f"{chosen.views}: another process has been writing for {FLUSH_SECONDS:g} s. Try again.")
    if json:
        documents.write_json({"counted": written.counted, "filed": written.filed})
        return
    lines.answer(
        f"{wording.plural(written.counted, 'view')} into the counts, "
        f"{wording.plural(written.filed, 'view')} into "
        + ("the analysts' file." if chosen.objects is None else "files of rows.")
    )


def verify(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Check that the counts and the rows agree.

    The daily counts are counted again from the rows. The exit status is 1 if something does not add up.
    """
    from engine.views.gathering.repair import ViewFiles, complaints

    with progress() as tell, open_views(store, workspace_id) as chosen:
        tell("counting again", 0, 0)
        found = complaints(ViewFiles.of(chosen.workspace_store), now_ms())
    if json:
        documents.write_json({"complaints": found})
    elif found:
        for complaint in found:
            lines.answer(complaint)
        lines.message("`cms views rebuild` rebuilds one side from the other.")
    else:
        lines.answer("Everything adds up.", style="green")
    if found:
        raise typer.Exit(1)


def rebuild(
    sink: Annotated[
        Sink,
        typer.Argument(
            metavar="file|counts", help="What to rebuild: the analysts' file, or the counts the server answers from."
        ),
    ],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Rebuild the analysts' file or the counts from the other.

    A file that can no longer be read is set aside, not deleted.
    """
    from engine.views.gathering.repair import ViewFiles, rebuild_counts, rebuild_file

    aside = None
    with progress() as tell, open_views(store, workspace_id, needed=False) as chosen:
        tell("rebuilding", 0, 0)
        if sink is Sink.FILE:
            aside = rebuild_file(ViewFiles.of(chosen.workspace_store), now_ms())
        else:
            rebuild_counts(ViewFiles.of(chosen.workspace_store), now_ms())
    if json:
        documents.write_json({"rebuilt": sink.value, "putAside": None if aside is None else str(aside)})
        return
    if aside is not None:
        lines.message(f"The old file was moved to {aside}.")
    lines.answer("Rebuilt." if sink is Sink.FILE else "Rebuilt; the server answers from it within seconds.")
