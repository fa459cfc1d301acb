"""Compare a workspace with a site, both ways: the pages of its entries, and the entries of its pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from snapshots.adoption.proof.built_pages import Built, Page
from snapshots.adoption.proof.containers import Shown, lacking
from snapshots.adoption.proof.entries import Bases, Entry, HeldBack, held_back, live_entries
from snapshots.adoption.proof.matching import Match, Pages, Sought, primary
from snapshots.adoption.proof.texts import Difference, Text
from snapshots.adoption.registry import generator_of
from snapshots.adoption.sites import content_files, look_at
from snapshots.build.build import Surveyed
from snapshots.problems import ParquetryError

_HELD: Final = 0.5
_LONG: Final = 60
_OWN_WORDS: Final = 24
"""Words of its own from which a page is one that somebody wrote."""
_WORDS_OF_TEMPLATES: Final = 0.5
"""The share of its words from which those of its own make a page one that somebody wrote."""
_NOT_FOUND: Final = "404"
"""The last part of the address of a page that templates make for addresses without one."""
_ZONES: Final = 1
"""Days between which the same instant can lie in two time zones."""


class Aspect(StrEnum):
    """What a page says otherwise than its entry."""

    TEXT = "text"
    MARKS = "marks"
    """Those between the words of a text."""
    TITLE = "title"
    DATE = "date"
    LANGUAGE = "language"


class Otherwise(msgspec.Struct, frozen=True):
    """Something that the entry and its page do not say alike."""

    aspect: Aspect
    differences: tuple[Difference, ...]


class Pair(msgspec.Struct, frozen=True):
    """An entry and its page."""

    entry: str
    file: str
    page: str
    how: str
    otherwise: tuple[Otherwise, ...]


class Only(msgspec.Struct, frozen=True):
    """An entry without a page, or a page without an entry."""

    name: str
    """The entry, such as ``posts/hello (en)``, or the address of the page."""
    file: str
    why: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """The outcome."""

    generator: str
    pages: int
    entries: int
    pairs: tuple[Pair, ...]
    unpublished: tuple[Only, ...]
    """Entries that the site does not publish."""
    inside: tuple[Only, ...]
    """Entries whose text stands on the page of another, or of a list."""
    data: tuple[Only, ...]
    """Entries of which the generator makes other pages."""
    held_back: tuple[Only, ...]
    """Pages of content that is not live here."""
    unknown: tuple[Only, ...]
    """Pages with a text of their own that no content file has."""
    templates: tuple[str, ...]
    """Pages that templates make of others."""
    redirects: tuple[str, ...]
    unsaved: tuple[str, ...]
    """Addresses in the sitemap of which no page was saved."""

    def differing(self, aspect: Aspect) -> list[Pair]:
        """Return the entries of which the page says something otherwise."""
        return [pair for pair in self.pairs if any(one.aspect is aspect for one in pair.otherwise)]


def compared(root: Path, folder: Path, surveyed: Surveyed, built: Built, now: int) -> Comparison:
    """Return how the entries of the workspace at ``root`` compare with pages: those live at ``now`` (UTC milliseconds).

    ``folder`` is that of the site. Raises ``ParquetryError`` where the workspace has errors.
    """
    if surveyed.inputs is None or surveyed.problems.errors:
        raise ParquetryError("The workspace has errors, so its entries are not known. `cms check` lists them.")
    site, generator = look_at(folder), generator_of(folder)
    bases = Bases(folder, generator)
    entries = live_entries(root, surveyed, site, bases, now)
    languages = surveyed.inputs.definitions.workspace.languages
    pages = Pages(built.pages, languages, generator.address_templates(folder))
    with_pages = [entry for entry in entries if entry.is_page]
    found = pages.matches([Sought(one.source, one.title, one.content, one.lang) for one in with_pages])
    matched = [(with_pages[at], pages.pages[match.page], match) for at, match in sorted(found.items())]
    lost = lacking([Shown(entry.api, entry.title, entry.content, page) for entry, page, _ in matched])
    pairs = [_pair(*one, lost.get(at, [])) for at, one in enumerate(matched)]
    without = [entry for at, entry in enumerate(with_pages) if at not in found]
    inside, unpublished = list[Only](), list[Only]()
    for entry in without:
        where = _inside(entry, pages)
        only = Only(entry.name, entry.source.file, f"on {where}" if where else "")
        (inside if where else unpublished).append(only)
    taken = {match.page for match in found.values()}
    live = {entry.source.file for entry in entries}
    held = list(held_back(folder, content_files(folder), surveyed, site, bases, live, now))
    back = pages.matches([Sought(one.source, one.title, one.content) for one in held], taken)
    sure = {at: match for at, match in back.items() if match.share >= _HELD}
    taken |= {match.page for match in sure.values()}
    known = frozenset[int]().union(*(entry.content.runs for entry in entries))
    rest = [number for number in range(len(built.pages)) if number not in taken]
    unknown = {number for number in rest if _is_written(pages, number, known)}
    return Comparison(
        generator.name,
        len(built.pages),
        len(entries),
        tuple(pairs),
        tuple(unpublished),
        tuple(inside),
        tuple(Only(one.name, one.source.file) for one in entries if not one.is_page),
        tuple(_held_page(held[at], built.pages[match.page]) for at, match in sorted(sure.items())),
        tuple(Only(built.pages[number].address, "") for number in rest if number in unknown),
        tuple(built.pages[number].address for number in rest if number not in unknown),
        tuple(built.redirects),
        tuple(built.unsaved),
    )


def _held_page(one: HeldBack, page: Page) -> Only:
    return Only(page.address, one.source.file, one.why)


def _inside(entry: Entry, pages: Pages) -> str:
    """Return the address of a page on which the whole text of an entry stands; or none."""
    if len(entry.content.joined) < _LONG:
        return ""
    title = Text(entry.title).joined
    for number in pages.holders(entry.content):
        content = pages.pages[number].content
        if entry.content.joined in content.joined and title in content.joined:
            return pages.pages[number].address
    return ""


def _is_written(pages: Pages, number: int, known: frozenset[int]) -> bool:
    if pages.pages[number].segments[-1:] == (_NOT_FOUND,):
        return False
    own, every = pages.own_words(number, known), len(pages.pages[number].content.words)
    return own >= _OWN_WORDS and own >= _WORDS_OF_TEMPLATES * every / 2


def _pair(entry: Entry, page: Page, match: Match, lost: Iterable[Difference]) -> Pair:
    otherwise = tuple(_otherwise(entry, page, lost))
    return Pair(entry.name, entry.source.file, page.address, match.how.name.lower(), otherwise)


def _otherwise(entry: Entry, page: Page, lost: Iterable[Difference]) -> Iterator[Otherwise]:
    differences = [*entry.content.differences(page.content), *lost]
    if differences:
        yield Otherwise(Aspect.TEXT, tuple(differences))
    marks = entry.content.other_marks(page.content)
    if marks:
        yield Otherwise(Aspect.MARKS, tuple(marks))
    title = Text(entry.title).joined.casefold()
    if title and not any(title in name for name in page.named) and title not in page.content.joined.casefold():
        yield Otherwise(Aspect.TITLE, (Difference(entry.title, " / ".join(page.titles)),))
    if entry.days and page.days and not _near(entry.days, page.days) and not _written(entry, page):
        stated = Difference(", ".join(sorted(entry.days)), ", ".join(sorted(page.days)))
        yield Otherwise(Aspect.DATE, (stated,))
    if page.lang and primary(page.lang) != primary(entry.lang):
        yield Otherwise(Aspect.LANGUAGE, (Difference(entry.lang, page.lang),))


def _near(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return any(abs((_day(one) - _day(other)).days) <= _ZONES for one in mine for other in theirs)


def _day(written: str) -> date:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return date.min


def _written(entry: Entry, page: Page) -> bool:
    """Return whether a page writes one of the days of its entry for people."""
    text = page.content.joined
    for written in entry.days:
        day = _day(written)
        forms = (
            f"{day:%B}{day.day}{day.year}",
            f"{day:%b}{day.day}{day.year}",
            f"{day.day}{day:%B}{day.year}",
            f"{day.day}{day:%b}{day.year}",
            f"{day:%d}{day:%b}{day.year}",
            f"{day:%B}{day:%d}{day.year}",
            f"{day:%b}{day:%d}{day.year}",
            f"{day.year}年{day.month}月{day.day}日",
            f"{day:%Y%m%d}",
            f"{day:%d%m%Y}",
            f"{day:%m%d%Y}",
        )
        if any(form in text for form in forms):
            return True
    return False
