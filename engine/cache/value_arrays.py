"""The arrays of field values beside the bodies: what simple conditions and orders need of them (design section 4).

Written when a version is materialised, and read by ``engine.reader.values``. Numbers and instants are 64-bit floats,
which hold every millisecond of the years 1 to 9999, with NaN where there is no value. Of fields with few different
values each row has the number of its value, and the values are a JSON array beside it, in which null is no value.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted; no client text comes here
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from engine.cache.bodies import BodiesWriter, Stored
from engine.cache.row_arrays import PUBLISHED
from engine.cache.tables import rows_table, value_column
from snapshots.model import META_DATES, Api, FieldType

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

NUMERIC: Final = frozenset({FieldType.NUMBER, FieldType.DATETIME})
CHOSEN: Final = frozenset({FieldType.BOOLEAN, FieldType.SINGLE_SELECT, FieldType.RICHTEXT, FieldType.IMAGE})
"""Of richtext and images it is stored whether there are any."""
_MOST_VALUES: Final = 1 << 16
"""Different values that a row's number can tell apart; a field with more has no array."""


def numbers_array(field_id: str) -> str:
    """A number, or UTC milliseconds, a row."""
    return f"numbers {field_id}"


def codes_array(field_id: str) -> str:
    """The number of its value a row; for ``multiple_select`` those of all its values, row after row."""
    return f"codes {field_id}"


def code_starts_array(field_id: str) -> str:
    """For ``multiple_select``: where each row's begin in ``codes_array``, and at last where they end."""
    return f"code starts {field_id}"


def names_array(field_id: str) -> str:
    """The bytes of the values as JSON."""
    return f"names {field_id}"


def write_values(connection: duckdb.DuckDBPyConnection, bodies: BodiesWriter, api: Api) -> Iterator[tuple[str, Stored]]:
    """Write the arrays of an API whose table is filled, and yield their names and where they are in the file."""

    def column(expression: str) -> pa.ChunkedArray:
        return connection.sql(f"SELECT {expression} AS column FROM {rows_table(api)}").to_arrow_table()["column"]

    # ``publishedAt`` is with the positions already.
    dates = [name for name in META_DATES if name != PUBLISHED]
    numeric = [*dates, *(field.id for field in api.fields if field.type in NUMERIC)]
    for name in numeric:
        numbers = column(f"coalesce({value_column(name)}::DOUBLE, 'nan'::DOUBLE)")
        yield numbers_array(name), bodies.append_array(numbers.to_numpy())
    for field in api.fields:
        if field.type in CHOSEN:
            yield from _encoded(bodies, field.id, column(value_column(field.id)))
        elif field.type is FieldType.MULTIPLE_SELECT:
            yield from _encoded_lists(bodies, field.id, column(value_column(field.id)))


def _encoded_lists(bodies: BodiesWriter, field_id: str, lists: pa.ChunkedArray) -> Iterator[tuple[str, Stored]]:
    # Heavy to import, and needed by nothing else here.
    import numpy as np  # noqa: PLC0415 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    yield code_starts_array(field_id), bodies.append_array(starts)
    items = pa.chunked_array([part.flatten() for part in lists.chunks], lists.type.value_type)
    yield from _encoded(bodies, field_id, items)


def _encoded(bodies: BodiesWriter, field_id: str, values: pa.ChunkedArray) -> Iterator[tuple[str, Stored]]:
    import numpy as np  # noqa: PLC0415 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above

    whole: Any = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    encoded = whole.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    if len(names) > _MOST_VALUES:
        return
    codes = encoded.indices.to_numpy().astype(np.uint8 if len(names) <= 1 << 8 else np.uint16)
    yield codes_array(field_id), bodies.append_array(codes)
    yield names_array(field_id), bodies.append_array(np.frombuffer(msgspec.json.encode(names), np.uint8))
