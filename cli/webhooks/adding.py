"""``cms webhook add`` and ``rotate``: a receiver and its secret, shown once only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from cli import completion
from cli.location import begin_store, dev_store
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.webhooks.chosen_webhooks import Webhook, allow_loopback_targets, open_webhooks, report_webhook
from cli.webhooks.tokens import TokenFile, read_token
from engine.webhooks.endpoint import Reason
from engine.webhooks.formats import FORMATS

HOUR_MS = 3_600_000


def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https URL to send events to.")],
    api: Annotated[
        list[str] | None,
        typer.Option(
            "--api",
            metavar="ENDPOINT",
            help="Send changes in this API only; repeat it for several.",
            show_default=False,
            autocompletion=completion.endpoints,
        ),
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option(
            "--lang",
            metavar="LANG",
            help="Send changes in this language only; repeat it for several.",
            show_default=False,
        ),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            metavar="|".join(Reason),
            help="Send content changes with this reason only; repeat it for several.",
            show_default=False,
            autocompletion=lambda: list(Reason),
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="|".join(FORMATS), help="The form of requests.", autocompletion=lambda: list(FORMATS)
        ),
    ] = "standard",
    token_file: TokenFile = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Add a receiver and print its signing secret, once only.

    A running server sends it all changes from now on. A format that purges a CDN's cache needs an API token
    instead of a secret.
    """
    from engine.access.keys.keys import scope_of
    from engine.administration.webhooks import add_webhook
    from engine.webhooks.endpoint import languages_of, subscription_text

    format_name = _one_of("--format", form, FORMATS)
    reasons = [Reason(_one_of("--reason", one, Reason)) for one in reason or ()]
    chosen = open_webhooks(store, workspace_id)
    begin_store(chosen.store)
    endpoint, secret = add_webhook(
        chosen.operator,
        url,
        form=format_name,
        token=read_token(token_file) if token_file or FORMATS[format_name].takes_token else None,
        apis=scope_of(chosen.workspace, api) if api else None,
        langs=languages_of(chosen.workspace, lang) if lang else None,
        reasons=frozenset(reasons) or None,
        allow_loopback=allow_loopback_targets(),
    )
    if json:
        documents.write_json({**chosen.document(endpoint), "secret": secret})
        return
    lines.message(
        f"Webhook {endpoint.id} reports changes to {subscription_text(endpoint, chosen.workspace)} of workspace "
        f'"{chosen.workspace.id}".'
    )
    if dev_store(chosen.store) is not None:
        lines.warning("`cms dev` runs here, and sends no webhooks, since it publishes nothing. `cms serve` sends them.")
    if secret is None:
        lines.answer(endpoint.id)
        return
    lines.message("The receiver checks signatures with this secret, which is shown only once:")
    lines.answer(secret, style="bold")


def rotate(
    webhook: Webhook,
    overlap: Annotated[
        int,
        typer.Option(
            "--overlap", min=0, max=720, metavar="HOURS", help="How long requests also carry the old signature."
        ),
    ] = 24,
    token_file: TokenFile = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Give a webhook a new signing secret and print it, once only.

    Until the overlap ends, requests carry two signatures, so that the receiver can be changed without a pause; with
    --overlap 0 the old secret ends at once. A purge format gets a new token instead.
    """
    from engine.administration.webhooks import replace_token, rotate_secret

    chosen = open_webhooks(store, workspace_id)
    found = chosen.find(webhook)
    if FORMATS[found.format].takes_token:
        endpoint = replace_token(chosen.operator, found.id, read_token(token_file))
        report_webhook(chosen, endpoint, f"Webhook {endpoint.id} uses the new token.", json=json)
        return
    endpoint, secret = rotate_secret(chosen.operator, found.id, overlap=overlap * HOUR_MS)
    if json:
        documents.write_json({**chosen.document(endpoint), "secret": secret})
        return
    old = (
        f"Requests also carry a signature with the old secret for {wording.plural(overlap, 'hour')}."
        if overlap
        else "The old secret no longer signs anything."
    )
    lines.message(f"This is the new secret of webhook {endpoint.id}, shown only once. {old}")
    lines.answer(secret, style="bold")


def _one_of(option: str, given: str, allowed: Iterable[str]) -> str:
    if given not in tuple(allowed):
        raise typer.BadParameter(f"{option}: {given!r} is not one of {', '.join(allowed)}.")
    return given
