"""Quote names of a manifest as identifiers in SQL. No other name comes into a statement as one."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a name as an identifier; quoting keeps its case and any character."""
    return '"' + name.replace('"', '""') + '"'
