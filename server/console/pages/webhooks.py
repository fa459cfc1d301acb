"""The tab *Webhooks*: which receivers are told of changes, how each try went and what comes next; trying and telling
them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from engine.access.keys.access import AccessFile
from engine.administration.webhooks import disable_webhook, enable_webhook, host, replay
from engine.webhooks.coming import coming
from engine.webhooks.editing import UnknownWebhook
from engine.webhooks.endpoint import Attempt, Endpoint, EndpointState, InvalidWebhook, state_text, subscription_text
from engine.webhooks.schedule import PAUSES
from engine.webhooks.trial import Trial, try_endpoint
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.visit import Moved, Outcome, PageRefused, Shown, Visit

MOST_TRIES: Final = len(PAUSES) + 1


class Row(msgspec.Struct, frozen=True):
    """A webhook as the list shows it."""

    endpoint: Endpoint
    host: str
    tells: str
    """The changes that it is told of."""
    state: str
    last: Attempt | None
    next: Next


class Next(msgspec.Struct, frozen=True):
    """The next event that an endpoint is sent."""

    sentence: str
    at: int | None = None
    """UTC milliseconds; ``None`` where it is not known when, or at once."""


def listed(visit: Visit) -> Shown:
    """Show all webhooks, or how to set one up."""
    rows = [_row(visit, endpoint) for endpoint in visit.webhooks]
    return Shown("webhooks/webhooks.html", {"rows": rows})


def show(visit: Visit) -> Shown:
    """Show a webhook and its last tries."""
    return _shown(visit, _asked(visit), None)


def change_state(visit: Visit) -> Outcome:
    """Disable a webhook, or enable it again."""
    endpoint = _asked(visit)
    disables = visit.form.one("to") == "disabled"
    _existing(lambda: (disable_webhook if disables else enable_webhook)(visit.administrator, endpoint.id))
    return Moved(_path(visit, endpoint), {"done": "disabled" if disables else "enabled"})


def tell_again(visit: Visit) -> Outcome:
    """Send the last event again, or try a failed one again now."""
    endpoint = _asked(visit)
    try:
        _existing(lambda: replay(visit.administrator, endpoint.id, None))
    except InvalidWebhook:
        why = "No event has been sent yet, so there is none to send again."
        raise PageRefused(409, "Nothing to send again", why) from None
    return Moved(_path(visit, endpoint), {"done": "replayed"})


def send_test(visit: Visit) -> Shown:
    """Send a test event and show the answer. It may take as long as a receiver may."""
    endpoint = _asked(visit)
    trial = try_endpoint(endpoint, visit.workspace, allow_loopback=visit.context.allow_loopback, now=visit.now)
    return _shown(visit, endpoint, trial)


def _shown(visit: Visit, endpoint: Endpoint, trial: Trial | None) -> Shown:
    values = {
        "row": _row(visit, endpoint),
        "trial": trial,
        "note": _NOTES.get(visit.query.one("done")),
        "can_replay": endpoint.pending is not None or any(one.refusal is None for one in endpoint.attempts),
    }
    return Shown("webhooks/webhook.html", values)


_NOTES: Final = {
    "disabled": "The webhook is disabled: it gets no events until it is enabled again.",
    "enabled": "The webhook is enabled. Everything that changed since its last event is sent at once.",
    "replayed": "A running server sends the event within a few seconds. Load the page again to see how it went.",
}


def _row(visit: Visit, endpoint: Endpoint) -> Row:
    return Row(
        endpoint=endpoint,
        host=host(endpoint.url),
        tells=subscription_text(endpoint, visit.workspace),
        state=state_text(endpoint),
        last=next(iter(endpoint.attempts), None),
        next=_next(visit, endpoint),
    )


def _next(visit: Visit, endpoint: Endpoint) -> Next:
    pending, cursor = endpoint.pending, endpoint.cursor
    if endpoint.stopped is not None:
        return Next(_STOPPED[endpoint.stopped.state])
    if pending is not None and pending.failures:
        return Next(f"Try {pending.failures + 1} of {MOST_TRIES}", pending.next_at)
    if pending is not None or cursor is None or cursor.version != visit.manifest.version:
        return Next("An event is being sent")
    access = AccessFile(visit.workspace_store).read()
    found = coming(endpoint, visit.timeline.flips, access.keys if access is not None else (), visit.zone, visit.now)
    return Next("Nothing is due until somebody publishes") if found is None else Next(found.sentence, found.at)


_STOPPED: Final = {
    EndpointState.DISABLED: "Nothing, while it is disabled",
    EndpointState.GONE: "Nothing: the receiver answered 410, that it is gone",
    EndpointState.GIVEN_UP: f"Nothing: the server gave up after {MOST_TRIES} failed tries",
}


def _asked(visit: Visit) -> Endpoint:
    named = visit.path["webhook"]
    found = next((one for one in visit.webhooks if one.id == named), None)
    if found is None:
        raise _gone()
    return found


def _existing(change: Callable[[], Endpoint]) -> None:
    try:
        change()
    except UnknownWebhook:  # deleted since the page was asked for
        raise _gone() from None


def _gone() -> PageRefused:
    return PageRefused(404, "No such webhook", "It was deleted, or the address is wrong. Nothing was changed.")


def _path(visit: Visit, endpoint: Endpoint) -> tuple[str, ...]:
    return (visit.workspace.id, "webhooks", endpoint.id)


_POST: Final = ("POST",)
SECTION: Final = ConsoleSection(
    "Webhooks",
    (
        ConsolePage("/webhooks", listed),
        ConsolePage("/webhooks/{webhook}", show),
        ConsolePage("/webhooks/{webhook}/state", change_state, manages=True, methods=_POST),
        ConsolePage("/webhooks/{webhook}/replay", tell_again, manages=True, methods=_POST),
        ConsolePage("/webhooks/{webhook}/test", send_test, manages=True, methods=_POST, waits=True),
    ),
    is_set_up=lambda visit: visit.webhooks,
)
