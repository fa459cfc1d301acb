"""The entries of a version and what a page's address asks for → the part of the list that the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from engine.overview.entries import STATES, EntryOverview, Listed, State
from snapshots.model import Api, Workspace

PER_PAGE: Final = 50
TITLE_LENGTH: Final = 120


class Asked(msgspec.Struct, frozen=True):
    """The choices in a list's address."""

    api: str = ""
    """Endpoint."""
    lang: str = ""
    state: State | None = None
    text: str = ""
    """What the ID contains."""
    page: int = 1
    at: str = ""
    """The instant to show, as people write it; empty for the present."""
    phrase: str = ""
    """``q`` of the API."""
    filters: str = ""
    """``filters`` of the API."""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Asked:
        """The parameters of a page; invalid ones are left out."""
        number = given.get("page", "")
        state = given.get("state", "")
        return cls(
            api=given.get("api", ""),
            lang=given.get("lang", ""),
            state=State(state) if state in set(STATES) else None,
            text=given.get("id", ""),
            page=max(1, int(number)) if re.fullmatch("[0-9]{1,6}", number) else 1,
            at=given.get("at", ""),
            phrase=given.get("q", ""),
            filters=given.get("filters", ""),
        )

    @property
    def searches(self) -> bool:
        """Whether entries are looked for as the API does, among those that are live."""
        return bool(self.phrase.strip() or self.filters)

    def query(self, **changed: str) -> dict[str, str]:
        """The parameters that ask for this, but for the API, with some of them changed."""
        return {
            "lang": self.lang,
            "state": self.state or "",
            "id": self.text,
            "q": self.phrase,
            "filters": self.filters,
            "at": self.at,
            "page": str(self.page) if self.page > 1 else "",
            **changed,
        }


class Found(msgspec.Struct, frozen=True):
    """What the API finds: entry IDs of one page, in its order, and the number of all."""

    ids: tuple[str, ...]
    total: int


Search = Callable[[Api, Asked, int, int], Found]
"""An API, what is asked for, the position of the first entry wanted, and their number → what is found."""


class EntryList(msgspec.Struct, frozen=True):
    """A page of a list."""

    api: Api
    asked: Asked
    entries: tuple[Listed, ...]
    total: int
    pages: int

    @property
    def first(self) -> int:
        """The position of the first entry shown, from 1 on."""
        return (self.asked.page - 1) * PER_PAGE + 1


def entry_list(overview: EntryOverview, api: Api, asked: Asked, at: int, search: Search | None = None) -> EntryList:
    """Return the page of a list that is asked for, or its last, as of ``at`` (UTC ms).

    Raises ``StoreError``, and what ``search`` raises.
    """
    lang = asked.lang if asked.lang in overview.manifest.workspace.languages_of(api) else ""
    asked = replace(asked, api=api.endpoint, lang=lang)
    if search is not None and asked.searches:
        found = search(api, asked, (asked.page - 1) * PER_PAGE, PER_PAGE)
        wished = lang or overview.manifest.workspace.main_language
        versions = overview.referred(api, found.ids, wished, at)
        entries = tuple(versions[one] for one in found.ids if one in versions)
        return EntryList(api, asked, entries, found.total, _pages(found.total))

    def page(number: int) -> tuple[int, tuple[Listed, ...]]:
        first = (number - 1) * PER_PAGE
        state, text = asked.state, asked.text
        part = overview.page(api, at, lang=lang or None, state=state, text=text, first=first, count=PER_PAGE)
        return part.total, part.entries

    total, entries = page(asked.page)
    pages = _pages(total)
    if asked.page > pages:
        asked = replace(asked, page=pages)
        total, entries = page(pages)
    return EntryList(api, asked, entries, total, pages)


def short_title(version: Listed) -> str:
    """The title of a version on one line, or its ID."""
    title = " ".join((version.title or "").split()) or version.id
    return f"{title[:TITLE_LENGTH]}…" if len(title) > TITLE_LENGTH else title


def api_counts(overview: EntryOverview, workspace: Workspace, at: int) -> Sequence[tuple[Api, list[tuple[State, int]]]]:
    """Return each API with the number of its versions in each state. Raises ``StoreError``."""
    return [(api, list(overview.counts(api, at).items())) for api in workspace.apis]


def _pages(total: int) -> int:
    return max(1, -(-total // PER_PAGE))
