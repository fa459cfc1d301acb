"""The error of a request's parameters, and the words for its messages (decision 12, contract 7)."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from snapshots.problems import ParquetryError

_SHOWN = 60
"""Characters of a client's text that a message repeats."""


class InvalidQuery(ParquetryError):
    """A parameter cannot be used (400). The message names it, what was given, and what is accepted."""


def shown(text: str) -> str:
    """A client's text in quotes, shortened, with nothing in it that could break a line."""
    short = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in short) + '"'


def nearest(name: str, known: Collection[str]) -> str:
    """`` Did you mean "…"?`` where something known is near, else the known names, 20 at most."""
    if not known:
        return ""
    by_folded = {k.casefold(): k for k in known}
    close = get_close_matches(name[:100].casefold(), by_folded, 1)
    if close:
        return f' Did you mean "{by_folded[close[0]]}"?'
    names = list(known)
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f" There are: {', '.join(names[:20])}{more}."
