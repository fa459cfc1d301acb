"""An unknown name → a hint at a known one like it."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def nearest(name: str, known: Collection[str]) -> str:
    """Return ``; did you mean 'title'?`` if a known name is near, else an empty text."""
    by_folded = {k.casefold(): k for k in known}
    found = get_close_matches(name.casefold(), by_folded, 1, 0.6)
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""
