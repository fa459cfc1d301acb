"""Match entries with the pages of a site: by address where a generator's rows give it, else by text.

An address is a proposal, and the text decides: a page belongs to the entry whose text it holds. Each page is the page
of one entry at most.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from snapshots.adoption.proof.addresses import (
    ContentFile,
    Segments,
    folders_of,
    given_addresses,
    made_addresses,
    names_of,
    segments_of,
)
from snapshots.adoption.proof.built_pages import Page
from snapshots.adoption.proof.texts import Text

_HELD: Final = 0.5
"""The share of an entry's text on a page from which the page may be the entry's."""
_UNNAMED: Final = 0.4
"""Stands for that share where an entry has no text, and the page at its address does not have its title."""
_LONG: Final = 60
"""The characters from which a text is not on a page by chance."""
_COMMON: Final = 20
"""Pages from which on what stands on all of them says nothing about one."""
_MANY: Final = 50
"""Pages of one name among which only a text finds the right one."""


class How(IntEnum):
    """How a page was found, the surest last."""

    TEXT = 1
    NAME = 2
    ADDRESS = 3
    GIVEN = 4


class Sought(msgspec.Struct, frozen=True):
    """A text whose page is sought."""

    source: ContentFile
    title: str
    content: Text
    lang: str = ""
    """An empty text where any will do."""


class Match(msgspec.Struct, frozen=True):
    page: int
    """A position among the pages."""
    how: How
    share: float
    """How much of the text the page holds, from 0 to 1."""


class Pages:
    """The pages of a site, in the ways in which they are looked up."""

    def __init__(self, pages: Sequence[Page], languages: Iterable[str], templates: Sequence[str]) -> None:
        self.pages = pages
        self._templates = templates
        self._languages = {segments_of(code): code for code in languages}
        self._by_address: dict[Segments, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._langs = []
        for number, page in enumerate(pages):
            lang, rest = self._divided(page.segments)
            self._langs.append(lang)
            for address in {page.segments, rest}:
                self._by_address[address].append(number)
            if rest:
                self._by_name[rest[-1]].append(number)
        self._runs: dict[int, list[int]] | None = None

    def _divided(self, segments: Segments) -> tuple[str, Segments]:
        """Return the language that an address names in one of its first parts, and the address without it."""
        for at, part in enumerate(segments[:2]):
            if (part,) in self._languages:
                return self._languages[part,], (*segments[:at], *segments[at + 1 :])
        return "", segments

    def matches(self, sought: Sequence[Sought], taken: Iterable[int] = ()) -> dict[int, Match]:
        """Return the page of each that has one, by its position; pages that are ``taken`` are nobody's."""
        claimed = set(taken)
        found: dict[int, Match] = {}
        by_address = [(at, match) for at, one in enumerate(sought) for match in self._at_addresses(one)]
        self._settle(sought, by_address, found, claimed)
        rest = [at for at in range(len(sought)) if at not in found and len(sought[at].content.joined) >= _LONG]
        by_text = [(at, match) for at in rest for match in self._by_text(sought[at], claimed)]
        self._settle(sought, by_text, found, claimed)
        return found

    def _settle(
        self,
        sought: Sequence[Sought],
        proposals: list[tuple[int, Match]],
        found: dict[int, Match],
        claimed: set[int],
    ) -> None:
        """Give each page to the one whose claim is best."""

        def claim(proposal: tuple[int, Match]) -> tuple[float, ...]:
            at, match = proposal
            return (
                -(match.share >= _HELD),
                -self._speaks(match.page, sought[at].lang),
                -match.how,
                -match.share,
                -self._near(match.page, sought[at].source),
                match.page,
                at,
            )

        for at, match in sorted(proposals, key=claim):
            if at not in found and match.page not in claimed:
                found[at] = match
                claimed.add(match.page)

    def _at_addresses(self, one: Sought) -> Iterator[Match]:
        """Return the pages at the addresses that the text may have."""
        seen: set[int] = set()
        for how, addresses in (
            (How.GIVEN, given_addresses(one.source)),
            (How.ADDRESS, made_addresses(one.source, self._templates)),
        ):
            for address in dict.fromkeys(addresses):
                for page in self._by_address.get(address, ()):
                    if page not in seen and self._may_be(page, one):
                        seen.add(page)
                        yield from self._judged(page, how, one)
        for name in names_of(one.source):
            pages = self._by_name.get(name, ())
            for page in pages if len(pages) <= _MANY else ():
                if page not in seen and self._may_be(page, one):
                    seen.add(page)
                    yield from self._judged(page, How.NAME, one)

    def _judged(self, page: int, how: How, one: Sought) -> Iterator[Match]:
        """Return the match of a page, unless nothing but its name speaks for it."""
        if not one.content.joined:
            title = Text(one.title).joined.casefold()
            is_named = bool(title) and any(title in name for name in self.pages[page].named)
            if is_named or how >= How.ADDRESS:
                yield Match(page, how, 1.0 if is_named else _UNNAMED)
            return
        share = one.content.share_in(self.pages[page].content)
        if share >= _HELD or how >= How.ADDRESS:
            yield Match(page, how, share)

    def _may_be(self, page: int, one: Sought) -> bool:
        """Return whether a page's address does not name another language."""
        return not one.lang or self._langs[page] in ("", one.lang)

    def _speaks(self, page: int, lang: str) -> int:
        """Return how surely a page is in a language."""
        if not lang or self._langs[page] == lang:
            return 2
        return int(primary(self.pages[page].lang) in ("", primary(lang)))

    def _near(self, page: int, source: ContentFile) -> int:
        """Return how many of the folders that a file lies in are in the address of a page."""
        return len(set(self.pages[page].segments[:-1]) & set(folders_of(source)))

    def _by_text(self, one: Sought, claimed: set[int]) -> Iterator[Match]:
        """Return the pages that hold the text, of those that are nobody's."""
        for page in self.holders(one.content):
            if page not in claimed and self._may_be(page, one):
                share = one.content.share_in(self.pages[page].content)
                if share >= _HELD:
                    yield Match(page, How.TEXT, share)

    def holders(self, content: Text) -> list[int]:
        """Return the pages that share most with a text, those that share more first."""
        if self._runs is None:
            self._runs = defaultdict(list)
            for number, page in enumerate(self.pages):
                for run in page.content.runs:
                    self._runs[run].append(number)
        counts: Counter[int] = Counter()
        for run in content.runs:
            pages = self._runs.get(run, ())
            if len(pages) <= _COMMON:
                counts.update(pages)
        return [page for page, _ in counts.most_common(5)]

    def own_words(self, page: int, known: frozenset[int]) -> int:
        """Return about how many words of a page stand on no other page, and in no text that is ``known``."""
        self.holders(Text(""))
        assert self._runs is not None  # made above
        runs = self.pages[page].content.runs
        return 4 * sum(run not in known and len(self._runs[run]) == 1 for run in runs)


def primary(lang: str) -> str:
    """Return the first part of a language tag, in lower case."""
    return lang.replace("_", "-").partition("-")[0].lower()
