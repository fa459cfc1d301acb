"""``cms key create``: a new key, shown once only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.keys.arguments import Apis, From, Until, Validity, given_date
from cli.keys.chosen_keys import open_keys
from cli.location import begin_store
from cli.options import Json, StoreLocation, WorkspaceId, Yes
from cli.output import documents, lines
from cli.prompts import confirmed, has_reader

if TYPE_CHECKING:
    from engine.access.keys.keys import Key


def create(
    name: Annotated[str, typer.Argument(help="What will use the key, for example “Website, production”.")],
    api: Apis = None,
    validity: Validity = None,
    from_: From = None,
    until: Until = None,
    rate_limit: Annotated[
        int | None,
        typer.Option(
            "--rate-limit", metavar="N", help="Requests per minute. Default: the workspace's.", show_default=False
        ),
    ] = None,
    yes: Yes = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Issue a key and print it, once only.

    Without --validity or --until it is valid for 90 days. On a terminal the command ends when the key is copied;
    --yes, --json and a pipe do not wait.
    """
    from engine.access.keys.keys import key_label, scope_of, scope_text
    from engine.administration.keys import issue_key

    chosen = open_keys(store, workspace_id)
    begin_store(chosen.store)
    key, text = issue_key(
        chosen.operator,
        chosen.workspace,
        name=name,
        scope=scope_of(chosen.workspace, api) if api else None,
        validity=validity,
        start=given_date(from_),
        end=given_date(until),
        rate_limit=rate_limit,
    )
    if json:
        documents.write_json({**chosen.document(key), "key": text})
        return
    label = key_label(key, chosen.today)
    lines.message(
        f'Key "{key.name}" for {scope_text(key, chosen.workspace)} of workspace "{chosen.workspace.id}" '
        f"({label[0].lower()}{label[1:]})."
    )
    lines.message("It is shown only once:")
    lines.answer(text, style="bold")
    if not yes and has_reader():
        _wait_until_copied(key)


def _wait_until_copied(key: Key) -> None:
    """Ask until the user has copied the key (contract 5.9). Raises ``EOFError`` at the end of input."""
    try:
        while not confirmed("Have you copied it?"):
            lines.message("Copy it now: it cannot be shown again.")
    except (KeyboardInterrupt, EOFError):
        lines.message(
            f"\nThe key exists all the same. If you did not copy it, delete it: `cms key delete {key.prefix}`."
        )
        raise
