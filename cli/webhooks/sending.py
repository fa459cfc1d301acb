"""``cms webhook test`` and ``replay``: an event sent now, or once more."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines
from cli.webhooks.chosen_webhooks import Webhook, allow_loopback_targets, open_webhooks, report_webhook


def send_test(
    webhook: Webhook, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Send an event of the type webhook.test now, and print the answer.

    With a purge format, it purges a tag that nothing has. The exit status is 1 if the event is not accepted.
    """
    from engine.webhooks.trial import try_endpoint

    chosen = open_webhooks(store, workspace_id)
    endpoint = chosen.find(webhook)
    trial = try_endpoint(endpoint, chosen.workspace, allow_loopback=allow_loopback_targets(), now=chosen.now)
    answer = trial.result
    if json:
        documents.write_json(
            {
                "id": endpoint.id,
                "accepted": answer.accepted,
                "status": answer.status,
                "problem": answer.refusal,
                "seconds": round(trial.seconds, 3),
            }
        )
    elif answer.accepted:
        lines.answer(f"Webhook {endpoint.id} accepted a test event: {answer.status}, {trial.seconds:.2f} s.")
    if not answer.accepted:
        if not json:
            lines.failure(f"Webhook {endpoint.id} did not accept a test event: {answer.refusal}.")
        raise typer.Exit(1)


def replay(
    webhook: Webhook,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="VERSION@INSTANT",
            help="Send everything that changed after this state (an event's `snapshot`). Default: the last event.",
            show_default=False,
        ),
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Send a webhook its last event again.

    A running server sends the event, or everything that changed after --since. If the webhook is being retried, the
    next try is made now.
    """
    from engine.administration.webhooks import replay as set_back
    from engine.timeline.points import parse_point

    try:
        point = None if since is None else parse_point(since)
    except ValueError as error:
        raise typer.BadParameter(f"--since: {error}.") from None
    chosen = open_webhooks(store, workspace_id)
    endpoint = set_back(chosen.operator, webhook, point)
    sentence = (
        f"The server will send webhook {endpoint.id} again what changed since {endpoint.cursor or 'the beginning'}."
    )
    report_webhook(chosen, endpoint, sentence, json=json)
