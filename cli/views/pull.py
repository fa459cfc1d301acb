"""``cms views pull``: bring the analysts' file on this machine up to date with the page views in a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.location import choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.views.chosen_views import NoViews
from snapshots.times import now_ms

FILE = Path("views.duckdb")


def pull(
    file: Annotated[
        Path,
        typer.Argument(metavar="[FILE]", help="The DuckDB file to write. Default: views.duckdb.", show_default=False),
    ] = FILE,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Download the page views of a store in a bucket to a DuckDB file.

    Only what the file does not have yet is downloaded: run the command as often as you like. If it is stopped, the next
    run goes on from there.
    """
    from engine.views.gathering.followed_file import pull_views

    chosen = choose_workspace(store, workspace_id)
    if chosen.store.bucket is None:
        raise NoViews(
            "Only a store in a bucket (--store s3://bucket/prefix) has views to pull. With a store in a directory, "
            f"the file is {chosen.workspace_store.directory / 'views' / 'views.duckdb'}: copy it, or open it read-only."
        )
    with progress() as tell:
        pulled = pull_views(chosen.workspace_store, file, now_ms(), tell)
    if json:
        documents.write_json({"file": str(file), "rows": pulled.rows, "total": pulled.total})
        return
    lines.answer(f"{file}: {wording.plural(pulled.rows, 'new view')}, {pulled.total:,} in all.")
