"""Parse request parameters to a ``ListQuery`` or an ``EntryQuery``, whatever the API is (contract 4.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec

from engine.read.query.filters import Filters, parse_filters
from engine.read.query.invalid_query import InvalidQuery, nearest, shown
from snapshots.ids import ID_IN_WORDS, valid_id

__all__ = ["EntryQuery", "InvalidQuery", "ListQuery", "OrderKey", "Parameters", "parse_entry_query", "parse_list_query"]

MAX_LIMIT: Final = 100
MAX_OFFSET: Final = 2**53 - 1
MAX_ORDERS: Final = 3
MAX_PHRASE: Final = 100
MAX_FIELDS: Final = 50
MAX_DEPTH: Final = 2

NAMES: Final = (
    *("limit", "offset", "orders", "filters", "q", "depth", "fields", "lang", "lang_fallback", "include", "draftKey"),
    *("ids", "days", "since", "client"),
)
"""The parameters of all read endpoints; of the last, two are those of view counts, one of changes, one of types."""
KNOWN: Final = frozenset(NAMES)
OTHER_WORDS: Final = {
    "expand": "depth",
    "language": "lang",
    "locale": "lang",
    "page": "offset",
    "per_page": "limit",
    "populate": "depth",
    "query": "q",
    "search": "q",
    "select": "fields",
    "size": "limit",
    "skip": "offset",
    "sort": "orders",
    "where": "filters",
}
"""The parameter that does the work, by the name that it has elsewhere."""
_LISTS: Final = {"orders": "-price,name", "fields": "name,price", "ids": "hello,world"}
"""The parameters whose one value is a list, with an example."""

Members: TypeAlias = Mapping[str, tuple[str, Callable[[str], object]]]
"""The members of a query with their parsers, by the name of the parameter."""

_INTEGER: Final = re.compile(r"0|[1-9][0-9]*")
_LONGEST_INTEGER: Final = len(str(MAX_OFFSET))


class OrderKey(msgspec.Struct, frozen=True):
    """One key of ``orders``."""

    field: str
    descending: bool


class EntryQuery(msgspec.Struct, frozen=True):
    """The parameters of a single-entry or object request (contract 4.2)."""

    depth: int = 1
    fields: frozenset[str] | None = None
    """The IDs named; ``None`` for all fields."""
    lang: str | None = None
    """The code as sent; ``None`` where it is left out."""
    lang_fallback: bool = False
    include_langs: bool = False
    draft_key: str | None = None
    strict: bool = False
    """Whether what the API does not have is an error where otherwise it has no effect (decision 76)."""


class ListQuery(msgspec.Struct, frozen=True):
    """The parameters of a list request (contract 4.1)."""

    limit: int = 10
    offset: int = 0
    orders: tuple[OrderKey, ...] = ()
    """Empty for the default order."""
    filters: Filters = msgspec.field(default_factory=Filters)
    phrase: str | None = None
    """``q`` with its ends trimmed; ``None`` for no search."""
    depth: int = 1
    fields: frozenset[str] | None = None
    lang: str | None = None
    lang_fallback: bool = False
    include_langs: bool = False
    strict: bool = False
    """Whether what the API does not have is an error where otherwise it has no effect (decision 76)."""


def parse_list_query(raw: bytes, *, strict: bool = False) -> ListQuery:
    """Return the ``ListQuery`` of a query string as sent. Raises ``InvalidQuery``; unknown parameters are ignored
    unless ``strict``."""
    return ListQuery(strict=strict, **Parameters(raw, strict=strict).members(_OF_LISTS))


def parse_entry_query(raw: bytes, draft_key_header: bytes | None, *, strict: bool = False) -> EntryQuery:
    """Return the ``EntryQuery`` of a query string as sent and the value of ``X-Draft-Key``.

    The header wins over the parameter (contract 4.10). Raises ``InvalidQuery``; parameters that such requests lack
    are ignored (decision 4), with ``strict`` those of other requests only.
    """
    given = Parameters(raw, strict=strict)
    if draft_key_header is not None:
        draft_key: str | None = _draft_key("X-Draft-Key", draft_key_header.decode("latin-1"))
    elif (text := given.text("draftKey")) is not None:
        draft_key = _draft_key("draftKey", text)
    else:
        draft_key = None
    return EntryQuery(draft_key=draft_key, strict=strict, **given.members(_OF_ENTRIES))


def decoded(name: str, raw: str) -> str:
    """A parameter's text with ``+`` as a space and percent escapes undone. Raises ``InvalidQuery`` if not UTF-8."""
    if raw.isascii() and "%" not in raw and "+" not in raw:
        return raw  # most texts: decoding takes several times as long
    try:
        return unquote_to_bytes(raw.replace("+", " ").encode("utf-8", "surrogateescape")).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidQuery(f"{name}: the value is not UTF-8 once percent-decoded. Encode it as UTF-8.") from None


def ignored_parameters(raw: bytes) -> list[str]:
    """The names in a query string that no read endpoint has, decoded, each once (decision 59)."""
    return [name for name in Parameters(raw) if name and name not in KNOWN]


class Parameters:
    """A query string's parameters, each still encoded; of a repeated one the last (decision 4)."""

    def __init__(self, raw: bytes, *, strict: bool = False) -> None:
        """Raise ``InvalidQuery`` for unknown and repeated ones where ``strict`` (decision 76)."""
        self._raw: dict[str, str] = {}
        for part in raw.decode("utf-8", "surrogateescape").split("&"):
            name, _, value = part.partition("=")
            if name not in KNOWN:
                try:
                    name = decoded("name", name)
                except InvalidQuery:
                    if strict:
                        raise
                    continue  # a name that is no text is the name of no parameter
            if strict and part:
                _check(name, self._raw)
            self._raw[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def text(self, name: str) -> str | None:
        value = self._raw.get(name)
        return None if value is None else decoded(name, value)

    def integer(self, name: str, least: int, most: int, default: int) -> int:
        """The value as a whole number: ASCII digits only, no leading zero (decision 5)."""
        text = self.text(name)
        return default if text is None else _integer(name, least, most, text)

    def members(self, known: Members) -> dict[str, Any]:
        """The values of the parameters that are ``known`` and given, each by the name and from the parser that it is
        known with, in the order of ``known``. A parser gets the decoded text, that of ``filters`` the raw one."""
        found = self._raw
        return {
            member: parse(found[name] if name == "filters" else decoded(name, found[name]))
            for name, (member, parse) in known.items()
            if name in found
        }


def _integer(name: str, least: int, most: int, text: str) -> int:
    # Python refuses to read very long numbers, so their length is compared too.
    if not _INTEGER.fullmatch(text) or len(text) > _LONGEST_INTEGER or not least <= int(text) <= most:
        raise InvalidQuery(f"{name}: expected an integer from {least} to {most}, got {shown(text)}.")
    return int(text)


def _check(name: str, before: Collection[str]) -> None:
    """Raise ``InvalidQuery`` for a parameter that no read endpoint has, or that was given ``before``."""
    if name not in KNOWN:
        raise InvalidQuery(_unknown(name))
    if name in before:
        raise InvalidQuery(_repeated(name))


def _unknown(name: str) -> str:
    """Return what is wrong with a parameter that no read endpoint has."""
    what = f"There is no parameter {shown(name)}."
    beginning = name.partition("[")[0]
    meant = beginning if beginning in KNOWN else OTHER_WORDS.get(beginning.lower())
    if meant is None:
        return what + nearest(name, NAMES)
    if meant == "filters" and beginning != name:
        return f"{what} All conditions are one value: filters=price[less_than]300[and]name[exists], for example."
    if meant in _LISTS and beginning != name:
        return f"{what} A list is one value: {meant}={_LISTS[meant]}, for example."
    return f'{what} Did you mean "{meant}"?'


def _repeated(name: str) -> str:
    """Return what is wrong with a parameter that is given again."""
    how = "Give it once"
    if name in _LISTS:
        how += f", with commas: {name}={_LISTS[name]}, for example"
    return f"{name}: given more than once, and only the last would count. {how}."


def _orders(text: str) -> tuple[OrderKey, ...]:
    if not text:
        return ()
    keys = text.split(",")
    if len(keys) > MAX_ORDERS:
        raise InvalidQuery(f"orders: at most {MAX_ORDERS} keys, got {len(keys)} in {shown(text)}.")
    if not all(key.removeprefix("-") for key in keys):
        raise InvalidQuery(f"orders: a key is empty in {shown(text)}. Write keys with a comma between two.")
    return tuple(OrderKey(key.removeprefix("-"), key.startswith("-")) for key in keys)


def _phrase(text: str) -> str | None:
    if len(text) > MAX_PHRASE:
        raise InvalidQuery(f"q: at most {MAX_PHRASE} characters, got {len(text)}.")
    return text.strip() or None


def _fields(text: str) -> frozenset[str] | None:
    """The field IDs selected (decision 9). A value of blanks alone still selects: ``id`` alone comes back."""
    if not text:
        return None
    names = text.split(",")
    if len(names) > MAX_FIELDS:
        raise InvalidQuery(f"fields: at most {MAX_FIELDS} field IDs, got {len(names)}.")
    return frozenset(name.strip() for name in names)


def _lang(text: str) -> str:
    if not text:
        raise InvalidQuery("lang: expected a language code, got nothing. Leave lang out for the main language.")
    return text


def _lang_fallback(text: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidQuery(f"lang_fallback: expected true or false, got {shown(text)}.")
    return text == "true"


def _include(text: str) -> bool:
    for name in text.split(","):
        if name != "_langs":
            raise InvalidQuery(f"include: only _langs can be included, got {shown(name)}.")
    return True


def _draft_key(name: str, text: str) -> str:
    if not valid_id(text):
        raise InvalidQuery(f"{name}: a draft key is {ID_IN_WORDS}, got {shown(text)}.")
    return text


def _filters(raw: str) -> Filters:
    return parse_filters(raw, partial(decoded, "filters"))


_OF_ENTRIES: Final[Members] = {
    "depth": ("depth", partial(_integer, "depth", 0, MAX_DEPTH)),
    "fields": ("fields", _fields),
    "lang": ("lang", _lang),
    "lang_fallback": ("lang_fallback", _lang_fallback),
    "include": ("include_langs", _include),
}
"""The parameters of a single entry but for its draft key: the members of ``EntryQuery``, and their parsers."""
_OF_LISTS: Final[Members] = {
    "limit": ("limit", partial(_integer, "limit", 1, MAX_LIMIT)),
    "offset": ("offset", partial(_integer, "offset", 0, MAX_OFFSET)),
    "orders": ("orders", _orders),
    "filters": ("filters", _filters),
    "q": ("phrase", _phrase),
    **_OF_ENTRIES,
}
"""Those of a list: the members of ``ListQuery``."""
