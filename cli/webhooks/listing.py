"""``cms webhook list`` and ``show``: the receivers of a workspace and their last tries."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables, wording
from cli.webhooks.chosen_webhooks import Webhook, open_webhooks, report_webhook

if TYPE_CHECKING:
    from engine.webhooks.endpoint import Attempt


def list_webhooks(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """List the webhooks with their state."""
    from engine.webhooks.endpoint import state_text, subscription_text

    chosen = open_webhooks(store, workspace_id)
    endpoints = chosen.file.read()
    if json:
        documents.write_json([chosen.document(endpoint) for endpoint in endpoints])
    elif endpoints:
        rows = [
            (
                one.id,
                one.format,
                urlsplit(one.url).netloc,
                subscription_text(one, chosen.workspace),
                state_text(one),
                _last(one.attempts),
            )
            for one in endpoints
        ]
        columns = ("ID", "FORMAT", "HOST", "CHANGES TO", "STATE", "LAST TRY (UTC)")
        tables.table(columns, rows, whole=("ID", "STATE", "LAST TRY (UTC)"), spare=("LAST TRY (UTC)", "FORMAT"))
    else:
        lines.message(f'Workspace "{chosen.workspace.id}" has no webhooks yet. `cms webhook add URL` adds one.')


def show(webhook: Webhook, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Show one webhook and its last tries, without its secret."""
    chosen = open_webhooks(store, workspace_id)
    report_webhook(chosen, chosen.find(webhook), None, json=json)


def _last(attempts: tuple[Attempt, ...]) -> str:
    return wording.moment(attempts[0].at) if attempts else "-"
