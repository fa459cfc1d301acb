"""``cms why``: say why an entry is on the site, or why it is not."""

from __future__ import annotations

import typer

from cli.location import choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from cli.query.explained import Explained, explained, explained_by_files
from cli.query.opened import AsKey, At, Target, instant_at, opened_request, without_address
from snapshots.times import now_ms

app = new_app()


@app.command()
def why(
    target: Target,
    key: AsKey = None,
    at: At = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Say why an entry is on the site, or why it is not.

    The answer comes from the store and, in the workspace's folder, from its files and git: the entry is scheduled, is a
    draft, has ended, is only in another language, is not built yet, has an error, or is not there. With --key, nothing
    is said that the key's holder may not know. The exit status is 0 if the API answers the request, else 1. A TIME
    without an offset is in the workspace's time zone.
    """
    target, workspace_id = without_address(target, workspace_id, "why")
    chosen = choose_workspace(store, workspace_id)
    current = chosen.workspace_store.current()
    if current is None and key is None:
        now = now_ms() if at is None else instant_at(at, chosen.workspace())
        found = explained_by_files(chosen, target, now)
    else:
        with opened_request(chosen, target, key, at, chosen.current_version()) as opened:
            found = explained(opened, files=True)
    _print(target, found, json=json)
    if not found.is_live:
        raise typer.Exit(1)


def _print(target: str, found: Explained, *, json: bool) -> None:
    if json:
        document = {"target": target, "live": found.is_live, "reason": found.reason, "explanation": found.sentences}
        documents.write_json({**document, **found.about})
        return
    for number, sentence in enumerate(found.sentences):
        style = "" if number else "green" if found.is_live else "bold"
        lines.answer(sentence, style)
