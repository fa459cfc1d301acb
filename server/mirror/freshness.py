"""Whether a mirror may be answered from: once it is complete, for ``CMS_MAX_STALE`` without contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from server.mirror.contact import Contact, ContactPage
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

_DELIVERY: Final = ("/v1/", "/assets/")


class NothingMirrored(ParquetryError):
    """This machine has never had the store's content, and cannot tell keys from each other yet (503)."""

    def __init__(self) -> None:
        super().__init__("The content has not reached this server yet. Try again in a moment.")


class TooOld(ParquetryError):
    """The store was not reached for longer than ``CMS_MAX_STALE`` (503)."""

    def __init__(self) -> None:
        super().__init__(
            "The content on this server may be out of date, and its store cannot be reached. Try again later."
        )


class Freshness:
    """The contact of a machine with its store, as far as answers depend on it."""

    def __init__(self, mirror: Store, max_stale: float | None, clock: Callable[[], int]) -> None:
        """``max_stale`` is in seconds; ``None`` allows an outage of any length."""
        self._page = ContactPage(mirror.root)
        self._max_stale = max_stale
        self._clock = clock

    def contact(self) -> Contact:
        """Return what is known of the contact."""
        return self._page.read()

    def age(self) -> float | None:
        """Return the seconds since the store last answered, ``None`` if it never did."""
        return self.contact().age(self._clock())

    def refusal(self) -> NothingMirrored | TooOld | None:
        """Return why nothing may be answered, ``None`` where it may."""
        contact = self.contact()
        if not contact.complete:
            return NothingMirrored()
        age = contact.age(self._clock())
        if self._max_stale is not None and (age is None or age > self._max_stale):
            return TooOld()
        return None


class FreshnessLayer:
    """Refuses reads of content that may not be answered, and passes on all others."""

    def __init__(self, app: ASGIApp, freshness: Freshness) -> None:
        self._app = app
        self._freshness = freshness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "OPTIONS" and scope["path"].startswith(_DELIVERY):
            refusal = self._freshness.refusal()
            if refusal is not None:
                raise refusal
        await self._app(scope, receive, send)
