"""The arrays of integers beside the bodies: what follows from a snapshot by position alone (design section 4).

Written once when a version is materialised, and read by ``engine.positions``. A row's position is its ``rowid``.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted; no client text comes here
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.bodies import BodiesWriter, Stored
from engine.tables import entry_numbers_column, quoted, rows_table
from snapshots.model import Api, Field, FieldType

if TYPE_CHECKING:
    import duckdb

PUBLISHED: Final = "publishedAt"
LIVE_FROM: Final = "live_from"
LIVE_UNTIL: Final = "live_until"
"""One a row each, UTC milliseconds."""
ID_HASHES: Final = "id hashes"
"""``id_hash`` of every row, sorted."""
ID_ROWS: Final = "id rows"
"""The rows those belong to."""


def versions_array(lang: str) -> str:
    """For an API that references lead to: for each entry number the position of its version in a language, or -1."""
    return f"versions {lang}"


def references_array(field: Field) -> str:
    """The numbers of the entries a field names, those that exist: for a single reference one a row, -1 for none."""
    return f"references {field.id}"


def reference_starts_array(field: Field) -> str:
    """For ``references``: where each row's begin in ``references_array``, and at last where they end."""
    return f"starts {field.id}"


def making_entries(api: Api) -> str:
    """While the file is made: a row an entry, in order, with its ``id``, ``number`` and row by language."""
    return quoted(f"{api.endpoint}@entries")


def id_hash(entry_id: str) -> int:
    """What DuckDB's ``md5_number_lower`` is of an ID."""
    return int.from_bytes(hashlib.md5(entry_id.encode(), usedforsecurity=False).digest()[8:], "little")


def write_arrays(
    connection: duckdb.DuckDBPyConnection,
    bodies: BodiesWriter,
    api: Api,
    entry_columns: Mapping[str, str],
    linked: Iterable[Field],
) -> Iterator[tuple[str, Stored]]:
    """Write the arrays of an API whose table is filled, and yield their names and where they are in the file.

    ``entry_columns`` are those of ``making_entries`` by language, where references lead to the API; ``linked`` its own
    reference fields whose API is there.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and needed by nothing else here

    table = rows_table(api)

    def read(text: str) -> Any:
        return connection.sql(text).to_arrow_table()

    def column(expression: str, source: str = table) -> list[Any]:
        return list(read(f"SELECT {expression} AS column FROM {source}")["column"].chunks)

    for name in (PUBLISHED, LIVE_FROM, LIVE_UNTIL):
        yield name, bodies.append_numbers(column(quoted(name)))
    hashes = read(f'SELECT md5_number_lower("id") AS hash FROM {table}')["hash"].to_numpy()
    by_hash = np.argsort(hashes, kind="stable")
    yield ID_HASHES, bodies.append_array(hashes[by_hash])
    yield ID_ROWS, bodies.append_array(by_hash)
    for lang, name in entry_columns.items():
        yield versions_array(lang), bodies.append_numbers(column(name, making_entries(api)))
    for field in linked:
        numbers = entry_numbers_column(field)
        if field.type is FieldType.REFERENCES:
            sums = f"(sum(len({numbers})) OVER (ORDER BY rowid))::BIGINT"
            yield (
                reference_starts_array(field),
                bodies.append_numbers([*column("0::BIGINT", "range(1)"), *column(sums)]),
            )
            yield references_array(field), bodies.append_numbers(part.flatten() for part in column(numbers))
        else:
            yield references_array(field), bodies.append_numbers(column(f"coalesce({numbers}, -1)"))
