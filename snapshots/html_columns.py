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

from snapshots.plain_html import (
    MARK,
    OTHER_ENTITY,
    TAGS,
    WITH_ATTRIBUTE,
    between_texts,
    decoded,
    one_line,
)

MOST: Final = 1 << 18
"""Characters worked on together, and in one text."""
_BLOCK: Final = 1 << 16
"""Bytes that are looked at in one go, so that what is found of them stays in the processor's cache."""

_Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
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
    found: list[str | None] = [None] * len(htmls)
    part: list[int] = []
    size = 0
    for at in _usual(htmls):
        length = len(htmls[at])
        if part and size + length > MOST:
            _settle(htmls, part, found)
            part, size = [], 0
        part.append(at)
        size += length
    if part:
        _settle(htmls, part, found)
    return found


def _usual(htmls: Sequence[str]) -> Sequence[int]:
    """The places of texts whose characters promise them to be plain."""
    if sum(map(len, htmls)) <= MOST:
        joined = "".join(htmls)
        if joined.isascii() and not any(character in joined for character in "&\r\0" + MARK):
            return range(len(htmls))
    return [
        at
        for at, html in enumerate(htmls)
        if len(html) <= MOST
        and html.isascii()
        and not ("\r" in html or "\0" in html or MARK in html or ("&" in html and OTHER_ENTITY.search(html)))
    ]


def _settle(htmls: Sequence[str], part: list[int], found: list[str | None]) -> None:
    """Find the search texts of some."""
    texts = [htmls[at] for at in part]
    for at, text in zip(part, _visible("".join((*texts, _PADDING)).encode(), list(map(len, texts))), strict=False):
        found[at] = text


def _visible(data: bytes, lengths: list[int]) -> list[str | None]:
    """The search texts of all, which follow each other in ``data``; none where brackets do not take turns."""
    count = len(lengths)
    ends = np.cumsum(lengths)
    every = np.frombuffer(data, np.uint8)
    brackets = _brackets(every)
    tags_before = np.searchsorted(brackets, ends)
    opening, closing = brackets[0::2], brackets[1::2]
    if (tags_before & 1).any() or (every[opening] != _LESS).any() or (every[closing] == _LESS).any():
        return []
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
    borders = np.frombuffer(offsets, np.int32)[last + 1].tolist()
    texts = _texts(memoryview(kept) if kept is not None else memoryview(b""), borders)
    return [None if shape is None else text for shape, text in zip(shapes, texts, strict=True)]


def _brackets(every: _Bytes) -> _Ints:
    """Where all brackets are."""
    found = [np.flatnonzero((every[at : at + _BLOCK] & _EITHER) == _LESS) + at for at in range(0, len(every), _BLOCK)]
    return np.concatenate(found)


def _texts(data: memoryview, borders: list[int]) -> list[str]:
    """The search texts in ``data``, each of which ends at the next of ``borders``."""
    whole = str(data, "ascii")
    found = [whole[first:end].lower() for first, end in pairwise([0, *borders])]
    if "&" in whole:
        return [one_line(decoded(text)) for text in found]
    if _has_runs(np.frombuffer(data, np.uint8)):
        return list(map(one_line, found))
    return [text.strip(" ") for text in found]


def _has_runs(every: _Bytes) -> bool:
    """Whether there may be more white space than single spaces."""
    for at in range(0, len(every), _BLOCK):
        block = every[at : at + _BLOCK + 1]
        space = block <= _SPACE
        if (space[1:] & space[:-1]).any() or (block < _SPACE).any():
            return True
    return False


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
