"""Tell people which event an endpoint is sent next if nothing else changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

import msgspec

from engine.access.keys.keys import Key
from engine.timeline.flips import Flips
from engine.webhooks.endpoint import Endpoint, Reason
from engine.webhooks.formats import FORMATS
from engine.webhooks.key_events import KeyEventType, key_events

_OF_KEYS = {KeyEventType.EXPIRING: "An API key is about to expire", KeyEventType.EXPIRED: "An API key expires"}


class Coming(msgspec.Struct, frozen=True):
    """An instant at which an endpoint is told of something."""

    at: int
    """UTC milliseconds."""
    sentence: str
    """The event at that instant, for people."""


def coming(endpoint: Endpoint, flips: Flips, keys: Iterable[Key], zone: tzinfo, now: int) -> Coming | None:
    """Return the first instant after ``now`` (UTC milliseconds) at which the endpoint is told of something, or
    ``None``.

    ``flips`` are the flips of the current version; days of keys begin at midnight in ``zone``, the workspace's.
    """
    found = []
    flip = flips.next(now)
    if flip is not None and (endpoint.reasons is None or Reason.FLIP in endpoint.reasons):
        is_limited = endpoint.apis is not None or endpoint.langs is not None
        said = "At the earliest, the next change on schedule" if is_limited else "The next change on schedule"
        found.append(Coming(flip, said))
    if endpoint.reasons is None and FORMATS[endpoint.format].tells_keys:
        found += [Coming(event.at, _OF_KEYS[event.type]) for event in key_events(keys, zone) if event.at > now]
    return min(found, key=lambda one: one.at, default=None)
