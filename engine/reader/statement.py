"""One SQL statement with its values, and the statements a reader runs for itself."""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

from collections.abc import Iterable

import msgspec

from engine.cache.tables import Table

Parameters = dict[str, object]


class Statement(msgspec.Struct, frozen=True):
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters


def ids_statement(tables: Iterable[Table]) -> Statement:
    """The IDs in some tables: of entries that have a version which is or was to be published."""
    return Statement(" UNION ".join(f'SELECT "id" FROM {table.name}' for table in tables), {})
