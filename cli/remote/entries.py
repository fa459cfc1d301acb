"""Read the entries of an API in one language as clients see them, as JSON, all as of one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote

import msgspec

Ask = Callable[[str], bytes]
"""Answers what follows the workspace in a URL."""
A_PAGE: Final = 100

_encode = msgspec.json.Encoder().encode


class _Languages(msgspec.Struct):
    current: str
    available: tuple[str, ...]


class _Page(msgspec.Struct, rename="camel"):
    contents: list[dict[str, msgspec.Raw]]
    total_count: int


_page = msgspec.json.Decoder(_Page).decode
_item = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_id = msgspec.json.Decoder(str).decode
_languages = msgspec.json.Decoder(_Languages).decode


class Entries(msgspec.Struct):
    """The live entries of an API in one language."""

    by_id: dict[str, str]
    """The entries as JSON, with references as IDs, by ID."""
    main: str | None = None
    """The workspace's main language, if the entries were asked for without a language and there are any."""
    languages: frozenset[str] = frozenset()
    """The languages in which any of the entries is live."""


def visible_entries(ask: Ask, endpoint: str, *, is_object: bool, lang: str | None) -> Entries:
    """Read all entries of an API; without ``lang``, in the main language. Raises what ``ask`` raises."""
    query = "depth=0&include=_langs" + ("" if lang is None else f"&lang={quote(lang, safe='')}")
    path = quote(endpoint, safe="")
    found = Entries({})
    items = [_item(ask(f"{path}?{query}"))] if is_object else _listed(ask, f"{path}?{query}")
    for item in items:
        languages = _languages(item.pop("_langs"))
        found.languages |= frozenset(languages.available)
        found.main = languages.current if lang is None else None
        found.by_id[_id(item["id"])] = _encode(item).decode()
    return found


def _listed(ask: Ask, target: str) -> Iterator[dict[str, msgspec.Raw]]:
    offset = 0
    while True:
        page = _page(ask(f"{target}&limit={A_PAGE}&offset={offset}"))
        yield from page.contents
        offset += A_PAGE
        if offset >= page.total_count:
            return
