"""Read columns of data files by one name, whether they are a file's own or, since format 5, in its struct ``OWN``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import OWN, own_member

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def stored_names(schema: pa.Schema) -> list[str]:
    """Return the names of a data file's columns: in place of the struct ``OWN`` its members, named ``_.<member>``."""
    return [name for field in schema for name in _names(field)]


def _names(field: pa.Field) -> list[str]:
    return [f"{OWN}.{one.name}" for one in field.type.fields] if field.name == OWN else [field.name]


def stored_name(name: str, there: Collection[str]) -> str:
    """Return what a column is called in a file with the columns ``there``, as ``stored_names`` has them; the name
    itself where there is no such column."""
    inside = f"{OWN}.{own_member(name)}"
    return inside if name not in there and inside in there else name


def stored_as(names: Iterable[str], schema: pa.Schema) -> list[str]:
    """Return what columns are called in a file of this schema, for Arrow to read them."""
    there = set(stored_names(schema))
    return [stored_name(name, there) for name in names]


def lifted(rows: Rows, names: Sequence[str]) -> Rows:
    """Return these columns of rows that were read by ``stored_as``, under their one name."""
    there = rows.schema.names

    def column(name: str) -> pa.Array | pa.ChunkedArray:
        return rows[name] if name in there else pc.struct_field(rows[OWN], own_member(name))

    return type(rows).from_arrays([column(name) for name in names], names=list(names))
