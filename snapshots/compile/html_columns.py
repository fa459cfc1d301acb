"""HTML of many values at once → the search texts of those that are plain (``plain_html``), from all bytes together.

By itself every text is gone through a dozen times. Here the brackets of all are found in one go, and one copy leaves
the tags out; how the tags follow each other is looked at once for texts that are built alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.compile.plain_html import (
    MARK,
    OTHER_ENTITY,
    TAGS,
    WITH_ATTRIBUTE,
    between_texts,
    decoded,
    one_line,
)

MOST: Final = 1 << 20
"""Characters worked on together, and in one text."""

_Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
_Offsets: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"
_Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"

_LESS, _SPACE = ord("<"), ord(" ")
_EITHER: Final = 0xFF - (ord("<") ^ ord(">"))
"""The bits in which both brackets are alike."""
_WORD: Final = 8
_PADDING: Final = 2 * _WORD * " "
_NAMES: Final = [*(tag.removeprefix(MARK).encode() for tag in TAGS), b"a"]
"""By their number; the last is a link, which has attributes and so is not found by name."""
_NUMBERS: Final = {name: number for number, name in enumerate(_NAMES)}
_LINK: Final = MARK + 'a href="https://x"'
_UNKNOWN: Final = 255
_FIRST_BYTES: Final[_Words] = np.array([*((1 << 8 * length) - 1 for length in range(_WORD + 1))], dtype=np.uint64)
"""Length of a name → the bits of its first eight bytes."""
_SHAPES: Final = 1_000
"""Tags: how more of them follow each other is not remembered."""


def _short_names() -> tuple[_Words, _Bytes]:
    """The names of at most eight bytes as numbers, in ascending order, and which names they are."""
    found = {int.from_bytes(name, "little"): at for at, name in enumerate(_NAMES[:-1]) if len(name) <= _WORD}
    keys = sorted(found)
    return np.array(keys, dtype="<u8"), np.array([found[key] for key in keys], dtype=np.uint8)


_KEYS, _KEY_NAMES = _short_names()


def search_texts(htmls: Sequence[str]) -> list[str | None]:
    """What searching looks at of each HTML that sanitising would leave as it is.

    ``None`` for the others, and for unusual ones, as all beyond ASCII are: they have to be looked at by themselves.
    """
    found: list[str | None] = []
    first = size = 0
    for at, html in enumerate(htmls):
        if at > first and size + len(html) > MOST:
            found += _of_some(htmls[first:at])
            first, size = at, 0
        size += len(html)
    return found + _of_some(htmls[first:]) if htmls else found


def _of_some(htmls: Sequence[str]) -> list[str | None]:
    """The search texts of some, which are short together or one alone."""
    if all(map(str.isascii, htmls)):
        joined = "".join((*htmls, _PADDING))
        if len(joined) <= MOST and not any(character in joined for character in "&\r\0" + MARK):
            return _visible(joined.encode(), htmls)
    found: list[str | None] = [None] * len(htmls)
    usual = [at for at, html in enumerate(htmls) if _is_usual(html)]
    if usual:
        texts = [htmls[at] for at in usual]
        for at, text in zip(usual, _visible("".join((*texts, _PADDING)).encode(), texts), strict=True):
            found[at] = text
    return found


def _is_usual(html: str) -> bool:
    """Whether the characters of a text promise it to be plain."""
    return (
        len(html) <= MOST
        and html.isascii()
        and not ("\r" in html or "\0" in html or MARK in html or ("&" in html and OTHER_ENTITY.search(html)))
    )


def _visible(data: bytes, htmls: Sequence[str]) -> list[str | None]:
    """The search texts of all, which follow each other in ``data``, padded."""
    count = len(htmls)
    ends = np.fromiter(map(len, htmls), np.int64, count).cumsum()
    every = np.frombuffer(data, np.uint8)
    brackets = _brackets(every)
    tags_before = np.searchsorted(brackets, ends)
    opening, closing = brackets[0::2], brackets[1::2]
    if (tags_before & 1).any() or (every[opening] != _LESS).any() or (every[closing] == _LESS).any():
        return [None] * count  # brackets do not take turns
    tags_before >>= 1
    tags = _tag_numbers(data, opening, closing)
    # The texts between tags: each ends where a tag opens, or where its HTML ends.
    last = tags_before + np.arange(count)
    inner = np.ones(len(opening) + count, dtype=bool)
    inner[last] = False
    stops, nexts = np.empty((2, len(inner)), dtype=np.int32)
    stops[inner], nexts[inner] = opening, closing + 1
    stops[last] = nexts[last] = ends
    edges = np.zeros(2 * len(inner), dtype=np.int32)
    edges[2::2] = nexts[:-1]
    there = (edges[0::2] < stops).tobytes()
    shapes = [
        _shape(tags[first:end], there[first + at : end + at + 1])
        for at, (first, end) in enumerate(pairwise([0, *tags_before.tolist()]))
    ]
    if None in shapes:
        spaces = b"".join(
            bytes(length) if shape is None else shape
            for shape, length in zip(shapes, np.diff(last, prepend=-1).tolist(), strict=True)
        )
    else:
        spaces = b"".join(filter(None, shapes))
    # A space takes the place of the bracket of its tag.
    edges[1::2] = stops + np.frombuffer(spaces, np.uint8)
    spaced = every.copy()
    spaced[opening] = _SPACE
    strings = pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(spaced)])
    _, offsets, kept = strings.take(pa.array(np.arange(0, len(edges), 2))).buffers()
    borders = np.zeros(count + 1, dtype=np.int32)
    borders[1:] = np.frombuffer(offsets, np.int32)[last + 1]
    texts = _texts(kept if kept is not None else pa.py_buffer(b""), borders, b"&" in data)
    return [None if shape is None else text for shape, text in zip(shapes, texts, strict=True)]


def _brackets(every: _Bytes) -> _Ints:
    """Where all brackets are."""
    return np.flatnonzero((every & _EITHER) == _LESS)


def _texts(data: pa.Buffer, borders: _Offsets, entities: bool) -> list[str]:
    """The search texts in ``data``, one between any two ``borders``, which may hold entities."""
    strings = pa.Array.from_buffers(pa.string(), len(borders) - 1, [None, pa.py_buffer(borders), data])
    found: list[str] = pc.ascii_lower(strings).to_pylist()
    if entities:
        return [one_line(decoded(text)) for text in found]
    return found if _are_lines(np.frombuffer(data, np.uint8), borders) else list(map(one_line, found))


def _are_lines(every: _Bytes, borders: _Offsets) -> bool:
    """Whether all white space is single spaces between words."""
    firsts, ends = borders[:-1], borders[1:]
    there = firsts < ends
    space = every <= _SPACE
    return not (
        (space[1:] & space[:-1]).any()
        or every.min(initial=_SPACE) < _SPACE
        or space[firsts[there]].any()
        or space[ends[there] - 1].any()
    )


def _tag_numbers(data: bytes, opening: _Ints, closing: _Ints) -> bytes:
    """Which of ``_NAMES`` each tag has, or ``_UNKNOWN``. ``data`` is padded."""
    lengths = closing - opening - 1
    words: _Words = np.ndarray((len(data) - _WORD,), "<u8", data, strides=(1,))  # a word begins at every byte
    names = words[opening + 1] & _FIRST_BYTES[np.minimum(lengths, _WORD)]
    found = np.minimum(np.searchsorted(_KEYS, names), len(_KEYS) - 1)
    numbers = np.where((_KEYS[found] == names) & (lengths <= _WORD), _KEY_NAMES[found], _UNKNOWN).astype(np.uint8)
    for at in np.flatnonzero(numbers == _UNKNOWN).tolist():
        numbers[at] = _long_tag(data[opening[at] + 1 : closing[at]])
    return numbers.tobytes()


def _long_tag(tag: bytes) -> int:
    """The number of a tag with attributes, or with a long name."""
    known = _NUMBERS.get(tag)
    if known is None:
        match = WITH_ATTRIBUTE.fullmatch(MARK + tag.decode())
        known = _NUMBERS[match[match.lastindex or 1].encode()] if match is not None else _UNKNOWN
    return _UNKNOWN if tag == b"a" else known


def _shape(tags: bytes, there: bytes) -> bytes | None:
    """For each text whether a space follows it, by the tags between them; ``None`` where those are not plain.

    ``there`` says which texts are not empty: there is one more than there are tags.
    """
    return (_remembered_shape if len(tags) <= _SHAPES else _remembered_shape.__wrapped__)(tags, there)


@lru_cache(1024)
def _remembered_shape(tags: bytes, there: bytes) -> bytes | None:
    if _UNKNOWN in tags:
        return None
    names = tuple(_LINK if tag == len(_NAMES) - 1 else MARK + _NAMES[tag].decode() for tag in tags)
    between = between_texts.__wrapped__(names)
    if between is None:
        return None
    separating = [not between or separator == " " for separator in (between or names)]
    spaces = bytearray(len(there))
    begun, waiting = False, -1
    for at, text in enumerate(there):
        if text:
            if begun and waiting >= 0:
                spaces[waiting] = 1
            begun, waiting = True, -1
        if waiting < 0 and at < len(tags) and separating[at]:
            waiting = at
    return bytes(spaces)
