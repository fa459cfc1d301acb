"""Draft preview: the saved, unpublished changes of one version, for its draft key (contract 4.10, decisions 25 and 40).

No other module opens files with drafts, and this one only after a request presented a well-formed draft key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from engine.access.drafts.keys import derived_draft_key, draft_key_matches
from engine.read.files.entry_number import UNNAMED, entry_number
from engine.read.query.answers.entries import Version, langs_document
from engine.read.query.plan import EntryPlan
from engine.read.reader.reach import Expansion
from engine.read.reader.reader import Reader, SnapshotUnusable
from engine.read.reader.rows import EntryNumbers
from engine.visibility import is_live
from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, window_columns
from snapshots.groups import delivered, parts_of, referred
from snapshots.model import META_DATES, Api, field_path
from snapshots.times import format_datetime

Row = dict[str, Any]


def preview(reader: Reader, plan: EntryPlan, now: int, draft_secret: bytes) -> Version | None:
    """The draft that the plan's key opens: of the plan's entry, or of an object API's item.

    ``None`` where the key opens nothing. The version needs no live window and never falls back; what it refers to is
    delivered as in any request.
    """
    path = reader.drafts(plan.api, plan.visibility.lang)
    if path is None:
        return None
    with _reading(path):
        opened = _opened(reader, plan, path, draft_secret)
        row = None if opened is None else _row(reader, plan, path, opened)
    if row is None:
        return None
    references = _references(plan.api, row, plan.shape.expansions)
    return Version(
        _body(plan.api, row), references, _langs(reader, plan, row, now) if plan.shape.include_langs else None
    )


def _opened(reader: Reader, plan: EntryPlan, path: Path, draft_secret: bytes) -> str | None:
    """The ID of the draft that the plan's key opens, ``None`` for none.

    An ID that has no draft takes the same steps as one that has, so that time tells nobody without a key which drafts
    there are.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    drafts = pq.read_table(path, columns=["id", DRAFT_KEY_COLUMN], partitioning=None)
    ids, explicit = drafts["id"], drafts[DRAFT_KEY_COLUMN]
    # For an entry, its own row; without one the first row, which then opens nothing.
    is_its_own = None if plan.entry_id is None else pc.equal(ids, plan.entry_id).to_numpy()
    for row in range(len(ids)) if is_its_own is None else [int(is_its_own.argmax())] if len(ids) else []:
        one = ids[row].as_py()
        derived = derived_draft_key(draft_secret, reader.workspace.id, plan.api.uid, one, plan.visibility.lang)
        matches = draft_key_matches(plan.draft_key or "", explicit[row].as_py(), derived)
        if matches and (is_its_own is None or is_its_own[row]):
            return str(one)
    return None


def _row(reader: Reader, plan: EntryPlan, path: Path, entry_id: str) -> Row | None:
    """The draft of one entry, times as UTC milliseconds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    windows = [name for lang in reader.workspace.languages_of(plan.api) for name in window_columns(lang)]
    names = ["id", *META_DATES, *windows, JSON_COLUMN]
    table = pq.read_table(path, columns=names, filters=[("id", "==", entry_id)], partitioning=None)
    for name in (*META_DATES, *windows):
        column = table.schema.get_field_index(name)
        table = table.set_column(column, name, table.column(name).cast(pa.int64()))
    rows: list[Row] = table.to_pylist()
    return rows[0] if rows else None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SnapshotUnusable(f"{path}: the drafts cannot be read: {error}. Restore the file.") from None


def _body(api: Api, row: Row) -> bytes:
    dates = "".join(f',"{name}":"{format_datetime(row[name])}"' for name in META_DATES)
    fields = delivered(api, row[JSON_COLUMN])[1:].decode()
    return f'{{"id":"{row["id"]}"{dates}{"" if fields == "}" else ","}{fields}'.encode()


def _langs(reader: Reader, plan: EntryPlan, row: Row, now: int) -> bytes:
    live = []
    for lang in reader.workspace.languages_of(plan.api):
        begin, end = (row[name] for name in window_columns(lang))
        if begin is not None and is_live(begin, end, now):
            live.append(lang)
    return langs_document(plan.visibility.lang, live)


def _references(api: Api, row: Row, expansions: Sequence[Expansion]) -> tuple[EntryNumbers, ...]:
    """The entries a draft refers to, by their IDs."""
    values = msgspec.json.decode(row[JSON_COLUMN])
    named: dict[str, list[Any]] = {expansion.path.name: [] for expansion in expansions}
    for field in api.fields:
        for _, path, value in parts_of(field_path(field), values[field.id]):
            if path.name in named:
                named[path.name] += referred(path, value)
    return tuple(_numbers(expansion, named[expansion.path.name]) for expansion in expansions)


def _numbers(expansion: Expansion, named: Sequence[Any]) -> EntryNumbers:
    if expansion.several is not None:
        pairs = [(one["api"], one["id"]) if isinstance(one, dict) else (UNNAMED, one) for one in named]
        return [(entry_number(endpoint), entry_number(entry_id)) for endpoint, entry_id in pairs]
    numbers = [entry_number(one) for one in named]
    return (numbers[0] if numbers else None) if expansion.is_one else numbers
