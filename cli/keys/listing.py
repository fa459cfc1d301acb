"""``cms key list``, ``show`` and ``prefix``: the keys of a workspace, without their texts."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.keys.arguments import Prefix
from cli.keys.chosen_keys import last_use, open_keys, report_key
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables


def list_keys(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """List the keys with their scope, state and last use."""
    from engine.access.keys.keys import local_date, scope_text

    chosen = open_keys(store, workspace_id)
    keys = chosen.all()
    listed = chosen.documents(*keys)
    if json:
        documents.write_json(listed)
    elif keys:
        rows = [
            (
                key.prefix,
                key.name,
                scope_text(key, chosen.workspace),
                str(document["label"]),
                str(local_date(key.created_at, chosen.zone)),
                last_use(document, chosen),
            )
            for key, document in zip(keys, listed, strict=True)
        ]
        tables.table(
            ("PREFIX", "NAME", "SCOPE", "STATE", "CREATED", "LAST USED"),
            rows,
            whole=("PREFIX", "STATE", "CREATED", "LAST USED"),
            spare=("CREATED", "LAST USED"),
        )
        lines.message(f"Days and times are {chosen.workspace.timezone}.", style="dim")
    else:
        lines.message(f'Workspace "{chosen.workspace.id}" has no keys yet. `cms key create NAME` issues one.')


def show(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Show one key's settings; the key itself is not stored."""
    from engine.access.keys.access import find_key

    chosen = open_keys(store, workspace_id)
    report_key(chosen, find_key(chosen.all(), prefix), None, json=json)


def prefix_of(
    name: Annotated[str, typer.Argument(help="The key's whole name.")],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Print the prefix of the key with this name.

    If several keys have the name, each prefix is on a line of its own.
    """
    chosen = open_keys(store, workspace_id)
    found = [key for key in chosen.all() if key.name == name]
    if json:
        documents.write_json([{"name": key.name, "prefix": key.prefix} for key in found])
    for key in found if not json else ():
        lines.answer(key.prefix)
    if not found:
        lines.failure(f'No key has the name "{name}". `cms key list` shows the names.')
        raise typer.Exit(1)
