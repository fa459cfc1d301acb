"""Tell whether a mirror may be answered from, and which parts of it are older than the store's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from server.mirror.behind import ALL, COUNTS
from server.mirror.contact import VIEWS_CONTACT, WEBHOOKS_CONTACT, Contact, ContactPage
from server.mirror.mirror import BEHIND_MS, POLL_SECONDS
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

_DELIVERY: Final = ("/v1/", "/assets/")
SILENT_MS: Final = BEHIND_MS + int(POLL_SECONDS * 1000)
"""Milliseconds after which the mirror's process, if it has not gone on meanwhile, has missed two polls."""
LOST_MS: Final = 30_000
"""Milliseconds without a sign of life after which a process counts as hanging or unable to write: no request to a store
takes as long, so the fault lies in this machine."""


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
        self._views_page = ContactPage(mirror.root, VIEWS_CONTACT)
        self._webhooks_page = ContactPage(mirror.root, WEBHOOKS_CONTACT)
        self._began_at = clock()
        self._max_stale = max_stale
        self._clock = clock

    def contact(self) -> Contact:
        """Return the state of the contact, as the mirror's process last wrote it."""
        return self._page.read()

    def age(self) -> float | None:
        """Return the seconds since the store last answered, ``None`` if it never did."""
        return self.contact().age(self._clock())

    def behind(self, workspace: str) -> dict[str, int]:
        """Return the parts of a workspace that have been older than the store's for more than two polls, and since
        when (UTC milliseconds)."""
        pages = (self.contact(), self._views_page.read(), self._webhooks_page.read())
        return self.silent() | {what: since for page in pages for what, since in page.behind.get(workspace, {}).items()}

    def silent(self) -> dict[str, int]:
        """Return the parts of every workspace whose state is unknown because a process hangs or cannot write its page,
        and since when (UTC milliseconds)."""
        found = {ALL: self._silence(self.contact(), SILENT_MS), COUNTS: self._silence(self._views_page.read(), LOST_MS)}
        return {what: since for what, since in found.items() if since is not None}

    def unable(self, workspaces: Iterable[str]) -> list[str]:
        """Return the workspaces that this machine cannot follow by its own fault: all of ``workspaces`` where one of
        its processes hangs."""
        pages = (self.contact(), self._views_page.read())
        lost = any(self._silence(page, LOST_MS) is not None for page in pages)
        return sorted({name for page in pages for name in page.unable} | (set(workspaces) if lost else set()))

    def _silence(self, page: Contact, most_ms: int) -> int | None:
        """Return when a process last went on, if that is longer ago than ``most_ms`` and this object is older than
        ``most_ms`` too; otherwise ``None``."""
        since = page.written_at
        return since if since is not None and self._clock() - max(since, self._began_at) > most_ms else None

    def refusal(self) -> NothingMirrored | TooOld | None:
        """Return the error for requests where the mirror may not be answered from, otherwise ``None``."""
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
