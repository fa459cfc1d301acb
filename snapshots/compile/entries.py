"""Documents of one API → rows of typed columns, JSON and search text, and problems (workspace-format)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

import msgspec

from snapshots.columns import field_column, search_column
from snapshots.compile.dates import GitRange, VersionDates, meta_dates
from snapshots.compile.expressions import Expression, Place, parse_expression, partly_read
from snapshots.compile.fields import MadeIds, field_compiler, unknown_members
from snapshots.compile.rows import DRAFT_FILE, DRAFT_STATUS, LEFT_OUT, LIVE, Rows, RowsBuilder, version_digest
from snapshots.compile.values import Compiler, InvalidValue, is_null, slug_id, valid_id
from snapshots.definitions.model import ApiSource
from snapshots.documents.document import SYSTEM_KEYS, Document, Plain, RawValue
from snapshots.groups import parts_of, reference_checks, referred
from snapshots.model import (
    ALWAYS,
    META_DATES,
    NEVER,
    REFERENCE_TYPES,
    TEXT_TYPES,
    Api,
    ApiKind,
    FieldPath,
    Status,
    Workspace,
    field_path,
)
from snapshots.paths import Steps, written_path
from snapshots.problems import Problems
from snapshots.sources.listing import SourceFile

_STATUSES = {status.value: status for status in Status}
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class UnknownKeys:
    """Keys that nothing reads, in ``counts``: key → (how often it occurs, line of the first)."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, key: str, line: int) -> None:
        count, first = self.counts.get(key, (0, line))
        self.counts[key] = (count + 1, first)


@dataclass(frozen=True, slots=True)
class _FieldPlan:
    path: FieldPath
    expression: Expression
    compile: Compiler
    searched: bool
    """The column with the search text follows."""
    checked: bool
    """Whether the value, or one inside its groups, is required or refers to an API that exists."""


class ApiCompiler:
    """Compiles the documents of one API: ``compile`` adds rows, ``rows`` returns them."""

    def __init__(
        self,
        workspace: Workspace,
        api: Api,
        source: ApiSource,
        zone: tzinfo,
        made_ids: MadeIds,
    ) -> None:
        """``made_ids`` maps the ``uid`` of every API whose IDs come from a template to its ``id_map``: references to
        such an API are turned into IDs by the same rule."""
        self._workspace, self._api, self._zone = workspace, api, zone
        self._languages = workspace.languages_of(api)
        self._allowed = frozenset(self._languages)
        self._spellings = {
            lang: (lang, *(written for written, code in source.lang_map.items() if code == lang))
            for lang in workspace.languages
        }
        self._lang_map = source.lang_map
        every = tuple(spelling for spellings in self._spellings.values() for spelling in spellings)
        columns = ["id", *META_DATES, "live_from", "live_until"]
        self._plans: list[_FieldPlan] = []
        self._tracked = {(one.path.name, one.api): number for number, one in enumerate(reference_checks(api))}
        tracked = {name for name, _ in self._tracked}
        for declared in api.fields:
            expression = parse_expression(
                source.fields.get(declared.id, declared.id), languages=every, fallback_key=declared.id
            )
            columns.append(field_column(declared).name)
            searched = declared.type in TEXT_TYPES
            if searched:
                columns.append(search_column(declared.id))
            compiler = field_compiler(declared, zone, made_ids)
            path = field_path(declared)
            checked = any(one.field.required or one.name in tracked for one in path.inside())
            self._plans.append(_FieldPlan(path, expression, compiler, searched, checked))
        self._rows = RowsBuilder(columns)
        meta = dict(source.meta)
        self._dates = VersionDates(meta, every, zone)
        self._status_at = parse_expression(meta.get("status", "status"), languages=every)
        self._id_template = parse_expression(source.id, languages=every) if source.id else None
        expressions = [*(plan.expression for plan in self._plans), *self._dates.expressions.values(), self._status_at]
        if self._id_template is not None:
            expressions.append(self._id_template)
        self._known = SYSTEM_KEYS.union(*(expression.keys for expression in expressions))
        self._partly_read = partly_read(expressions)
        self._id_map = source.id_map
        self._spreads = api.multilingual and any(plan.expression.by_language for plan in self._plans)
        self._language_number = {lang: number for number, lang in enumerate(workspace.languages)}
        self._places: dict[str, Place] = {}

    def rows(self) -> Rows:
        """Return all good versions added so far, and forget them."""
        rows = self._rows.rows()
        self._rows.clear()
        return rows

    def compile(
        self,
        source: SourceFile,
        number: int,
        documents: Iterable[Document],
        problems: Problems,
        unknown: UnknownKeys,
        git: GitRange | None,
    ) -> None:
        """Add every good version of a file's documents; report the others.

        ``number`` is the file's number in ``Rows.file``, ``git`` its first and last commit.
        """
        known = self._known
        self._places.clear()
        for document in documents:
            if not known.issuperset(document.values):
                for key in document.values:
                    if key not in known:
                        unknown.add(key, document.line_of(key))
            if self._partly_read and not self._check_inside(source, document, problems, unknown):
                continue
            for lang in self._languages_of(source, document, problems):
                self._add_version(source, number, document, lang, problems, unknown, git)

    def _check_inside(self, source: SourceFile, document: Document, problems: Problems, unknown: UnknownKeys) -> bool:
        """Report the unknown keys of mappings of which single keys are read; False where one is no mapping."""
        good = True
        for key, names in self._partly_read.items():
            value = document.values.get(key)
            if isinstance(value, dict):
                for inner in value:
                    if inner not in names:
                        unknown.add(f"{key}.{inner}", document.line_of(key, inner))
            elif value is not None and not is_null(value):
                message = f"{key}: expected a mapping with the keys {', '.join(sorted(names))}, got one value"
                problems.error(source.path, document.line_of(key), "wrong-value", message, in_version=True)
                good = False
        return good

    def _place(self, source: SourceFile, lang: str) -> Place:
        place = self._places.get(lang)
        if place is None:
            place = self._places[lang] = Place(source.path, source.name, source.parts, lang, self._spellings[lang])
        return place

    def _languages_of(self, source: SourceFile, document: Document, problems: Problems) -> Sequence[str]:
        """Return the languages of a document's versions: one, or with ``{lang}`` paths every one it has values for.

        A document with such paths and values for no language is in the main one.
        """
        written = document.values.get("lang")
        unnamed = written is None or is_null(written)
        if self._spreads and unnamed:
            by_language = [plan.expression for plan in self._plans if plan.expression.by_language]
            places = [self._place(source, lang) for lang in self._languages]
            found = [
                place.lang
                for place in places
                if any(not is_null(expression.read(document, place)) for expression in by_language)
            ]
            return found or [self._workspace.main_language]
        if unnamed:
            lang = source.lang or self._workspace.main_language
        else:
            lang = self._lang_map.get(written, str(written)) if isinstance(written, str) else repr(written)
        if lang in self._allowed:
            return [lang]
        if lang not in self._language_number:
            kind = "unknown-language"
            message = f"unknown language {lang!r}: the workspace has {', '.join(self._workspace.languages)}"
        else:
            kind = "not-multilingual"
            message = (
                f"a version in {lang!r}, but {self._api.endpoint} is not multilingual: "
                "set 'multilingual: true' in its definition or remove the version"
            )
        problems.error(source.path, document.line_of("lang"), kind, message, in_version=True)
        document.broken = True  # but checked in the main language, so that one run reports all its problems
        return [self._workspace.main_language]

    def _add_version(
        self,
        source: SourceFile,
        number: int,
        document: Document,
        lang: str,
        problems: Problems,
        unknown: UnknownKeys,
        git: GitRange | None,
    ) -> None:
        """Add a document's version in one language, or report why it cannot be."""
        place = self._place(source, lang)

        def line_of(key: str | None, inside: Steps) -> int:
            return document.line if key is None or document.lines is None else document.line_of(key, *inside)

        def wrong(kind: str, key: str | None, message: str, inside: Steps = ()) -> None:
            problems.error(source.path, line_of(key, inside), kind, message, in_version=True)

        values = document.values
        entry_id = self._entry_id(source, document, place, wrong)
        is_draft_file = source.draft or _is_true(values.get("draft"))
        status = self._status(self._status_at.read(document, place), wrong)
        needs_all = not is_draft_file and status is not Status.DRAFT
        dates, dated = self._dates.read(document, place, wrong)
        start, end = dates[3:]
        good = dated and not document.broken and entry_id is not None and status is not None
        if status is Status.SCHEDULED and start is None and not is_draft_file:
            wrong("no-publish-start", self._status_at.key, "status is scheduled, but there is no publishStart: add one")
            good = False
        if start is not None and end is not None and end <= start:
            at = self._dates.expressions["publishEnd"].key
            wrong("publish-period", at, "publishEnd is not after publishStart: the version would never be live")
            good = False

        cells: list[Any] = []
        delivered: dict[str, Any] = {}
        for plan in self._plans:
            try:
                raw = plan.expression.read(document, place)
                typed, value, search = plan.compile(raw)
            except InvalidValue as error:
                for steps, message in error.faults:
                    wrong(
                        "wrong-value", plan.expression.key, f"{written_path(plan.path.name, steps)}: {message}", steps
                    )
                good = False
                continue
            delivered[plan.path.field.id] = value
            cells.append(typed)
            if plan.searched:
                cells.append(search)
            if plan.path.field.kinds:
                for steps in unknown_members(plan.path.field, raw):
                    names = (plan.path.name, *(step for step in steps if isinstance(step, str)))
                    unknown.add(".".join(names), line_of(plan.expression.key, steps))
            if not plan.checked:
                continue
            for steps, path, inner in parts_of(plan.path, value):
                if path.field.required and needs_all and path.field.lacks(inner):
                    message = f"{written_path(plan.path.name, steps)}: required, but has no value"
                    wrong("required", plan.expression.key, message, steps)
                    good = False
                if path.field.type in REFERENCE_TYPES:
                    line = None
                    for one in referred(path, inner):
                        api, entry = (one["api"], one["id"]) if isinstance(one, dict) else (None, one)
                        if (tracked := self._tracked.get((path.name, api))) is not None:
                            line = line_of(plan.expression.key, steps) if line is None else line
                            self._rows.references.append((number, line, tracked, entry))
        written_key = values.get("draftKey")
        draft_key = None if written_key is None or is_null(written_key) else written_key
        if draft_key is not None and not (isinstance(draft_key, str) and valid_id(draft_key)):
            wrong("draft-key", "draftKey", "draftKey must be 1 to 64 characters of A-Z a-z 0-9 _ -")
            good = False
        if not good or entry_id is None or status is None:
            if entry_id is not None:
                self._rows.references.append((number, document.line, LEFT_OUT, entry_id))
            return

        created, updated, published = meta_dates(dates, source, document.line, git, problems)
        live_from = ALWAYS if start is None else start
        live_until = NEVER if end is None else end
        state = DRAFT_FILE if is_draft_file else DRAFT_STATUS if status is Status.DRAFT else LIVE
        json = _encode(delivered)
        key = None if draft_key is None else str(draft_key)
        facts = (entry_id, created, updated, published, live_from, live_until)
        digest = version_digest((*facts, status, key), json)
        is_scheduled = status is Status.SCHEDULED
        of_version = (self._language_number[lang], state, is_scheduled, key, digest, number, document.line, json)
        self._rows.add((*facts, *cells, *of_version))

    def _entry_id(
        self, source: SourceFile, document: Document, place: Place, wrong: Callable[[str, str | None, str], None]
    ) -> str | None:
        written = document.values.get("id")
        if written is not None and not is_null(written):
            if isinstance(written, str) and valid_id(written):
                return str(written)
            shown = repr(str(written)) if isinstance(written, (str, int, float)) else "that"
            wrong("id", "id", f"{shown} is no ID: 1 to 64 characters of A-Z a-z 0-9 _ - are allowed")
            return None
        if self._id_template is not None:
            raw = self._id_template.read(document, place)
            if not isinstance(raw, str) or not raw:
                wrong("id", None, "no ID: nothing that the API's 'id' template names has a value here")
                return None
            made = self._id_map.get(raw) or slug_id(str(raw))
            if not valid_id(made):
                wrong(
                    "id", None, f"the ID {made!r} has {len(made)} characters; at most 64 are allowed: add an 'id' key"
                )
                return None
            return made
        if self._api.kind is ApiKind.OBJECT:
            return self._api.endpoint
        if source.id is None or document.item is not None:
            wrong("id", None, "no ID: add an 'id' key (1 to 64 characters of A-Z a-z 0-9 _ -)")
            return None
        if not valid_id(source.id):
            wrong(
                "id",
                None,
                f"the file name gives the ID {source.id!r}, but only 1 to 64 characters of A-Z a-z 0-9 _ - are "
                "allowed: rename the file, add an 'id' key, or give the API an 'id' template",
            )
            return None
        return source.id

    def _status(self, written: RawValue, wrong: Callable[[str, str | None, str], None]) -> Status | None:
        if written is None or is_null(written):
            return Status.PUBLISHED
        if isinstance(written, str) and written in _STATUSES:
            return _STATUSES[written]
        wrong("status", self._status_at.key, f"status is {written!r}; it must be published, scheduled or draft")
        return None


def _is_true(raw: RawValue) -> bool:
    return raw is True or (isinstance(raw, Plain) and raw in ("true", "True", "TRUE"))
