"""Choose the part of a version's list of entries that a page shows, by the parameters of the page's address."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from engine.read.all_versions.all_versions import AllVersions, Listed
from engine.read.query.invalid_query import InvalidQuery
from engine.read.query.plan import Wanted
from engine.read.reader.statement import QueryTimeout
from engine.timeline.states import STATES, State
from engine.timeline.timeline import Timeline
from snapshots.model import Api, Workspace

PER_PAGE: Final = 50
TITLE_LENGTH: Final = 120


class ListChoices(msgspec.Struct, frozen=True):
    """The choices in a list's address."""

    api: str = ""
    """Endpoint."""
    lang: str = ""
    state: State | None = None
    text: str = ""
    """A part of the ID."""
    page: int = 1
    at: str = ""
    """The instant to show, as people write it; empty for the present."""
    phrase: str = ""
    """``q`` of the API."""
    filters: str = ""
    """``filters`` of the API."""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> ListChoices:
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


class EntryList(msgspec.Struct, frozen=True):
    """A page of a list."""

    api: Api
    asked: ListChoices
    entries: tuple[Listed, ...]
    total: int
    pages: int
    wrong: str | None = None
    """The reason why the list is one without the search and the filters that are asked for."""

    @property
    def first(self) -> int:
        """The position of the first entry shown, from 1 on."""
        return (self.asked.page - 1) * PER_PAGE + 1


def entry_list(versions: AllVersions, api: Api, asked: ListChoices, at: int) -> EntryList:
    """Return the page of a list that is asked for, or its last, as of ``at`` (UTC ms). Raises ``SnapshotUnusable``."""
    asked = replace(asked, lang=asked.lang if asked.lang in versions.manifest.workspace.languages_of(api) else "")
    try:
        return _entry_list(versions, api, asked, at, {"q": asked.phrase, "filters": asked.filters})
    except (InvalidQuery, QueryTimeout) as error:
        return replace(_entry_list(versions, api, asked, at, {}), wrong=str(error))


def _entry_list(versions: AllVersions, api: Api, asked: ListChoices, at: int, query: Mapping[str, str]) -> EntryList:
    wanted = Wanted(asked.lang or None, asked.state, asked.text, first=(asked.page - 1) * PER_PAGE, count=PER_PAGE)
    found = versions.page(api, at, wanted, urlencode({**query, "orders": "-updatedAt"}))
    pages = max(1, -(-found.total // PER_PAGE))
    if asked.page > pages:
        return _entry_list(versions, api, replace(asked, page=pages), at, query)
    return EntryList(api, asked, found.entries, found.total, pages)


def short_title(version: Listed) -> str:
    """The title of a version on one line, or its ID."""
    title = " ".join((version.title or "").split()) or version.id
    return f"{title[:TITLE_LENGTH]}…" if len(title) > TITLE_LENGTH else title


def api_counts(timeline: Timeline, workspace: Workspace, at: int) -> Sequence[tuple[Api, list[tuple[State, int]]]]:
    """Return each API with the number of its versions in each state. Raises ``StoreError``."""
    found: dict[str, Counter[State]] = {api.endpoint: Counter() for api in workspace.apis}
    for one in timeline.counts(at):
        found[one.api].update(one.by_state)
    return [(api, [(state, found[api.endpoint][state]) for state in STATES]) for api in workspace.apis]
