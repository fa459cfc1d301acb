"""Find the element in which a site's pages have the text of their entry, and what more than that it says on some pages.

No generator says which element that is. Where on most pages of an API one holds the whole text of the entry, and beside
it the title at most, what it holds besides on the other pages is text that their entries lack.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from snapshots.adoption.proof.built_pages import Page, text_of
from snapshots.adoption.proof.texts import Difference, Text

_LONG: Final = 60
"""The characters from which a text is not in an element by chance."""
_PAGES: Final = 2
"""Pages on which an element has to hold nothing else, and more of them than others."""


class Shown(NamedTuple):
    """An entry's text, as its page shows it."""

    api: str
    title: str
    content: Text
    page: Page


def lacking(every: Sequence[Shown]) -> dict[int, list[Difference]]:
    """Return, by position, what stands on pages before or after the texts of their entries, and should be part of
    them."""
    by_api: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(every):
        if len(one.content.joined) >= _LONG and one.content.joined in one.page.content.joined:
            by_api[one.api].append(at)
    found: dict[int, list[Difference]] = {}
    for mine in by_api.values():
        around = {at: dict(_more_in_elements(every[at])) for at in mine} if len(mine) > _PAGES else {}
        element = _of_texts(around)
        for at, more in around.items():
            if element is not None and any(more.get(element, ())):
                found[at] = list(_differences(every[at], element))
    return found


def _of_texts(around: Mapping[int, Mapping[str, tuple[int, int]]]) -> str | None:
    """Return the outermost element that holds nothing else on most pages that have it, given the words that each holds
    besides; ``None`` where there is none."""
    pages = Counter(element for more in around.values() for element in more)
    alone = Counter(element for more in around.values() for element, beside in more.items() if not any(beside))
    chosen = [element for element, count in alone.items() if count >= _PAGES and 2 * count > pages[element]]
    return min(chosen, key=len, default=None)


def _more_in_elements(one: Shown) -> Iterator[tuple[str, tuple[int, int]]]:
    for element, text in _elements(one):
        yield element, _beside(one, text)


def _beside(one: Shown, element: Text) -> tuple[int, int]:
    """Return how many words an element holds before and after a text, without the title before it."""
    before, after = element.beside(one.content)
    return before - _words_of_title(one, element.words[:before]), after


def _words_of_title(one: Shown, words: Sequence[str]) -> int:
    """Return how many of the first words are a title of the page."""
    titles = {Text(one.title).joined.casefold(), *one.page.named}
    longest, joined, count = max(map(len, titles)), "", 0
    for number, word in enumerate(words, 1):
        joined += word.casefold()
        if len(joined) > longest:
            break
        count = number if joined in titles else count
    return count


def _elements(one: Shown) -> Iterator[tuple[str, Text]]:
    """Return the elements of a page that hold a whole text, the outermost first: the tags on the way, and the text."""
    parser = LexborHTMLParser(one.page.file.read_bytes())
    text_of(parser)
    node, way = parser.body, "body"
    while node is not None:
        inside = None
        for child in node.iter():
            text = Text(child.text(separator=" "))
            if one.content.joined in text.joined:
                inside, way = child, f"{way} > {child.tag}"
                yield way, text
                break
        node = inside


def _differences(one: Shown, element: str) -> Iterator[Difference]:
    """Return what an element of the page holds before and after the text."""
    theirs, mine = dict(_elements(one))[element], one.content
    before, after = theirs.beside(mine)
    first, last = _words_of_title(one, theirs.words[:before]), len(theirs.words) - after
    if first < before:
        yield Difference(mine.shown(0, 0), theirs.shown(first, before))
    if after:
        yield Difference(mine.shown(len(mine.words), len(mine.words)), theirs.shown(last, len(theirs.words)))
