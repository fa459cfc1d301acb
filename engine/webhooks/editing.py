"""The changes that people make to endpoints: add, disable, enable, delete, exchange the secret, tell again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from engine.timeline.points import Point
from engine.webhooks.addresses import parse_target
from engine.webhooks.endpoint import (
    Endpoint,
    EndpointState,
    InvalidWebhook,
    Pending,
    Reason,
    Secret,
    Stop,
    new_endpoint_id,
)
from engine.webhooks.formats import FORMATS
from engine.webhooks.signatures import new_secret
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from snapshots.problems import ParquetryError

MOST_ENDPOINTS: Final = 100
"""Endpoints of one workspace."""


class UnknownWebhook(ParquetryError):
    """No endpoint, or more than one, has the given ID."""


def add_endpoint(
    file: WebhooksFile,
    url: str,
    *,
    form: str,
    token: str | None,
    apis: frozenset[str] | None,
    langs: frozenset[str] | None,
    reasons: frozenset[Reason] | None,
    current: str | None,
    allow_loopback: bool,
    now: int,
) -> tuple[Endpoint, str | None]:
    """Add an endpoint and return it with its signing secret, which is shown this once; purge formats have none.

    It is told of what comes after ``current``, the current version, at ``now`` (UTC milliseconds). Raises
    ``WebhookUrlRefused``, ``InvalidWebhook``, ``DamagedDocument`` or ``StoreError``.
    """
    parse_target(url, allow_loopback=allow_loopback)
    if form not in FORMATS:
        raise InvalidWebhook(f'There is no format "{form}". There are: {", ".join(FORMATS)}.')
    takes_token = FORMATS[form].takes_token
    if takes_token and token is None:
        raise InvalidWebhook(f"The format {form} needs a token: an API token of {form} that may purge.")
    if token is not None and not takes_token:
        raise InvalidWebhook(f"The format {form} takes no token: its requests are signed.")
    secret = None if takes_token else new_secret()
    endpoint = Endpoint(
        id=new_endpoint_id(),
        url=url,
        format=form,
        secrets=() if secret is None else (Secret(secret),),
        created_at=now,
        cursor=None if current is None else Point(current, now),
        token=None if token is None else checked_token(token),
        apis=apis,
        langs=langs,
        reasons=reasons,
    )

    def add(endpoints: Endpoints) -> tuple[Endpoints, None]:
        if len(endpoints) >= MOST_ENDPOINTS:
            raise InvalidWebhook(f"The workspace has {MOST_ENDPOINTS} webhooks already, and can have no more.")
        return (*endpoints, endpoint), None

    file.edit(add)
    return endpoint, secret


def find_endpoint(endpoints: Iterable[Endpoint], named: str) -> Endpoint:
    """Return the endpoint with this ID, or an unambiguous beginning of it, with or without ``wh_``.

    Raises ``UnknownWebhook``.
    """
    start = named if named.startswith("wh_") else f"wh_{named}"
    found = [endpoint for endpoint in endpoints if named and endpoint.id.startswith(start)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownWebhook(
            f'Several webhooks begin with "{start}": {", ".join(one.id for one in found[:5])}. Give more of the ID.'
        )
    raise UnknownWebhook(f'No webhook begins with "{start}". `cms webhook list` shows them.')


def change_endpoint(file: WebhooksFile, named: str, change: Callable[[Endpoint], Endpoint]) -> Endpoint:
    """Replace the endpoint named ``named`` by the result of ``change``, and return the new endpoint.

    Raises ``UnknownWebhook``, ``DamagedDocument`` or ``StoreError``.
    """

    def swap(endpoints: Endpoints) -> tuple[Endpoints, Endpoint]:
        old = find_endpoint(endpoints, named)
        new = change(old)
        return tuple(new if one.id == old.id else one for one in endpoints), new

    return file.edit(swap)


def disable_endpoint(file: WebhooksFile, named: str, now: int) -> Endpoint:
    """Send an endpoint nothing until it is enabled again; return the endpoint."""
    return change_endpoint(file, named, lambda one: replace(one, stopped=Stop(EndpointState.DISABLED, now)))


def enable_endpoint(file: WebhooksFile, named: str, now: int) -> Endpoint:
    """Send events to an endpoint again, beginning at once with those that it missed; return the endpoint."""

    def enabled(endpoint: Endpoint) -> Endpoint:
        pending = endpoint.pending
        if pending is not None:
            pending = replace(pending, failures=0, next_at=now)
        return replace(endpoint, stopped=None, pending=pending)

    return change_endpoint(file, named, enabled)


def delete_endpoint(file: WebhooksFile, named: str) -> Endpoint:
    """Remove an endpoint for good; return it as it was."""

    def remove(endpoints: Endpoints) -> tuple[Endpoints, Endpoint]:
        found = find_endpoint(endpoints, named)
        return tuple(one for one in endpoints if one.id != found.id), found

    return file.edit(remove)


def rotate_secret(file: WebhooksFile, named: str, *, overlap: int, now: int) -> tuple[Endpoint, str]:
    """Give an endpoint a new secret, shown this once: (the endpoint, the secret).

    The one before signs too for ``overlap`` milliseconds. Raises ``InvalidWebhook`` for a purge format.
    """
    secret = new_secret()

    def rotated(endpoint: Endpoint) -> Endpoint:
        if FORMATS[endpoint.format].takes_token:
            raise InvalidWebhook(f"A webhook of the format {endpoint.format} signs nothing; change its token.")
        before = endpoint.secrets[:1] if overlap else ()
        return replace(endpoint, secrets=(Secret(secret), *(replace(one, until=now + overlap) for one in before)))

    return change_endpoint(file, named, rotated), secret


def replace_token(file: WebhooksFile, named: str, token: str) -> Endpoint:
    """Give an endpoint of a purge format another credential. Raises ``InvalidWebhook`` for other formats."""

    def changed(endpoint: Endpoint) -> Endpoint:
        if not FORMATS[endpoint.format].takes_token:
            raise InvalidWebhook(f"A webhook of the format {endpoint.format} has no token; its secret can be rotated.")
        return replace(endpoint, token=checked_token(token))

    return change_endpoint(file, named, changed)


def replay(file: WebhooksFile, named: str, since: Point | None, now: int) -> Endpoint:
    """Return the endpoint, set to be sent events again up to the last one it was sent; it goes on from there.

    ``since`` is the point to begin at; ``None`` begins with the last step that was sent. If a step is being tried, its
    next try is made now. Raises ``InvalidWebhook`` where there is nothing to send again.
    """

    def back(endpoint: Endpoint) -> Endpoint:
        pending = endpoint.pending
        if pending is not None and since is not None:
            # It may have taken the step that is being tried, or not: from where it goes on has to stay known.
            raise InvalidWebhook(f"Webhook {endpoint.id} is being tried. Leave out --since to try again now.")
        if pending is not None:
            return replace(endpoint, pending=replace(pending, failures=0, next_at=now))
        delivered = [one.before for one in endpoint.attempts if one.refusal is None]
        if endpoint.cursor is None or (since is None and not delivered):
            raise InvalidWebhook(f"Webhook {endpoint.id} has not been sent anything yet. Give --since VERSION@INSTANT.")
        again = Pending(endpoint.cursor, now, next_at=now)
        return replace(endpoint, cursor=since or delivered[0], pending=again)

    return change_endpoint(file, named, back)


def checked_token(token: str) -> str:
    """Return a credential as a header can hold it, blanks around it dropped. Raises ``InvalidWebhook``."""
    token = token.strip()
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidWebhook("The token is empty or has characters that no request header can hold.")
    return token
