"""The arrays of integers beside the bodies: what follows from a snapshot by position alone (design section 4).

Written once when a version is materialised, and read by ``engine.reader.rows``. A row's position is its ``rowid``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from engine.cache.bodies import BodiesWriter, Stored
from snapshots.model import Field, FieldType

if TYPE_CHECKING:
    import duckdb

    from engine.cache.row_links import ApiRows

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


def id_hash(entry_id: str) -> int:
    """What DuckDB's ``md5_number_lower`` is of an ID."""
    return int.from_bytes(hashlib.md5(entry_id.encode(), usedforsecurity=False).digest()[8:], "little")


def write_arrays(
    connection: duckdb.DuckDBPyConnection,
    bodies: BodiesWriter,
    rows: ApiRows,
    languages: Iterable[str],
    linked: Iterable[tuple[Field, ApiRows]],
) -> Iterator[tuple[str, Stored]]:
    """Write the arrays of an API, and yield their names and where they are in the file.

    ``languages`` are the API's where references lead to it, else none; ``linked`` its own reference fields whose API is
    there, with the rows of that.
    """
    # Heavy to import, and not needed to open what is made.
    import numpy as np  # noqa: PLC0415 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above

    for name in (LIVE_FROM, LIVE_UNTIL):
        yield name, bodies.append_array(rows.instants[name])
    of_ids = connection.from_arrow(pa.table({"id": rows.ids})).project('md5_number_lower("id") AS hash')
    hashes = of_ids.to_arrow_table()["hash"].to_numpy()[rows.of_row]
    by_hash = np.argsort(hashes, kind="stable")
    yield ID_HASHES, bodies.append_array(hashes[by_hash])
    yield ID_ROWS, bodies.append_array(by_hash)
    for lang in languages:
        yield versions_array(lang), bodies.append_array(rows.versions(lang))
    for field, target in linked:
        if field.type is FieldType.REFERENCES:
            starts, numbers = rows.references(field, target)
            yield reference_starts_array(field), bodies.append_array(starts)
            yield references_array(field), bodies.append_array(numbers)
        else:
            yield references_array(field), bodies.append_array(rows.reference(field, target))
