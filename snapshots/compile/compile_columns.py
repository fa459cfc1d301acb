"""Documents of one API, many at once → compiled rows, field by field: those that nothing is wrong with.

The rows are those that ``ApiCompiler`` makes document by document, in half of the time. Whatever is unusual
about a document, a problem above all, is left to it: this one only says that the documents are not for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

import msgspec

from snapshots.compile.dates import GitRange, VersionDates, earliest, settled
from snapshots.compile.expressions import Expression, Place
from snapshots.compile.rows import DRAFT_STATUS, LIVE, RowsBuilder, VersionFacts, version_digest
from snapshots.compile.value_columns import ColumnCompiler
from snapshots.compile.values import all_valid_ids
from snapshots.documents.document import Document, RawValue
from snapshots.model import ALWAYS, NEVER, TEXT_TYPES, Field, Status

BATCH: Final = 256
"""Documents worked on together: with more of them each takes hardly less time, and an unusual one holds up more."""

_STATUSES: Final[dict[RawValue, Status]] = {None: Status.PUBLISHED, **{status.value: status for status in Status}}
_OF_DRAFTS: Final = ("draft", "draftKey")
_encode = msgspec.json.Encoder().encode

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Of each key that any document has, the values of all, ``None`` where one has none."""


class _Unusual(Exception):
    """These documents have to be compiled one by one."""


@dataclass(frozen=True, slots=True)
class FieldStep:
    """How one field is compiled."""

    field: Field
    expression: Expression
    index: int
    compile: ColumnCompiler
    tracked: bool
    """References are gathered."""


class DocumentColumns:
    """Compiles documents of one API together."""

    def __init__(
        self,
        steps: Sequence[FieldStep],
        dates: VersionDates,
        status_key: str,
        known: frozenset[str],
        languages: Mapping[str | None, int],
        places: Mapping[int, Place],
    ) -> None:
        """``known`` are the keys that are read; ``languages`` tells a language's number by how it is written, and by
        ``None`` that of a document that names none; ``places`` are by that number."""
        self._steps, self._dates, self._status_key = steps, dates, status_key
        self._known, self._languages, self._places = known, languages, places
        self._content = _content(tuple(step.field.id for step in steps))

    def compile(self, documents: Sequence[Document], number: int, git: GitRange | None, rows: RowsBuilder) -> bool:
        """Add the versions of some documents to ``rows``; False, and nothing is done, where they are not for this."""
        found = len(rows.references)
        try:
            rows.add_columns(self._cells(documents, number, git, rows))
        except (_Unusual, ValueError):
            del rows.references[found:]
            return False
        return True

    def _cells(
        self, documents: Sequence[Document], number: int, git: GitRange | None, rows: RowsBuilder
    ) -> list[Sequence[Any]]:
        count = len(documents)
        if any(document.broken or document.lines is not None for document in documents):
            raise _Unusual
        values = [document.values for document in documents]
        columns = _columns(values)
        if not columns.keys() <= self._known or not columns.keys().isdisjoint(_OF_DRAFTS):
            raise _Unusual
        lines = [document.line for document in documents]
        ids: Sequence[Any] = columns.get("id", [None])
        if not {str}.issuperset(map(type, ids)) or not all_valid_ids(ids):
            raise _Unusual
        languages = self._languages_of(columns, count)
        statuses = self._statuses(columns, count)
        given = self._dates.read_columns(columns, count)
        meta = self._meta_dates(given, git)
        windows = self._windows(given, statuses)
        cells: list[Sequence[Any]] = [ids, *meta, *windows]
        delivered: list[Sequence[Any]] = []
        gathered = len(rows.references)
        for step in self._steps:
            typed, value, search = step.compile(self._raw(step.expression, documents, columns, languages))
            if step.field.required and (None in value or "" in value or [] in value):
                raise _Unusual
            delivered.append(value)
            cells.append(typed)
            if step.field.type in TEXT_TYPES:
                cells.append(search)
            if step.tracked:
                _gather(rows, number, step.index, lines, typed)
        rows.references[gathered:] = sorted(rows.references[gathered:], key=itemgetter(1))  # by line, as they stand
        keys_of_drafts = [None] * count
        facts = zip(ids, *meta, *windows, statuses, keys_of_drafts, strict=True)
        json, digests = self._encode(delivered, facts)
        states, scheduled = [LIVE] * count, [False] * count
        if self._status_key in columns:
            states = [DRAFT_STATUS if status is Status.DRAFT else LIVE for status in statuses]
            scheduled = [status is Status.SCHEDULED for status in statuses]
        return [*cells, languages, states, scheduled, keys_of_drafts, digests, [number] * count, lines, json]

    def _raw(
        self, expression: Expression, documents: Sequence[Document], columns: Columns, languages: Sequence[int]
    ) -> Sequence[RawValue]:
        if expression.simple is not None:
            return columns.get(expression.simple) or [None] * len(documents)
        places = map(self._places.__getitem__, languages)
        return [expression.read(document, place) for document, place in zip(documents, places, strict=True)]

    def _languages_of(self, columns: Columns, count: int) -> list[int]:
        written = columns.get("lang")
        try:
            return [self._languages[lang] for lang in written or [None] * count]
        except (KeyError, TypeError):
            raise _Unusual from None

    def _statuses(self, columns: Columns, count: int) -> list[Status]:
        written = columns.get(self._status_key)
        try:
            return [_STATUSES[status] for status in written or [None] * count]
        except (KeyError, TypeError):
            raise _Unusual from None

    def _meta_dates(self, given: Sequence[Sequence[int | None]], git: GitRange | None) -> list[Sequence[int]]:
        """createdAt, updatedAt and publishedAt of all."""
        created, *others, _ = given
        if None not in created and all(dates.count(None) == len(dates) for dates in others):
            written = cast("Sequence[int]", created)  # and nothing else, as is usual
            return [written, written if git is None else [git[1]] * len(written), written]
        settled_dates = []
        for dates in zip(*given, strict=True):
            commits = earliest(dates) if git is None else git
            if commits is None:
                raise _Unusual
            settled_dates.append(settled(dates, commits))
        return list(zip(*settled_dates, strict=True))

    def _windows(self, given: Sequence[Sequence[int | None]], statuses: Sequence[Status]) -> list[list[int]]:
        """From when, and until when, each would be live."""
        starts, ends = given[3:]
        if Status.SCHEDULED not in statuses and starts.count(None) == ends.count(None) == len(statuses):
            return [[ALWAYS] * len(statuses), [NEVER] * len(statuses)]
        for start, end, status in zip(starts, ends, statuses, strict=True):
            if (status is Status.SCHEDULED and start is None) or (
                start is not None and end is not None and end <= start
            ):
                raise _Unusual
        return [
            [ALWAYS if start is None else start for start in starts],
            [NEVER if end is None else end for end in ends],
        ]

    def _encode(
        self, delivered: Sequence[Sequence[Any]], facts: Iterable[VersionFacts]
    ) -> tuple[list[bytes], list[bytes]]:
        """The JSON of all, and the digests of the versions."""
        if not delivered:
            raise _Unusual
        json = list(map(_encode, map(self._content, *delivered)))
        return json, list(map(version_digest, facts, json))


@lru_cache(64)
def _content(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """What holds a value for each of these names; its JSON is an object with them, made faster than a dict's."""
    keys = {f"_{number}": name for number, name in enumerate(names)}
    return msgspec.defstruct("Content", list(keys), rename=keys, gc=False)


def _columns(values: Sequence[Mapping[str, RawValue]]) -> Columns:
    keys = tuple(values[0])
    if all(map(keys.__eq__, map(tuple, values))):
        return dict(zip(keys, zip(*(document.values() for document in values), strict=True), strict=True))
    every: set[str] = set().union(*values)
    return {key: [document.get(key) for document in values] for key in every}


def _gather(rows: RowsBuilder, number: int, field: int, lines: Sequence[int], typed: Sequence[Any]) -> None:
    """Note the references of one field."""
    gathered = rows.references
    for line, targets in zip(lines, typed, strict=True):
        if targets:
            for target in targets if type(targets) is list else (targets,):
                gathered.append((number, line, field, target))
