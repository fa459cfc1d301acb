"""The arrays of a search file, for each language and field of a part (design section 4).

For each field its tokens (``snapshots.search.index``) and the pieces of its words, for each of these its rows, as
numbers, or as one bit a row where that is shorter; and the texts themselves, for the few rows that only they decide.
Rows are counted in the data file.
"""

from __future__ import annotations

from typing import Final

PIECE: Final = b"\xff"
"""Begins a token that is a piece of words, which no other token does: no text in UTF-8 has this byte."""


def search_array(lang: str, field_id: str, name: str) -> str:
    """The name of a field's array in the file."""
    return f"{lang} {field_id} {name}"


def bits_width(rows: int) -> int:
    """Bytes of one bit a row, whole numbers of 64 bits."""
    return -(-rows // 64) * 8


PAIR_AT, PAIR_PARTS, PAIR_ROWS, PAIR_COUNTS = "pair_at", "pair_parts", "pair_rows", "pair_counts"
"""Of a vocabulary of several parts: for each of its tokens where its pairs begin, and after them where the last ends;
and of each pair, the number of a part, where that part has the token's rows (the first of its numbers in ``rows``, or
``~`` the line in ``bits``), and how many these are."""
