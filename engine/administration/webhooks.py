"""Changes of webhooks: each is noted in the audit log, then made in webhooks.json.

The log names hosts alone: the rest of a URL may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from engine.administration.administrator import Administrator
from engine.timeline.points import Point
from engine.webhooks import editing
from engine.webhooks.addresses import parse_target
from engine.webhooks.editing import find_endpoint
from engine.webhooks.endpoint import Endpoint, Reason
from engine.webhooks.webhooks_file import WebhooksFile

_Result = TypeVar("_Result")


def add_webhook(
    by: Administrator,
    url: str,
    *,
    form: str,
    token: str | None,
    apis: frozenset[str] | None,
    langs: frozenset[str] | None,
    reasons: frozenset[Reason] | None,
    allow_loopback: bool,
) -> tuple[Endpoint, str | None]:
    """Add an endpoint, as ``editing.add_endpoint`` does and with its errors: (the endpoint, its secret)."""
    parse_target(url, allow_loopback=allow_loopback)  # what cannot be added is no change
    current = by.workspace_store.current()
    with by.recorded("webhook_added", f"Added a webhook of the format {form}, for {host(url)}."):
        return editing.add_endpoint(
            webhooks_of(by),
            url,
            form=form,
            token=token,
            apis=apis,
            langs=langs,
            reasons=reasons,
            current=None if current is None else current.version,
            allow_loopback=allow_loopback,
            now=by.now,
        )


def disable_webhook(by: Administrator, named: str) -> Endpoint:
    """Tell an endpoint nothing until it is enabled again. Raises as ``editing.change_endpoint``, as do all below."""

    def disable(file: WebhooksFile, found: str) -> Endpoint:
        return editing.disable_endpoint(file, found, by.now)

    return _changed(by, named, "webhook_disabled", "Disabled", disable)


def enable_webhook(by: Administrator, named: str) -> Endpoint:
    """Tell an endpoint again, beginning at once with what it has not been told."""

    def enable(file: WebhooksFile, found: str) -> Endpoint:
        return editing.enable_endpoint(file, found, by.now)

    return _changed(by, named, "webhook_enabled", "Enabled", enable)


def delete_webhook(by: Administrator, named: str) -> Endpoint:
    """Remove an endpoint for good; return what it was."""
    return _changed(by, named, "webhook_deleted", "Deleted", editing.delete_endpoint)


def rotate_secret(by: Administrator, named: str, *, overlap: int) -> tuple[Endpoint, str]:
    """Give an endpoint a new secret: (the endpoint, the secret). The old one signs for ``overlap`` milliseconds too."""

    def rotate(file: WebhooksFile, found: str) -> tuple[Endpoint, str]:
        return editing.rotate_secret(file, found, overlap=overlap, now=by.now)

    return _changed(by, named, "webhook_secret_changed", "Changed the signing secret of", rotate)


def replace_token(by: Administrator, named: str, token: str) -> Endpoint:
    """Give an endpoint of a purge format another credential."""

    def change(file: WebhooksFile, found: str) -> Endpoint:
        return editing.replace_token(file, found, token)

    return _changed(by, named, "webhook_token_changed", "Changed the token of", change)


def replay(by: Administrator, named: str, since: Point | None) -> Endpoint:
    """Make an endpoint be sent its events since a point again, or its last event. Raises ``InvalidWebhook``."""

    def deliver_again(file: WebhooksFile, found: str) -> Endpoint:
        return editing.replay(file, found, since, by.now)

    sentence = "its last event" if since is None else f"everything since {since}"
    return _changed(by, named, "webhook_replayed", f"Had {sentence} sent again to", deliver_again)


def webhooks_of(by: Administrator) -> WebhooksFile:
    """Return the file of the webhooks that an administrator changes."""
    return WebhooksFile(by.workspace_store.objects, by.workspace_store.id, by.workspace_store.announce)


def host(url: str) -> str:
    """Return the part of an endpoint's URL that everybody may see."""
    return urlsplit(url).netloc


def _changed(
    by: Administrator, named: str, action: str, done: str, change: Callable[[WebhooksFile, str], _Result]
) -> _Result:
    file = webhooks_of(by)
    endpoint = find_endpoint(file.read(), named)
    with by.recorded(action, f"{done} the webhook {endpoint.id}, for {host(endpoint.url)}."):
        return change(file, endpoint.id)
