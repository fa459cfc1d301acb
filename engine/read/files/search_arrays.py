"""The arrays of a search file, for each language and field of a part (design section 4).

For each field its tokens (``snapshots.search.index``), for each token its rows, as numbers, or as one bit a row where
that is shorter; and the texts themselves, for the few rows that only they decide. Rows are counted in the data file.
"""

from __future__ import annotations


def search_array(lang: str, field_id: str, name: str) -> str:
    """The name of a field's array in the file."""
    return f"{lang} {field_id} {name}"


def bits_width(rows: int) -> int:
    """Bytes of one bit a row, whole numbers of 64 bits."""
    return -(-rows // 64) * 8


PAIR_AT, PAIR_PARTS, PAIR_TOKENS = "pair_at", "pair_parts", "pair_tokens"
"""Of a vocabulary of several parts: for each of its tokens where its pairs begin, and after them where the last ends;
and the pairs, each the number of a part and that of the token there."""
