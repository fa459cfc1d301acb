"""The tokens of texts → their numbers, which most of them have without a look at a dict.

Words of at most sixteen bytes, and characters and their pairs, are read as one 64-bit number or two, their *keys*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

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
_CHOICES: Final = 6
"""Slots where a token can be; nearly all are in the first one."""
_FEW: Final = 256
"""So many tokens are asked for one by one in less time than it takes to tell the same ones apart."""


class TokenNumbers:
    """The numbers of a file's tokens, from 0 on."""

    def __init__(self) -> None:
        self._all: dict[bytes, int] = {}
        self._slots = np.zeros(1 << _SLOT_BITS, np.uint32)
        # What is handed on holds nothing but the dict, so that there is no cycle and all goes at once.
        number = _numbering(self._all)
        self._eights = _Slots(self._slots, 1, number)
        self._sixteens = _Slots(self._slots, 2, number)
        self._grams = _Slots(self._slots, 1, _numbering_grams(number))
        self.number = number
        """The number of the token with these bytes."""

    def begin_block(self) -> None:
        """Forget all where there are many tokens, of which the next block may have few: what bounds memory."""
        if len(self._all) >= _MOST:
            self._all.clear()
            self._slots[:] = 0
            for slots in (self._eights, self._sixteens, self._grams):
                slots.forget()

    def named(self) -> list[bytes]:
        """The bytes of every token so far, at the place of its number."""
        return list(self._all)

    def of_texts(self, texts: pa.BinaryArray) -> Array:
        """The numbers of any tokens (uint32)."""
        encoded = texts.dictionary_encode()
        named = [self.number(text) for text in encoded.dictionary.to_pylist()]
        numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
        return numbers

    def of_short_words(self, keys: Array, more: Array | None = None) -> Array:
        """The numbers of words (uint32) of at most eight bytes, or with ``more`` of nine to sixteen."""
        return self._eights.numbers(keys) if more is None else self._sixteens.numbers(keys, more)

    def of_characters(self, characters: Array) -> Array:
        """The numbers of single characters (uint32), which are given as their code points (uint64)."""
        return self._grams.numbers(characters | _IS_GRAM)

    def of_pairs(self, before: Array, last: Array) -> Array:
        """The numbers of pairs of characters (uint32)."""
        return self._grams.numbers((before + np.uint64(1)) << np.uint64(_PAIR_BITS) | last | _IS_GRAM)


class _Slots:
    """Tokens' numbers, each in a slot that the token's bits choose; those whose slots others have are asked for."""

    def __init__(self, slots: Array, keys: int, number: Callable[[bytes], int]) -> None:
        """Tokens have so many keys each, never all 0; others may be in the same slots. ``number`` is asked."""
        self._number = number
        self._slots = slots
        """Tokens' numbers; the keys of the token with that number tell whether it is the one looked for."""
        self._keys = keys
        self.forget()

    def forget(self) -> None:
        """Begin anew, for new numbers."""
        self._known = [np.zeros(1 << 12, np.uint64) for _ in range(self._keys)]
        """By token number, its keys, or 0 where no slot has it."""

    def numbers(self, *keys: Array) -> Array:
        """The tokens' numbers (uint32); ``keys`` are arrays of one length, of which each token has one value."""
        return self._numbers(self._spread(keys), keys, 1)

    def _spread(self, keys: tuple[Array, ...]) -> Array:
        spread: Array = keys[0] * _SPREADS[0]
        for key, factor in zip(keys[1:], _SPREADS[1:], strict=False):
            spread ^= key * factor
        return spread

    def _numbers(self, spread: Array, keys: tuple[Array, ...], choice: int) -> Array:
        found: Array = self._slots.take(_chosen(spread), mode="clip")
        differs = self._known[0].take(found, mode="clip") != keys[0]
        for known, key in zip(self._known[1:], keys[1:], strict=True):
            differs |= known.take(found, mode="clip") != key
        missed = np.flatnonzero(differs)
        if len(missed):
            keys = tuple(key[missed] for key in keys)
            if choice == _CHOICES or (len(missed) > _FEW and 2 * len(missed) > len(found)):  # most have none, it seems
                found[missed] = self._name(keys)
            else:
                found[missed] = self._numbers(_spread_again(spread[missed]), keys, choice + 1)
        return found

    def _name(self, keys: tuple[Array, ...]) -> Array:
        """The numbers of tokens that no slot has; from now on one has, where one is free."""
        numbers = self._ask(np.stack(keys, axis=1).astype("<u8", copy=False))
        most = int(numbers.max())
        for at, key in enumerate(keys):
            known = self._known[at]
            if len(known) <= most:
                known = self._known[at] = np.append(known, np.zeros(most + 1, np.uint64))
            known[numbers] = key
        left, spread = numbers, self._spread(keys)
        for _ in range(_CHOICES if most < len(self._slots) else 1):
            chosen = _chosen(spread)
            free = np.flatnonzero(self._slots[chosen] == 0)
            self._slots[chosen[free]] = left[free]
            without = np.flatnonzero(self._slots[chosen] != left)
            left, spread = left[without], _spread_again(spread[without])
        return numbers

    def _ask(self, keys: Array) -> Array:
        width = keys.itemsize * keys.shape[1]
        if len(keys) > _FEW:
            encoded = pa.Array.from_buffers(pa.binary(width), len(keys), [None, pa.py_buffer(keys)]).dictionary_encode()
            named = [self._number(text.rstrip(b"\0")) for text in encoded.dictionary.to_pylist()]
            numbers: Array = np.array(named, dtype=np.uint32)[encoded.indices.to_numpy()]
            return numbers
        texts = keys.tobytes()
        named = [self._number(texts[at : at + width].rstrip(b"\0")) for at in range(0, len(texts), width)]
        return np.array(named, dtype=np.uint32)


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
