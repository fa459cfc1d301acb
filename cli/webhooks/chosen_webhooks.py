"""The webhooks of one workspace as the commands of ``cms webhook`` find and show them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli import completion
from cli.location import choose_workspace
from cli.output import documents, lines, tables, wording
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.administration.administrator import Administrator
    from engine.webhooks.endpoint import Endpoint
    from engine.webhooks.webhooks_file import WebhooksFile
    from snapshots.model import Workspace
    from snapshots.store.store import Store

Webhook: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The webhook's ID, or an unambiguous beginning of it.", autocompletion=completion.webhooks
    ),
]


@dataclass(frozen=True, slots=True)
class ChosenWebhooks:
    """The webhooks of one workspace, and the facts by which they are shown."""

    store: Store
    file: WebhooksFile
    workspace: Workspace
    operator: Administrator
    """The user of this command, in whose name webhooks are changed."""

    @property
    def now(self) -> int:
        """The present, UTC milliseconds."""
        return self.operator.now

    def find(self, named: str) -> Endpoint:
        from engine.webhooks.editing import find_endpoint

        return find_endpoint(self.file.read(), named)

    def document(self, endpoint: Endpoint) -> dict[str, object]:
        from engine.webhooks.endpoint import endpoint_document

        return endpoint_document(endpoint, self.workspace)


def open_webhooks(store: str | None, workspace_id: str | None) -> ChosenWebhooks:
    """Return the webhooks of the workspace that is meant. Raises ``ParquetryError`` where there is none."""
    from engine.administration.administrator import operator
    from engine.webhooks.webhooks_file import WebhooksFile

    chosen = choose_workspace(store, workspace_id)
    file = WebhooksFile(chosen.store.objects, chosen.workspace_store.id)
    return ChosenWebhooks(chosen.store, file, chosen.workspace(), operator(chosen.workspace_store, now_ms()))


def report_webhook(chosen: ChosenWebhooks, endpoint: Endpoint, sentence: str | None, *, json: bool) -> None:
    """Print a webhook and its last tries after a sentence about it, or the webhook alone as a JSON document."""
    from engine.webhooks.endpoint import state_text, subscription_text

    if json:
        documents.write_json(chosen.document(endpoint))
        return
    if sentence:
        lines.message(sentence)
    pending = endpoint.pending
    tables.facts(
        [
            ("ID", endpoint.id),
            ("Workspace", chosen.workspace.id),
            ("URL", endpoint.url),
            ("Format", endpoint.format),
            ("Changes to", subscription_text(endpoint, chosen.workspace)),
            ("State", state_text(endpoint)),
            ("Added", wording.instant(endpoint.created_at)),
            ("Reported until", str(endpoint.cursor or "-")),
            *(
                [("Next try", wording.instant(pending.next_at))]
                if pending is not None and pending.failures and endpoint.stopped is None
                else []
            ),
        ]
    )
    if endpoint.attempts:
        lines.answer("")
        tables.table(
            ("TRIED (UTC)", "STATUS", "REQUESTS", ""),
            [
                (wording.moment(one.at), str(one.status or "-"), f"{one.requests:,}", one.refusal or "accepted")
                for one in endpoint.attempts
            ],
            right=("STATUS", "REQUESTS"),
            whole=("TRIED (UTC)",),
        )


def allow_loopback_targets() -> bool:
    """Return whether the environment permits receivers on this machine, as tests need them."""
    from engine.webhooks.addresses import ALLOW_LOOPBACK

    return os.environ.get(ALLOW_LOOPBACK) == "1"
