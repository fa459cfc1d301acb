"""The names and columns in the DuckDB file of an API's tables, which ``materialise.write_tables`` makes and statements
read.

Each language has one table, whatever segments its rows are in, in a schema that is named by the digest of them all.
Rows are in default order (``publishedAt`` descending, ``id`` ascending), and the position of a row is its ``rowid``.
``@`` stands in no endpoint, field ID or language code, so a name with it never meets one of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from engine.identifiers import quoted
from snapshots.columns import search_column, window_columns
from snapshots.model import KEPT_AS_FLAG, META_DATES, TEXT_TYPES, Api, Field, ValueKind

PART: Final = '"@part"'
"""The column with the number of the part that has a row's body and texts."""
AT: Final = '"@at"'
"""The column with the row's position in that part."""
VIEW_TOTALS: Final = '"@views"'
"""The table in memory, as SQL, with all-time counts: ``id``, ``total``; replaced when the counts change."""
_TYPES: Final = {
    ValueKind.TEXT: "VARCHAR",
    ValueKind.NUMBER: "DOUBLE",
    ValueKind.INSTANT: "BIGINT",
    ValueKind.BOOLEAN: "BOOLEAN",
    ValueKind.OPTION: "VARCHAR",
    ValueKind.ENTRY: "VARCHAR",
}


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table, its name and its type as SQL."""

    name: str
    type: str
    field: Field | None = None
    """The field whose value the column has; ``None`` for a column of the row itself."""
    own: str | None = None
    """The column of a data file that has the value, for one that only readers need."""


class Table(msgspec.Struct, frozen=True):
    """The table with an API's versions in one language."""

    name: str
    """The table's name as SQL, quoted."""
    first: int
    """The position of the table's first row among the rows of the API."""

    @property
    def row(self) -> str:
        """The position of a row among the rows of the API, as SQL."""
        return f"rowid + {self.first}"


def columns_of(api: Api, windows: Sequence[str], *, is_indexed: bool) -> Iterator[TableColumn]:
    """The columns of a table whose rows carry the windows of these languages; texts that are indexed have none."""
    yield TableColumn('"id"', "VARCHAR")
    for name in (*META_DATES, "live_from", "live_until"):
        yield TableColumn(quoted(name), "BIGINT")
    for lang in windows:
        for name in window_columns(lang):
            yield TableColumn(quoted(name), "BIGINT", own=name)
    for field in api.fields:
        yield TableColumn(value_column(field.id), _type(field), field)
        if field.type in TEXT_TYPES and not is_indexed:
            name = search_column(field.id)
            yield TableColumn(quoted(name), "VARCHAR", own=name)


def _type(field: Field) -> str:
    """The type of the column with a field's value."""
    if field.type in KEPT_AS_FLAG:
        return "BOOLEAN"
    facts = field.type.facts
    return f"{_TYPES[facts.kind]}[]" if facts.is_array else _TYPES[facts.kind]


def value_column(field_id: str) -> str:
    """The column with a field's value, or a meta field's; for a type of ``KEPT_AS_FLAG``, whether there is one."""
    # A column named rowid, in whatever case, would hide DuckDB's own.
    return quoted(f"{field_id}@" if field_id.lower() == "rowid" else field_id)
