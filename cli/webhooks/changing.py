"""``cms webhook disable``, ``enable`` and ``delete``: another state of a receiver."""

from __future__ import annotations

from cli.options import Json, StoreLocation, WorkspaceId, Yes
from cli.output import documents, lines
from cli.prompts import NotConfirmed, confirmed
from cli.webhooks.chosen_webhooks import Webhook, open_webhooks, report_webhook


def disable(
    webhook: Webhook, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Send a webhook nothing until it is enabled again."""
    from engine.administration.webhooks import disable_webhook

    chosen = open_webhooks(store, workspace_id)
    endpoint = disable_webhook(chosen.operator, webhook)
    report_webhook(chosen, endpoint, f"Webhook {endpoint.id} is disabled.", json=json)


def enable(webhook: Webhook, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Send events to a disabled webhook again.

    One event reports everything that changed since the last one.
    """
    from engine.administration.webhooks import enable_webhook

    chosen = open_webhooks(store, workspace_id)
    endpoint = enable_webhook(chosen.operator, webhook)
    report_webhook(chosen, endpoint, f"Webhook {endpoint.id} is enabled.", json=json)


def delete(
    webhook: Webhook,
    yes: Yes = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Remove a webhook for good.

    Asks first on a terminal.
    """
    from engine.administration.webhooks import delete_webhook

    chosen = open_webhooks(store, workspace_id)
    endpoint = chosen.find(webhook)
    if not yes and not confirmed(f"Delete webhook {endpoint.id} ({endpoint.url})? It gets no more events."):
        raise NotConfirmed("Nothing is deleted.")
    delete_webhook(chosen.operator, endpoint.id)
    if json:
        documents.write_json(chosen.document(endpoint))
    else:
        lines.answer(f"Webhook {endpoint.id} is deleted.")
