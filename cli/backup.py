"""``cms backup``: save a whole store in a place, beside its earlier backups."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.location import nearest_workspace, store_at
from cli.options import Json, StoreLocation, new_app, place_given
from cli.output import documents, lines, wording
from cli.output.progress import progress
from snapshots.times import format_datetime, now_ms

app = new_app()


@app.command()
def backup(
    place: Annotated[
        str,
        typer.Argument(
            metavar="DEST",
            callback=place_given,
            help="Where backups are kept: a directory, or the URL of a bucket, such as s3://….",
        ),
    ],
    store: StoreLocation = None,
    versions: Annotated[
        int | None,
        typer.Option(
            "--versions",
            min=1,
            metavar="N",
            help="Save only the newest N snapshot versions of each workspace, and always the current one and the one "
            "before it. Default: all.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Save a whole store in another place.

    A backup has its snapshot versions, keys, page views, webhooks, audit log and sign-ins. Servers and builds may go on
    meanwhile. Whatever was acknowledged before the backup began is in it. A backup takes only what no earlier one in
    the same place has. The exit status is 1 if something is damaged in the store, and so could not be saved; everything
    else was.
    """
    from engine.backup.making import make_backup
    from snapshots.store.locations import open_objects

    opened, now = store_at(store, nearest_workspace()), now_ms()
    with progress() as tell:
        made = make_backup(opened, open_objects(place), now=now, newest=versions, progress=tell)
    saved = made.named.backup
    if json:
        documents.write_json(
            {
                "backup": made.named.name,
                "begunAt": format_datetime(now),
                "workspaces": [
                    {"id": one.id, "current": one.current, "versions": list(one.versions)} for one in saved.workspaces
                ],
                "objects": len(saved.items),
                "bytes": saved.bytes,
                "sent": made.sent,
                "complaints": list(made.complaints),
            }
        )
    else:
        for complaint in made.complaints:
            lines.message(complaint)
        there = [one for one in saved.workspaces if one.versions or one.current is not None]
        count = sum(len(one.versions) for one in saved.workspaces)
        lines.answer(
            f"Backup {made.named.name}: {wording.plural(len(there), 'workspace')}, "
            f"{wording.plural(count, 'snapshot version')}, {wording.size(saved.bytes)}, "
            f"of which {wording.size(made.sent)} were new."
        )
    if made.complaints:
        lines.failure(
            f"{wording.plural(len(made.complaints), 'part')} of the store could not be saved; everything else was."
        )
        raise typer.Exit(1)
