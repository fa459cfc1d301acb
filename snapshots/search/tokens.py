"""The tokens of texts → their numbers, which most of them have without a look at a dict.

Words of at most sixteen bytes, and characters and their pairs, are read as one 64-bit number or two, their *keys*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from snapshots.search.runs import PADDING

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SPREADS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Multiplied by one of them, numbers that differ anywhere mostly differ in their highest bits."""
_SLOT_BITS: Final = 17
"""Slots that stay near the processor, and are several times as many as most blocks have tokens."""
_MOST: Final = 1 << 18
"""From so many tokens on, the next block numbers its own anew."""
_PAIR_BITS: Final = 21
"""What a character's number needs."""
_IS_GRAM: Final = np.uint64(1 << 63)
"""Set, so that no gram's key is 0."""
_WORD_KEYS: Final = 2
_ALL: Final = (1 << 64) - 1
_KEPT: Final = np.array(
    [[_ALL >> 8 * max(8 - length, 0), _ALL >> 8 * min(16 - length, 8)] for length in range(PADDING + 1)] + [[0, 0]],
    dtype=np.uint64,
)
"""By a word's length, what is kept of the bytes from where it begins; nothing of longer words."""
_CHOICES: Final = 6
"""Slots where a token can be; nearly all are in the first one."""
_ASKED: Final = 16
"""Fewer are asked for without a look at their other slots."""
_FEW: Final = 256
"""So many tokens are asked for one by one in less time than it takes to tell the same ones apart."""


class TokenNumbers:
    """The numbers of a file's tokens, from 1 on; 0 is no token's."""

    def __init__(self) -> None:
        self._all: dict[bytes, int] = {b"": 0}
        self._order: list[int] = []
        self._slots = _Table()
        # What is handed on holds nothing but the dict, so that there is no cycle and all goes at once.
        number = _numbering(self._all)
        self._words = _Slots(self._slots, _WORD_KEYS, number)
        self._grams = _Slots(self._slots, 1, _numbering_grams(number))
        self.number = number
        """The number of the token with these bytes."""

    def __len__(self) -> int:
        return len(self._all)

    def begin_block(self) -> None:
        """Forget all where there are many tokens, of which the next block may have few: what bounds memory."""
        if len(self._all) >= _MOST:
            self._all.clear()
            self._all[b""] = 0
            self._order.clear()
            self._slots.clear()
            for slots in (self._words, self._grams):
                slots.forget()

    def ordered(self) -> tuple[list[bytes], Array]:
        """The bytes of every token so far, at the place of its number, and the numbers in the bytes' order."""
        named = list(self._all)
        # Those of the blocks before are in order, so that only new ones are sorted.
        self._order += range(len(self._order), len(named))
        self._order.sort(key=named.__getitem__)
        return named, np.array(self._order)

    def of_texts(self, texts: pa.BinaryArray) -> Array:
        """The numbers of any tokens (uint32)."""
        encoded = texts.dictionary_encode()
        named = [self.number(text) for text in encoded.dictionary.to_pylist()]
        numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
        return numbers

    def of_words(self, data: Array, begins: Array, lengths: Array) -> Array:
        """The numbers of the words in a text's bytes (uint32), 0 for those of more than ``PADDING`` bytes.

        As many bytes follow where each begins.
        """
        sixteens = np.ndarray((len(data) - PADDING,), "<c16", data, strides=(1,))
        keys = sixteens[begins].view("<u8").reshape(-1, _WORD_KEYS)
        keys &= _KEPT.take(lengths, axis=0, mode="clip")
        return self._words.numbers(keys)

    def of_characters(self, characters: Array) -> Array:
        """The numbers of single characters (uint32), which are given as their code points (uint64)."""
        return self._grams.numbers((characters | _IS_GRAM)[:, None])

    def of_pairs(self, before: Array, last: Array) -> Array:
        """The numbers of pairs of characters (uint32)."""
        return self._grams.numbers(((before + np.uint64(1)) << np.uint64(_PAIR_BITS) | last | _IS_GRAM)[:, None])


class _Table:
    """The slots of all tokens, of two bytes while that is enough, so that they stay near the processor."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Leave all slots empty."""
        self.numbers: Array = np.zeros(1 << _SLOT_BITS, np.uint16)
        """By slot, a token's number, or 0."""

    def with_room(self, most: int) -> Array:
        """The slots, in which numbers up to this fit from now on."""
        if most > np.iinfo(self.numbers.dtype).max:
            self.numbers = self.numbers.astype(np.uint32)
        return self.numbers


class _Slots:
    """Tokens' numbers, each in a slot that the token's bits choose; those whose slots others have are asked for."""

    def __init__(self, slots: _Table, keys: int, number: Callable[[bytes], int]) -> None:
        """Tokens have so many keys each, never all 0; others may be in the same slots. ``number`` is asked."""
        self._number = number
        self._slots = slots
        """Tokens' numbers; the keys of the token with that number tell whether it is the one looked for."""
        self._keys = keys
        self.forget()

    def forget(self) -> None:
        """Begin anew, for new numbers."""
        self._known = np.zeros((1 << 12, self._keys), np.uint64)
        """By token number, its keys, or 0 where no slot has it."""

    def numbers(self, keys: Array) -> Array:
        """The tokens' numbers (uint32); ``keys`` has a row for each of them."""
        return self._numbers(_spread(keys), keys, 1)

    def _numbers(self, spread: Array, keys: Array, choice: int) -> Array:
        found: Array = self._slots.numbers.take(_chosen(spread), mode="clip").astype(np.uint32, copy=False)
        differs = self._known.take(found, axis=0, mode="clip") != keys
        # Two keys are compared as one number, which is quicker than putting together whether either differs.
        missed = (differs.ravel() if self._keys == 1 else differs.view(np.uint16).ravel() != 0).nonzero()[0]
        if len(missed):
            keys = keys.take(missed, axis=0, mode="clip")
            if len(missed) < _ASKED:
                found[missed] = self._ask(keys)
            elif choice == _CHOICES or (len(missed) > _FEW and 2 * len(missed) > len(found)):
                found[missed] = self._name(keys)  # most have none, it seems
            else:
                found[missed] = self._numbers(_spread_again(spread[missed]), keys, choice + 1)
        return found

    def _name(self, keys: Array) -> Array:
        """The numbers of tokens that no slot has; from now on one has, where one is free."""
        numbers = self._ask(keys)
        most = int(numbers.max())
        if len(self._known) <= most + 1:  # the last row stays 0, as numbers beyond are taken for it
            self._known = np.concatenate([self._known, np.zeros((most + 1, self._keys), np.uint64)])
        self._known[numbers] = keys
        left, spread = numbers, _spread(keys)
        slots = self._slots.with_room(most)
        for _ in range(_CHOICES if most < len(slots) else 1):
            chosen = _chosen(spread)
            # The first slot is left to keys 0.
            free = np.flatnonzero((slots[chosen] == 0) & (chosen != 0))
            slots[chosen[free]] = left[free]
            without = np.flatnonzero(slots[chosen] != left)
            left, spread = left[without], _spread_again(spread[without])
        return numbers

    def _ask(self, keys: Array) -> Array:
        keys = keys.astype("<u8", copy=False)
        width = keys.itemsize * keys.shape[1]
        if len(keys) > _FEW:
            encoded = pa.Array.from_buffers(pa.binary(width), len(keys), [None, pa.py_buffer(keys)]).dictionary_encode()
            named = [self._number(text.rstrip(b"\0")) for text in encoded.dictionary.to_pylist()]
            numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
            return numbers
        texts = keys.tobytes()
        named = [self._number(texts[at : at + width].rstrip(b"\0")) for at in range(0, len(texts), width)]
        return np.array(named, dtype=np.uint32)


def _spread(keys: Array) -> Array:
    spread: Array = keys[:, 0] * _SPREADS[0]
    for at in range(1, keys.shape[1]):
        spread ^= keys[:, at] * _SPREADS[at]
    return spread


def _chosen(spread: Array) -> Array:
    """The slots that tokens choose."""
    slots: Array = spread >> np.uint64(64 - _SLOT_BITS)
    return slots.view(np.int64)


def _spread_again(spread: Array) -> Array:
    """What tokens choose by next."""
    again: Array = (spread ^ (spread >> np.uint64(32))) * _SPREADS[1]
    return again


def _numbering(numbers: dict[bytes, int]) -> Callable[[bytes], int]:
    return lambda token: numbers.setdefault(token, len(numbers))


def _numbering_grams(number: Callable[[bytes], int]) -> Callable[[bytes], int]:
    return lambda key: number(_gram(int.from_bytes(key, "little") ^ int(_IS_GRAM)))


def _gram(gram: int) -> bytes:
    before, last = gram >> _PAIR_BITS, gram & ((1 << _PAIR_BITS) - 1)
    return (chr(last) if not before else chr(before - 1) + chr(last)).encode()
