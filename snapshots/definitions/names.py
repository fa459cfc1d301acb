"""The names that no field can have, and hints at known names like an unknown one."""

from __future__ import annotations

from collections.abc import Collection

from snapshots.model import META_DATES

RESERVED_FIELDS = ("id", "views", *META_DATES)
"""Members that every entry has."""
RESERVED_COLUMNS = ("live_from", "live_until", "draft_key", "file_row_number")
"""Columns that every snapshot has, and the one that DuckDB adds when reading Parquet."""
RESERVED_FIELD_IDS = frozenset(name.lower() for name in (*RESERVED_FIELDS, *RESERVED_COLUMNS))
"""In lower case, since case is ignored."""


def nearest(name: str, known: Collection[str]) -> str:
    """Return ``; did you mean 'title'?`` if a known name is near, else an empty text."""
    from difflib import get_close_matches  # noqa: PLC0415 - for warnings only, and a build with nothing to do is short

    by_folded = {k.casefold(): k for k in known}
    found = get_close_matches(name.casefold(), by_folded, 1, 0.6)
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""
