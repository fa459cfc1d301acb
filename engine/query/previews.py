"""Draft preview: a draft key → the saved, unpublished changes of one version (contract 4.10, decisions 25 and 40).

The only place where files with drafts are opened, and only after a request presented a well-formed draft key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.cache.entry_number import entry_number
from engine.drafts.keys import derived_draft_key, draft_key_matches
from engine.query.entries import Version, langs_document
from engine.query.plan import EntryPlan, Expansion
from engine.reader.reader import Reader, SnapshotUnusable
from engine.reader.rows import EntryNumbers
from engine.visibility import is_live
from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, window_columns
from snapshots.model import META_DATES, FieldType
from snapshots.times import format_datetime

Row = dict[str, Any]


def preview(reader: Reader, plan: EntryPlan, entry_id: str | None, now: int, draft_secret: bytes) -> Version | None:
    """The draft that the plan's key opens: of the entry with this ID, or for ``None`` of an object API's item.

    ``None`` where the key opens nothing. The version needs no live window and never falls back; what it refers to is
    delivered as in any request.
    """
    key, lang = plan.draft_key, plan.visibility.lang
    if key is None:
        return None
    for row in _rows(reader, plan, entry_id):
        derived = derived_draft_key(draft_secret, reader.workspace.id, plan.api.uid, row["id"], lang)
        if draft_key_matches(key, row[DRAFT_KEY_COLUMN], derived):
            references = _references(row, plan.shape.expansions)
            return Version(_body(row), references, _langs(reader, plan, row, now) if plan.shape.include_langs else None)
    return None


def _rows(reader: Reader, plan: EntryPlan, entry_id: str | None) -> list[Row]:
    """The drafts of one entry, or all of an object API, times as UTC milliseconds."""
    # Heavy to import, and needed by nothing else while serving.
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = reader.drafts(plan.api, plan.visibility.lang)
    if path is None:
        return []
    windows = [name for lang in reader.workspace.languages_of(plan.api) for name in window_columns(lang)]
    fields = [expansion.field.id for expansion in plan.shape.expansions]
    names = ["id", *META_DATES, *windows, DRAFT_KEY_COLUMN, JSON_COLUMN, *fields]
    wanted = None if entry_id is None else [("id", "==", entry_id)]
    try:
        table = pq.read_table(path, columns=names, filters=wanted, partitioning=None)
        for name in (*META_DATES, *windows):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).cast(pa.int64()))
        rows: list[Row] = table.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise SnapshotUnusable(f"{path}: the drafts cannot be read: {error}. Restore the file.") from None
    return rows


def _body(row: Row) -> bytes:
    dates = "".join(f',"{name}":"{format_datetime(row[name])}"' for name in META_DATES)
    fields = row[JSON_COLUMN][1:]
    return f'{{"id":"{row["id"]}"{dates}{"" if fields == "}" else ","}{fields}'.encode()


def _langs(reader: Reader, plan: EntryPlan, row: Row, now: int) -> bytes:
    live = []
    for lang in reader.workspace.languages_of(plan.api):
        begin, end = (row[name] for name in window_columns(lang))
        if begin is not None and is_live(begin, end, now):
            live.append(lang)
    return langs_document(plan.visibility.lang, live)


def _references(row: Row, expansions: Sequence[Expansion]) -> tuple[EntryNumbers, ...]:
    """The entries a draft refers to, by their IDs."""
    found: list[EntryNumbers] = []
    for expansion in expansions:
        value = row[expansion.field.id]
        if expansion.field.type is FieldType.REFERENCES:
            found.append([entry_number(one) for one in value or ()])
        else:
            found.append(None if value is None else entry_number(value))
    return tuple(found)
