"""``cms restore``: make a store of a backup again."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.location import begin_store, nearest_workspace, store_at
from cli.options import Json, StoreLocation, new_app, place_given
from cli.output import documents, lines, wording
from cli.output.progress import progress
from snapshots.times import now_ms

app = new_app()


@app.command()
def restore(
    place: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            callback=place_given,
            help="Where the backups are: a directory, or the URL of a bucket.",
        ),
    ],
    store: StoreLocation = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--backup",
            metavar="NAME",
            show_default=False,
            help="Which backup: its name, or the beginning of it. Default: the newest.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what the store holds now. End the servers first.")
    ] = False,
    list_backups: Annotated[bool, typer.Option("--list", help="Only list the backups, newest first.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only read the backup, and say whether it is whole.")] = False,
    json: Json = False,
) -> None:
    """Make a store of a backup again.

    The store is then what it was when the backup began. The whole backup is read and verified first; if anything in it
    is damaged, nothing is changed. A store that holds something is replaced only with `--force`. Changes that were made
    after the backup are lost: keys that were disabled since then are valid again.
    """
    from engine.backup.restoring import restore as restore_store
    from engine.backup.restoring import verified
    from snapshots.store.locations import open_objects

    if sum((force, list_backups, check)) > 1:
        raise typer.BadParameter("--force, --list and --check contradict each other: choose one.")
    objects = open_objects(place)
    if list_backups:
        _list(place, json=json)
        return
    target, deleted = store_at(store, nearest_workspace()), None
    with progress() as tell:
        found = verified(objects, name, tell)
        if not check:
            begin_store(target)
            deleted = restore_store(objects, found, target, now=now_ms(), force=force, progress=tell)
    saved = found.backup
    count = sum(len(one.versions) for one in saved.workspaces)
    if json:
        documents.write_json(
            {
                "backup": found.name,
                "restored": not check,
                "workspaces": [
                    {"id": one.id, "current": one.current, "versions": list(one.versions)} for one in saved.workspaces
                ],
                "objects": len(saved.items),
                "bytes": saved.bytes,
                "deleted": deleted,
            }
        )
        return
    facts = f"{wording.plural(count, 'snapshot version')}, {wording.size(saved.bytes)}"
    if check:
        lines.answer(f"The backup {found.name} is intact: {facts}.")
        return
    for one in saved.workspaces:
        served = f"{one.current} is current" if one.current is not None else "no snapshot version is current"
        lines.answer(f"{one.id}: {wording.plural(len(one.versions), 'snapshot version')}, {served}.")
    lines.answer(f"Restored {target.location} from the backup {found.name}: {facts}.")


def _list(place: str, *, json: bool) -> None:
    from engine.backup.layout import made_at, names
    from snapshots.store.locations import open_objects
    from snapshots.times import format_datetime

    found = names(open_objects(place))
    if json:
        documents.write_json([{"backup": name, "begunAt": format_datetime(made_at(name))} for name in found])
        return
    for name in found:
        lines.answer(f"{name}  {wording.instant(made_at(name))}")
    if not found:
        lines.message(f"{place} has no backup.")
