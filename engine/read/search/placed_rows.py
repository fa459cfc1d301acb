"""Rows of an API in one language as bits at the places that they have in its parts, as a search finds them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.read.search.row_bits import Bits, RowBits, marked_in, packed, places_in, unpacked

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MANY: Final = 16
"""Marking one row takes as long as copying so many marks."""


class Places:
    """The places of an API's rows in one language."""

    def __init__(self, bits: RowBits, rows: range, place_of: Array) -> None:
        """``rows`` are those of the language among all of the API, and ``place_of`` has the place of each."""
        self.bits: Final = bits
        self.rows: Final = rows
        self.place_of: Final = place_of
        self.row_at: Final = np.zeros(len(bits.spare) * 64, np.int32)
        """The row of each place, counted from the language's first."""
        self.row_at[place_of] = np.arange(len(place_of), dtype=np.int32)

    def placed(self, marks: Array) -> PlacedRows:
        """Return rows that are given by one truth value for each row of the API."""
        at_places = np.zeros(len(self.row_at), bool)
        at_places[self.place_of] = marks[self.rows.start : self.rows.stop]
        return PlacedRows(packed(at_places), self)


class PlacedRows(msgspec.Struct, frozen=True):
    """Rows of one language."""

    bits: Bits
    places: Places

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.bits.nbytes)

    @property
    def size(self) -> int:
        """The number of rows."""
        return marked_in(self.bits)

    def others(self) -> PlacedRows:
        """Return all other rows of the language."""
        return PlacedRows(~(self.bits | self.places.bits.spare), self.places)

    def in_both(self, other: PlacedRows) -> PlacedRows:
        """Return the rows that are in another set, too."""
        return PlacedRows(self.bits & other.bits, self.places)

    def holds(self, rows: Array) -> Array:
        """Return for each of these rows of the API, which are of the language, whether it is in the set."""
        places = self.places.place_of[rows - self.places.rows.start]
        held: Array = self.bits[places >> 6] >> (places & 63).astype(np.uint64) & np.uint64(1) != 0
        return held

    def copy_to(self, marks: Array) -> None:
        """Mark the rows, where there is one truth value for each row of the API."""
        size, of_language = self.size, marks[self.places.rows.start : self.places.rows.stop]
        if not size:
            return
        if size * _MANY < len(of_language):
            of_language[self.places.row_at[places_in(self.bits)]] = True
        else:
            np.take(unpacked(self.bits), self.places.place_of, out=of_language)
