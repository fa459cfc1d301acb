"""What ends with an entry that is gone or renamed: the addresses of its pages, and references that lead nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from cli.changes.values import several
from cli.output.passages import Passage, Span, name, passage
from cli.output.wording import plural

if TYPE_CHECKING:
    from snapshots.compare.endings import EndedReference

SHOWN: Final = 10
"""Addresses and references that are named for each entry."""


def ended_addresses(page_url: str | None, entry: str, ends: Sequence[str], stays: Collection[str]) -> list[str]:
    """Return the addresses of an entry's pages that end, given the languages in which it is there no more, and those in
    which it is. An address without ``{lang}`` ends with the last language."""
    if page_url is None or ("{lang}" not in page_url and stays):
        return []
    pages = (page_url.replace("{id}", quote(entry)).replace("{lang}", quote(lang)) for lang in ends)
    return list(dict.fromkeys(pages))


def ending_passages(addresses: Sequence[str], references: Sequence[EndedReference]) -> Iterator[Passage]:
    """Return a line for the addresses that end, and one for the references."""
    if addresses:
        ends = "this address ends" if len(addresses) == 1 else "these addresses end"
        yield passage(f"{ends}: ", *_listed([[name(one)] for one in addresses], len(addresses)))
    by_entry = [
        (key, list(dict.fromkeys(f"{one.lang} draft" if one.draft else one.lang for one in some)))
        for key, some in groupby(references, key=lambda one: (one.api, one.id, one.field))
    ]
    if by_entry:
        parts: list[list[str | Span]] = [
            [name(f"{api}/{entry}"), f" ({field}; {several(langs)})"] for (api, entry, field), langs in by_entry
        ]
        count = len({(api, entry) for (api, entry, _), _ in by_entry})
        refer = "still refers to it" if count == 1 else "still refer to it"
        yield passage(f"{plural(count, 'entry')} {refer}: ", *_listed(parts, len(parts)))


def references_to(references: Sequence[EndedReference]) -> Mapping[tuple[str, str], list[EndedReference]]:
    """Return references by what they refer to: endpoint and ID."""
    found: dict[tuple[str, str], list[EndedReference]] = {}
    for one in sorted(references, key=lambda one: (one.to_api, one.to, one.api, one.id, one.field)):
        found.setdefault((one.to_api, one.to), []).append(one)
    return found


def _listed(items: Sequence[Sequence[str | Span]], count: int) -> Iterator[str | Span]:
    for number, parts in enumerate(items[:SHOWN]):
        if number:
            yield ", "
        yield from parts
    if count > SHOWN:
        yield f" and {count - SHOWN:,} more"
