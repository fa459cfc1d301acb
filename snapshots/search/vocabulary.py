"""The vocabulary: number the tokens of texts, most of them without a look-up in a dict.

A word of at most sixteen bytes is read as two 64-bit numbers, a character or a pair as one: these are its *code*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from snapshots.search.runs import PADDING

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SPREADS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Factors: numbers that differ in any bit mostly have products that differ in their highest bits."""
_SLOT_BITS: Final = 17
"""Slots, as a power of two: they fit the processor's cache, and are several times the tokens of most blocks."""
_MOST: Final = 1 << 18
"""From this many tokens on, the next block begins with an empty vocabulary."""
_PAIR_BITS: Final = 21
"""Bits of a character's number."""
_IS_GRAM: Final = np.uint64(1 << 63)
"""Set in every character's and pair's code, so that none is 0."""
_WORD_CODES: Final = 2
_ALL: Final = (1 << 64) - 1
_KEPT: Final = np.array(
    [[_ALL >> 8 * max(8 - length, 0), _ALL >> 8 * min(16 - length, 8)] for length in range(PADDING + 1)] + [[0, 0]],
    dtype=np.uint64,
)
"""Masks by a word's length: the bits of its bytes in the sixteen from its begin; none for longer words."""
_CHOICES: Final = 6
"""Slots that a token can be in; nearly all tokens are in their first one."""
_ASKED: Final = 16
"""Fewer tokens than this go to the dict at once, without a search of their other slots."""
_FEW: Final = 256
"""Up to this many tokens go to the dict one by one; of more, equal ones are found first."""


class Vocabulary:
    """The tokens of a file and their numbers, from 1 on; 0 is no token's."""

    def __init__(self) -> None:
        self._all: dict[bytes, int] = {b"": 0}
        self._order: list[int] = []
        self._slots = _Table()
        # The functions hold the dict alone, not this object, so that no cycle keeps the memory.
        number = _numbering(self._all)
        self._words = _Slots(self._slots, _WORD_CODES, number)
        self._grams = _Slots(self._slots, 1, _numbering_grams(number))
        self.number = number
        """Returns the number of the token with these bytes, a new one for a new token."""

    def __len__(self) -> int:
        return len(self._all)

    def begin_block(self) -> None:
        """Forget all tokens if there are many, since the next block may have few of them: this bounds memory."""
        if len(self._all) >= _MOST:
            self._all.clear()
            self._all[b""] = 0
            self._order.clear()
            self._slots.clear()
            for slots in (self._words, self._grams):
                slots.forget()

    def ordered(self) -> tuple[list[bytes], Array]:
        """Return the bytes of every token so far, by number, and the numbers in the order of the bytes."""
        named = list(self._all)
        # Tokens of the blocks before are in order already, which makes sorting fast.
        self._order += range(len(self._order), len(named))
        self._order.sort(key=named.__getitem__)
        return named, np.array(self._order)

    def of_texts(self, texts: pa.BinaryArray) -> Array:
        """Return the numbers of tokens (uint32)."""
        encoded = texts.dictionary_encode()
        named = [self.number(text) for text in encoded.dictionary.to_pylist()]
        numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
        return numbers

    def of_words(self, data: Array, begins: Array, lengths: Array) -> Array:
        """Return the numbers of the words in a text's bytes (uint32), 0 for words of more than ``PADDING`` bytes.

        At least ``PADDING`` bytes follow each word's begin.
        """
        sixteens = np.ndarray((len(data) - PADDING,), "<c16", data, strides=(1,))
        codes = sixteens[begins].view("<u8").reshape(-1, _WORD_CODES)
        codes &= _KEPT.take(lengths, axis=0, mode="clip")
        return self._words.numbers(codes)

    def of_characters(self, characters: Array) -> Array:
        """Return the numbers of single characters (uint32), which are given as code points (uint64)."""
        return self._grams.numbers((characters | _IS_GRAM)[:, None])

    def of_pairs(self, before: Array, last: Array) -> Array:
        """Return the numbers of pairs of characters (uint32)."""
        return self._grams.numbers(((before + np.uint64(1)) << np.uint64(_PAIR_BITS) | last | _IS_GRAM)[:, None])


class _Table:
    """The slots of all tokens, of two bytes while that is enough, to fit the processor's cache."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Empty all slots."""
        self.numbers: Array = np.zeros(1 << _SLOT_BITS, np.uint16)
        """The number of the token in each slot, or 0."""

    def with_room(self, most: int) -> Array:
        """Return the slots, wide enough for numbers up to ``most``."""
        if most > np.iinfo(self.numbers.dtype).max:
            self.numbers = self.numbers.astype(np.uint32)
        return self.numbers


class _Slots:
    """Token numbers, each in a slot chosen by the token's code; tokens without a free slot are in the dict alone."""

    def __init__(self, slots: _Table, width: int, number: Callable[[bytes], int]) -> None:
        """A code is ``width`` numbers, never all 0; ``number`` looks up or adds a token. Slots may be shared."""
        self._number = number
        self._slots = slots
        """Token numbers; ``_known`` tells whether a number found is that of the wanted code."""
        self._width = width
        self.forget()

    def forget(self) -> None:
        """Forget all codes."""
        self._known = np.zeros((1 << 12, self._width), np.uint64)
        """The code of each token, by its number, or 0 for a token in no slot."""

    def numbers(self, codes: Array) -> Array:
        """Return the tokens' numbers (uint32); ``codes`` has a row for each token."""
        return self._numbers(_spread(codes), codes, 1)

    def _numbers(self, spread: Array, codes: Array, choice: int) -> Array:
        found: Array = self._slots.numbers.take(_chosen(spread), mode="clip").astype(np.uint32, copy=False)
        differs = self._known.take(found, axis=0, mode="clip") != codes
        # Comparing both numbers of a code as one takes less time than joining two results.
        missed = (differs.ravel() if self._width == 1 else differs.view(np.uint16).ravel() != 0).nonzero()[0]
        if len(missed):
            codes = codes.take(missed, axis=0, mode="clip")
            if len(missed) < _ASKED:
                found[missed] = self._ask(codes)
            elif choice == _CHOICES or (len(missed) > _FEW and 2 * len(missed) > len(found)):
                found[missed] = self._name(codes)  # most tokens seem to be new
            else:
                found[missed] = self._numbers(_spread_again(spread[missed]), codes, choice + 1)
        return found

    def _name(self, codes: Array) -> Array:
        """Return the numbers of tokens that are in no slot, and put each into a slot if one of its own is free."""
        numbers = self._ask(codes)
        most = int(numbers.max())
        if len(self._known) <= most + 1:  # the last row stays 0: it stands for all numbers beyond
            self._known = np.concatenate([self._known, np.zeros((most + 1, self._width), np.uint64)])
        self._known[numbers] = codes
        left, spread = numbers, _spread(codes)
        slots = self._slots.with_room(most)
        for _ in range(_CHOICES if most < len(slots) else 1):
            chosen = _chosen(spread)
            # The first slot stays empty: it is that of code 0.
            free = np.flatnonzero((slots[chosen] == 0) & (chosen != 0))
            slots[chosen[free]] = left[free]
            without = np.flatnonzero(slots[chosen] != left)
            left, spread = left[without], _spread_again(spread[without])
        return numbers

    def _ask(self, codes: Array) -> Array:
        codes = codes.astype("<u8", copy=False)
        width = codes.itemsize * codes.shape[1]
        if len(codes) > _FEW:
            encoded = pa.Array.from_buffers(
                pa.binary(width), len(codes), [None, pa.py_buffer(codes)]
            ).dictionary_encode()
            named = [self._number(text.rstrip(b"\0")) for text in encoded.dictionary.to_pylist()]
            numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
            return numbers
        texts = codes.tobytes()
        named = [self._number(texts[at : at + width].rstrip(b"\0")) for at in range(0, len(texts), width)]
        return np.array(named, dtype=np.uint32)


def _spread(codes: Array) -> Array:
    spread: Array = codes[:, 0] * _SPREADS[0]
    for at in range(1, codes.shape[1]):
        spread ^= codes[:, at] * _SPREADS[at]
    return spread


def _chosen(spread: Array) -> Array:
    """Return the slot that each token chooses."""
    slots: Array = spread >> np.uint64(64 - _SLOT_BITS)
    return slots.view(np.int64)


def _spread_again(spread: Array) -> Array:
    """Return the numbers by which tokens choose their next slot."""
    again: Array = (spread ^ (spread >> np.uint64(32))) * _SPREADS[1]
    return again


def _numbering(numbers: dict[bytes, int]) -> Callable[[bytes], int]:
    return lambda token: numbers.setdefault(token, len(numbers))


def _numbering_grams(number: Callable[[bytes], int]) -> Callable[[bytes], int]:
    return lambda code: number(_gram(int.from_bytes(code, "little") ^ int(_IS_GRAM)))


def _gram(gram: int) -> bytes:
    before, last = gram >> _PAIR_BITS, gram & ((1 << _PAIR_BITS) - 1)
    return (chr(last) if not before else chr(before - 1) + chr(last)).encode()
