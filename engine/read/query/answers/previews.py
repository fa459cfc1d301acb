"""Draft preview: the saved, unpublished changes of one version, for its draft key (contract 4.10, decisions 25 and 40).

No other module opens files with drafts, and this one only after a request presented a well-formed draft key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.access.drafts.keys import derived_draft_key, draft_key_matches
from engine.identifiers import quoted
from engine.read.files.data_file import JSON
from engine.read.files.row_arrays import UNNAMED
from engine.read.query.answers.entries import Version, langs_document
from engine.read.query.plan import EntryPlan
from engine.read.query.selection.sql import draft_keys_statement, draft_statement
from engine.read.reader.reach import Expansion
from engine.read.reader.reader import Reader
from engine.read.reader.rows import EntryNumbers
from snapshots.columns import JSON_COLUMN
from snapshots.data_files.segments import entry_number
from snapshots.groups import delivered, parts_of, referred
from snapshots.model import META_DATES, Api, field_path
from snapshots.times import format_datetime

Row = dict[str, Any]


def preview(reader: Reader, plan: EntryPlan, now: int, draft_secret: bytes, deadline: float) -> Version | None:
    """The draft that the plan's key opens: of the plan's entry, or of an object API's item.

    ``None`` where the key opens nothing. The version needs no live window and never falls back; what it refers to is
    delivered as in any request. Raises ``SnapshotUnusable``, and ``QueryTimeout`` past the deadline.
    """
    table = reader.drafts(plan.api, plan.visibility.lang)
    if table is None:
        return None
    opened = _opened(reader, plan, table, draft_secret, deadline)
    if opened is None:
        return None
    names = ["id", *META_DATES]
    statement = draft_statement(table, [*map(quoted, names), JSON], opened)
    [values] = reader.draft_files.run(statement, deadline)
    row = dict(zip((*names, JSON_COLUMN), values, strict=True))
    references = _references(plan.api, row, plan.shape.expansions)
    return Version(
        _body(plan.api, row), references, _langs(reader, plan, row, now) if plan.shape.include_langs else None
    )


def _opened(reader: Reader, plan: EntryPlan, table: str, draft_secret: bytes, deadline: float) -> str | None:
    """The ID of the draft that the plan's key opens, ``None`` for none.

    An ID that has no draft takes the same steps as one that has, so that time tells nobody without a key which drafts
    there are.
    """
    for one, given, is_its_own in reader.draft_files.run(draft_keys_statement(table, plan.entry_id), deadline):
        derived = derived_draft_key(draft_secret, reader.workspace.id, plan.api.uid, one, plan.visibility.lang)
        matches = draft_key_matches(plan.draft_key or "", given, derived)
        if matches and is_its_own:
            return str(one)
    return None


def _body(api: Api, row: Row) -> bytes:
    dates = "".join(f',"{name}":"{format_datetime(row[name])}"' for name in META_DATES)
    fields = delivered(api, row[JSON_COLUMN])[1:].decode()
    return f'{{"id":"{row["id"]}"{dates}{"" if fields == "}" else ","}{fields}'.encode()


def _langs(reader: Reader, plan: EntryPlan, row: Row, now: int) -> bytes:
    return langs_document(plan.visibility.lang, reader.rows(plan.api).live_languages_of(row["id"], now))


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
