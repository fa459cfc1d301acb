"""Compile the documents of one API into rows (typed columns, JSON, search text) and problems (workspace-format)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

import msgspec

from snapshots.aliases.reading import NOTHING_RENAMED, ODD_ALIAS, AliasReader, Renamed
from snapshots.columns import REFERENCE_API, REFERENCE_ID, field_column, search_column
from snapshots.compile.audience import Audience
from snapshots.compile.dates import GitRange, VersionDates, Wrong, meta_dates
from snapshots.compile.entry_ids import EntryIds
from snapshots.compile.fields import MadeIds, field_compiler, unknown_members
from snapshots.compile.launches import LAUNCH, STRAGGLER, Launches
from snapshots.compile.richtext import RichText
from snapshots.compile.rows import (
    ALIAS,
    DRAFT_FILE,
    DRAFT_STATUS,
    FIRST_LINK,
    LAUNCHED_DRAFT,
    LEFT_OUT,
    LIVE,
    MADE_ID,
    CompiledRows,
    RowsBuilder,
    version_digest,
)
from snapshots.compile.values import Compiler, InvalidValue
from snapshots.definitions.model import ApiSource
from snapshots.documents.document import SYSTEM_KEYS, ContentDocument, Markdown, RawValue, is_missing
from snapshots.documents.expressions import Expression, FileFacts, parse_expression, partly_read
from snapshots.documents.publicity import keeps_back_by_false, plain_truth, word_of
from snapshots.documents.renamed_keys import renamed_keys
from snapshots.documents.yaml_reader import describe
from snapshots.groups import parts_of, reference_checks, referred
from snapshots.ids import ID_IN_WORDS, valid_id
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
from snapshots.sources.site_paths import SitePaths
from snapshots.sources.unknown_languages import unknown_language, what_to_do
from snapshots.times import format_datetime

_STATUSES = {status.value: status for status in Status}
_MEANT_BY_STATUS = {
    **{status.value: status for status in Status},
    **dict.fromkeys(("publish", "live", "public", "online", "ready", "active"), Status.PUBLISHED),
    **dict.fromkeys(("unpublished", "in progress", "wip", "private", "hidden", "offline", "archived"), Status.DRAFT),
    **dict.fromkeys(("schedule", "planned", "future"), Status.SCHEDULED),
}
"""The statuses that other words, in lower case, are likely to mean."""
_NO_PATHS: Mapping[str, SitePaths] = {}
_NO_LAUNCHES: Mapping[str, int] = {}
UNKNOWN_KEY = "unknown-key"
NOT_DELIVERED = "not-delivered"
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Repeated:
    """Problems that are reported once for all files, by kind and subject: their number, and the line and item of the
    first."""

    counts: dict[str, dict[str, tuple[int, int, str]]] = field(default_factory=dict)

    def add(self, kind: str, what: str, line: int, item: str, count: int = 1) -> None:
        """Add ``count`` to the number of problems about ``what``, found first on ``line``, in ``item``."""
        counts = self.counts.setdefault(kind, {})
        before, first_line, first_item = counts.get(what, (0, line, item))
        counts[what] = (before + count, first_line, first_item)


@dataclass(frozen=True, slots=True)
class _FieldPlan:
    path: FieldPath
    expression: Expression
    compile: Compiler
    searched: bool
    """The column with the search text follows."""
    grouped: bool
    """Whether the value is one of groups."""
    checked: bool
    """Whether the value, or one inside its groups, is required or refers to an API that exists."""
    paths: SitePaths | None
    """The paths of the API referred to, where references are written as paths."""

    def steps(self, document: ContentDocument, inside: Steps) -> Steps:
        """Return the way to a value inside the field's, from the document on; none where no key is read."""
        key = self.expression.key
        return () if key is None or document.lines is None else (key, *self.expression.below, *inside)


class ApiCompiler:
    """Compiles the documents of one API: ``compile`` adds rows, ``rows`` returns them."""

    def __init__(
        self,
        workspace: Workspace,
        api: Api,
        source: ApiSource,
        zone: tzinfo,
        made_ids: MadeIds,
        rich_text: RichText,
        site_paths: Mapping[str, SitePaths] = _NO_PATHS,
        launches: Mapping[str, int] = _NO_LAUNCHES,
        renamed: Renamed = NOTHING_RENAMED,
    ) -> None:
        """``made_ids`` maps the ``uid`` of every API whose IDs come from a template to its ``id_map``: references to
        such an API are turned into IDs by the same rule. ``site_paths`` are those of the APIs referred to by path,
        ``launches`` the workspace's, UTC milliseconds by name, ``renamed`` the entries that old IDs lead to."""
        self._workspace, self._api, self._zone, self._rich_text = workspace, api, zone, rich_text
        self._main_language = workspace.main_language
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
        self._checks = {(one.path.name, one.api): number for number, one in enumerate(reference_checks(api))}
        checked_names = {name for name, _ in self._checks}
        for declared in api.fields:
            expression = parse_expression(
                source.fields.get(declared.id, declared.id), languages=every, fallback_key=declared.id
            )
            columns.append(field_column(declared).name)
            searched = declared.type in TEXT_TYPES
            if searched:
                columns.append(search_column(declared.id))
            paths = site_paths.get(declared.target or "") if declared.id in source.by_path else None
            # What a path leads to is an ID already.
            compiler = field_compiler(declared, zone, rich_text, made_ids if paths is None else {}, renamed)
            path = field_path(declared)
            checked = any(one.field.required or one.name in checked_names for one in path.inside())
            self._plans.append(_FieldPlan(path, expression, compiler, searched, bool(declared.kinds), checked, paths))
        self._renamed_keys = renamed_keys(api.fields, source.fields)
        self._rows = RowsBuilder(columns)
        meta = dict(source.meta)
        self._dates = VersionDates(meta, every, zone)
        self._keys = {name: parse_expression(meta.get(name, name), languages=every) for name in ("lang", "draftKey")}
        self._audience = Audience(meta, source.hidden, every)
        self._status_at = parse_expression(meta.get("status", "status"), languages=every)
        self._ids = EntryIds(api, source, every, workspace.languages)
        expressions = [*(plan.expression for plan in self._plans), *self._dates.expressions.values(), self._status_at]
        expressions += [*self._keys.values(), *self._ids.expressions, *self._audience.expressions]
        self._launches = Launches(launches, meta, {key for one in expressions for key in one.keys}, zone, every)
        field_ids = {declared.id for declared in api.fields}
        read_otherwise = {key for one in expressions for key in one.keys}
        self._aliases = AliasReader(source, meta, read_otherwise, field_ids, every)
        expressions += [self._launches.expression, self._aliases.expression]
        harmless = {key for key in SYSTEM_KEYS if word_of(key) is None}
        self._known = self._audience.settled.union(harmless, *(expression.keys for expression in expressions))
        self._partly_read = partly_read(expressions)
        self._of_mappings = source.collection is not None and "$value" not in source.fields.values()
        """True where the items of a collection are mappings, since no field reads an item whole."""
        self._spreads = api.multilingual and any(plan.expression.by_language for plan in self._plans)
        self._language_number = {lang: number for number, lang in enumerate(workspace.languages)}
        self._file_facts: dict[str, FileFacts] = {}
        self._told: set[tuple[str, str]] = set()
        """The keys that are no language here, each with its file."""
        self._new_at: int | None = None
        """When the file at work was first there, as far as git knows, UTC milliseconds."""

    def rows(self) -> CompiledRows:
        """Return all good versions added so far, and forget them."""
        rows = self._rows.rows()
        self._rows.clear()
        return rows

    def compile(
        self,
        source: SourceFile,
        number: int,
        documents: Iterable[ContentDocument],
        problems: Problems,
        repeated: Repeated,
        git: GitRange | None,
        uncommitted_at: int | None = None,
    ) -> None:
        """Add every good version of a file's documents; report the others.

        ``number`` is the file's number in ``CompiledRows.file``, ``git`` its first and last commit; ``uncommitted_at``
        is the instant at which a file without commits is new, UTC milliseconds, ``None`` where there is no checkout.
        """
        self._new_at = git[0] if git is not None else uncommitted_at
        known = self._known
        self._file_facts.clear()
        self._rich_text.file = source.path
        self._check_language_of_item(source, problems)
        for document in documents:
            file_facts = self._facts_of(source, source.lang or self._main_language)
            item = self._ids.item_name(document, file_facts)
            if self._renamed_keys:
                self._rename(source, document, item, problems)
            if self._of_mappings and not isinstance(document.value, dict):
                message = (
                    f"expected a mapping of fields, got {describe(document.value)}; "
                    "a field with 'from: $value' would read it"
                )
                problems.error(source.path, document.line, "no-mapping", message, in_version=True, item=item)
                continue
            if self._audience.leaves_out(document, file_facts):
                continue
            unread = () if known.issuperset(document.values) else [key for key in document.values if key not in known]
            is_draft, doubts = self._audience.judge(document, file_facts, unread)
            for doubt in doubts:
                line = document.line_of(*doubt.steps)
                problems.error(source.path, line, "kept-back", doubt.message, in_version=True, item=item)
                document.broken = True  # but checked, so that one run reports all its problems
            if unread:
                told = {*SYSTEM_KEYS, *(doubt.steps[0] for doubt in doubts if doubt.steps)}
                for key in unread:
                    if key not in told and not self._audience.counts_as_draft_key(key):
                        repeated.add(UNKNOWN_KEY, key, document.line_of(key), item)
            if self._partly_read and not self._check_inside(source, document, item, problems, repeated):
                document.broken = True  # but checked, so that one run reports all its problems
            said: set[tuple[int, str, Steps]] = set()
            for lang in self._languages_of(source, document, item, problems):
                self._add_version(source, number, document, item, lang, is_draft, problems, repeated, git, said)

    def _rename(self, source: SourceFile, document: ContentDocument, item: str, problems: Problems) -> None:
        """Give the document's keys their present names; report fields that it has under both."""
        clashes: list[tuple[Steps, Steps]] = []
        lines: list[tuple[int, int]] = []

        def both(old: Steps, new: Steps) -> None:
            clashes.append((old, new))
            lines.append((document.line_of(*old), document.line_of(*new)))

        self._renamed_keys.renamed(document, both)
        for (old, new), (old_line, new_line) in zip(clashes, lines, strict=True):
            message = (
                f"{written_path(str(old[0]), old[1:])} (line {old_line}) is the former name of "
                f"{written_path(str(new[0]), new[1:])} (line {new_line}), and a file has one of them: remove the other"
            )
            problems.error(source.path, max(old_line, new_line), "both-names", message, in_version=True, item=item)
            document.broken = True  # but checked, so that one run reports all its problems

    def _check_language_of_item(self, source: SourceFile, problems: Problems) -> None:
        """Warn of an object's file whose name ends with a language that the workspace lacks: in a list, the ID is wrong
        then."""
        if self._api.kind is not ApiKind.OBJECT or source.parts or source.lang is not None:
            return
        unknown = unknown_language(source.name, self._workspace.languages, self._lang_map)
        if unknown is not None:
            message = f"the file's name says language {unknown!r}, and is read as {self._main_language}: "
            message += what_to_do(unknown, self._workspace.languages)
            problems.warning(source.path, 1, "unknown-language", message)

    def _check_inside(
        self, source: SourceFile, document: ContentDocument, item: str, problems: Problems, repeated: Repeated
    ) -> bool:
        """Report the unknown keys of mappings of which single keys are read; False where one is no mapping."""
        good = True
        for key, names in self._partly_read.items():
            value = document.values.get(key)
            if isinstance(value, dict):
                for inner in value:
                    if inner not in names:
                        repeated.add(UNKNOWN_KEY, f"{key}.{inner}", document.line_of(key, inner), item)
            elif not is_missing(value):
                message = f"{key}: expected a mapping with the keys {', '.join(sorted(names))}, got one value"
                line = document.line_of(key)
                problems.error(source.path, line, "wrong-value", message, in_version=True, item=item)
                good = False
        return good

    def _facts_of(self, source: SourceFile, lang: str) -> FileFacts:
        file_facts = self._file_facts.get(lang)
        if file_facts is None:
            file_facts = self._file_facts[lang] = FileFacts(
                source.path, source.name, source.parts, lang, self._spellings[lang]
            )
        return file_facts

    def _languages_of(
        self, source: SourceFile, document: ContentDocument, item: str, problems: Problems
    ) -> Sequence[str]:
        """Return the languages of a document's versions: one, or with ``{lang}`` paths every one it has values for.

        A document with such paths and values for no language is in the main one.
        """
        at = self._keys["lang"]
        if document.lang is not None:
            return self._language_of_key(source, document, document.lang, item, problems)
        written = at.read(document, self._facts_of(source, source.lang or self._main_language))
        unnamed = is_missing(written)
        if self._spreads and unnamed:
            by_language = [plan.expression for plan in self._plans if plan.expression.by_language]
            of_languages = [self._facts_of(source, lang) for lang in self._languages]
            found = [
                file_facts.lang
                for file_facts in of_languages
                if any(not is_missing(expression.read(document, file_facts)) for expression in by_language)
            ]
            return found or [self._main_language]
        if unnamed:
            lang = source.lang or self._main_language
        else:
            lang = self._lang_map.get(written, str(written)) if isinstance(written, str) else repr(written)
            if source.lang is not None and lang != source.lang:
                message = (
                    f"the path says language {source.lang!r}, the key {at.key!r} says {lang!r}, which takes precedence"
                )
                self._differ(source, document, item, at.key, message, problems)
        return self._allowed_language(source, document, lang, at.key, item, problems)

    def _language_of_key(
        self, source: SourceFile, document: ContentDocument, written: str, item: str, problems: Problems
    ) -> Sequence[str]:
        """Return the language that a key around the document says; what the file's name says may say the same."""
        lang = self._lang_map.get(written, written)
        if source.lang not in (None, lang):
            message = f"the path says language {source.lang!r}, the key around it says {lang!r}, which takes precedence"
            problems.warning(source.path, document.line, "path-differs", f"{message}; make them agree", item=item)
        return self._allowed_language(source, document, lang, None, item, problems)

    def _allowed_language(
        self, source: SourceFile, document: ContentDocument, lang: str, key: str | None, item: str, problems: Problems
    ) -> Sequence[str]:
        """Return a language, or report why no version can be in it."""
        if lang in self._allowed:
            return [lang]
        if lang not in self._language_number:
            kind = "unknown-language"
            message = f"unknown language {lang!r}: the workspace has {', '.join(self._workspace.languages)}"
        else:
            kind = "not-multilingual"
            message = (
                f"a language version in {lang!r}, but {self._api.endpoint} is not multilingual: "
                "set 'multilingual: true' in its definition or remove it"
            )
        if document.lang is None or (source.path, lang) not in self._told:
            problems.error(source.path, document.line_of(key or "lang"), kind, message, in_version=True, item=item)
        if document.lang is not None:
            self._told.add((source.path, lang))  # once for all items below the key
        document.broken = True  # but checked in the main language, so that one run reports all its problems
        return [self._main_language]

    def _differ(
        self,
        source: SourceFile,
        document: ContentDocument,
        item: str,
        key: str | None,
        message: str,
        problems: Problems,
    ) -> None:
        """Warn that path and document say different things (decision 58)."""
        hint = f"; make them agree, or write 'meta: {{{key}: null}}' in the definition if the key means something else"
        problems.warning(source.path, document.line_of(key or ""), "path-differs", message + hint, item=item)

    def _add_version(
        self,
        source: SourceFile,
        number: int,
        document: ContentDocument,
        item: str,
        lang: str,
        is_draft: bool,
        problems: Problems,
        repeated: Repeated,
        git: GitRange | None,
        said: set[tuple[int, str, Steps]],
    ) -> None:
        """Add a document's version in one language, or report the faults that prevent it.

        ``said`` holds line, message and way into the value of each fault of the document: a value that several
        fields, dates or languages read is one fault.
        """
        file_facts, language = self._facts_of(source, lang), self._language_number[lang]

        def wrong(kind: str, key: str | None, message: str, name: str | None = None, steps: Steps = ()) -> None:
            line = document.line if key is None else document.line_of(key, *steps)
            if (line, message, steps) not in said:
                said.add((line, message, steps))
                message = f"{name}: {message}" if name else message
                problems.error(source.path, line, kind, message, in_version=True, item=item)

        def doubtful(kind: str, key: str | None, message: str, name: str) -> None:
            line = document.line if key is None else document.line_of(key)
            if (line, message, ()) not in said:
                said.add((line, message, ()))
                problems.warning(source.path, line, kind, f"{name}: {message}", item=item)

        read = self._ids.read(source, document, file_facts, wrong)
        entry_id = None if read is None else read.id
        named = self._ids.in_path(source, document)
        if named is not None and entry_id not in (None, named):
            key = self._ids.key
            message = f"the path says ID {named!r}, the key {key!r} says {entry_id!r}, which takes precedence"
            if (document.line, message, ()) not in said:
                said.add((document.line, message, ()))
                self._differ(source, document, item, key, message, problems)
        is_draft_file = source.draft or is_draft
        status = self._status(self._status_at.read(document, file_facts), wrong)
        needs_all = not is_draft_file and status is not Status.DRAFT
        dates, dated = self._dates.read(document, file_facts, wrong, doubtful)
        if status is not None:
            launch, known = self._launches.named(document, file_facts, wrong)
            if launch is not None:
                status, dates[3], straggles = self._launches.join(launch, status, dates[3], is_draft=is_draft_file)
                at = self._launches.expression.key
                if straggles is not None and not is_draft_file:
                    doubtful(STRAGGLER, at, straggles, LAUNCH)
                elif straggles is not None and entry_id is not None:  # unless the entry itself goes live with it
                    line = document.line_of(at or LAUNCH)
                    launched = (number, line, item, language, LAUNCHED_DRAFT, entry_id, straggles)
                    self._rows.references.append(launched)
            status = status if known else None
        start, end = dates[3:]
        good = dated and not document.broken and entry_id is not None and status is not None
        if status is Status.SCHEDULED and start is None and not is_draft_file:
            wrong("no-publish-start", self._status_at.key, "status is scheduled, but there is no publishStart: add one")
            good = False
        if start is not None and end is not None and end <= start:
            at = self._dates.expressions["publishEnd"].key
            wrong("publish-period", at, "publishEnd is not after publishStart: it would never be live")
            good = False

        cells: list[Any] = []
        delivered: dict[str, Any] = {}
        lacking: list[str] = []
        for plan in self._plans:
            written = plan.expression.read(document, file_facts)
            try:
                raw = written if plan.paths is None else _found_by_path(written, plan.paths, source.path)
                typed, value, search = plan.compile(raw)
            except InvalidValue as error:
                for inside, message in error.faults:
                    below = (*plan.expression.below, *inside) if inside else ()
                    wrong("wrong-value", _key(plan, written), message, written_path(plan.path.name, inside), below)
                good = False
                continue
            finally:
                rich_text = self._rich_text
                if rich_text.removed or rich_text.left or rich_text.doubts or rich_text.linked or rich_text.images:
                    good = good and not any(doubt.is_error for doubt in rich_text.doubts)
                    self._report(source, number, document, item, language, plan, written, problems, repeated, said)
            delivered[plan.path.field.id] = value
            cells.append(typed)
            if plan.searched:
                cells.append(search)
            if plan.grouped:
                for steps in unknown_members(plan.path.field, written):
                    names = (plan.path.name, *(step for step in steps if isinstance(step, str)))
                    line = document.line_of(*plan.steps(document, steps))
                    repeated.add(UNKNOWN_KEY, ".".join(names), line, item)
            if not plan.checked:
                continue
            kept: dict[int, list[int]] = {}
            for compiled_at, path, inner in parts_of(plan.path, value):
                inside, there = _as_written(written, compiled_at, kept)
                if path.field.required and needs_all and path.field.lacks(inner):
                    good = False
                    if _reads_front_matter(plan, written) and _has_no_front_matter(document):
                        lacking.append(plan.path.name)
                        continue
                    message = f"{written_path(plan.path.name, inside)}: required, but has no value"
                    below = (*plan.expression.below, *inside) if inside else ()
                    wrong("required", plan.expression.key, message, steps=below)
                if path.field.type in REFERENCE_TYPES:
                    self._refer(number, document, item, language, plan, there, path, inside, inner)
        if lacking:
            wrong("front-matter", None, _no_front_matter(lacking))
        written_key = self._keys["draftKey"].read(document, file_facts)
        draft_key = None if is_missing(written_key) else written_key
        if draft_key is not None and not (isinstance(draft_key, str) and valid_id(draft_key)):
            wrong("draft-key", self._keys["draftKey"].key, f"draftKey must be {ID_IN_WORDS}")
            good = False
        if not good or entry_id is None or status is None:
            if entry_id is not None:
                self._rows.references.append((number, document.line, item, language, LEFT_OUT, entry_id, None))
                if needs_all:
                    self._note_aliases(number, document, item, language, entry_id, file_facts, repeated)
            return

        state = DRAFT_FILE if is_draft_file else DRAFT_STATUS if status is Status.DRAFT else LIVE
        created, updated, published, dates_are = meta_dates(dates, source, document.line, item, git, problems)
        # Git knows when a file came, not when its entry began: an archive may have come at once.
        began = min((date for date in (dates[0], *dates[2:4]) if date is not None), default=self._new_at)
        if end is not None and began is not None and end <= began and state == LIVE:
            message = (
                f"{format_datetime(end)} was over when the entry was first there, {format_datetime(began)}: it has "
                "never been live, and never will be. Correct it or remove it"
            )
            doubtful("ended-before", self._dates.expressions["publishEnd"].key, message, "publishEnd")
        if state == LIVE:
            self._note_aliases(number, document, item, language, entry_id, file_facts, repeated)
        if self._api.multilingual and read is not None and read.of is not None:
            self._rows.references.append((number, document.line, item, language, MADE_ID, entry_id, read.of))
        live_from = ALWAYS if start is None else start
        live_until = NEVER if end is None else end
        json = _encode(delivered)
        key = None if draft_key is None else str(draft_key)
        facts = (entry_id, created, updated, published, live_from, live_until)
        digest = version_digest((*facts, status, key), json)
        is_scheduled = status is Status.SCHEDULED
        position = (number, document.line, item, dates_are)
        of_version = (language, state, is_scheduled, key, digest, *position, json)
        self._rows.add((*facts, *cells, *of_version))

    def _note_aliases(
        self,
        number: int,
        document: ContentDocument,
        item: str,
        language: int,
        entry_id: str,
        file_facts: FileFacts,
        repeated: Repeated,
    ) -> None:
        """Add the aliases of a version that is not a draft: what is not published names nothing."""
        aliases, odd = self._aliases.read(document, file_facts)
        for alias in aliases:
            if alias.name != entry_id:
                line = document.line_of(*alias.steps)
                self._rows.references.append((number, line, item, language, ALIAS, alias.name, entry_id))
        for alias in odd:
            repeated.add(ODD_ALIAS, str(alias.steps[0]), document.line_of(*alias.steps), item)

    def _refer(
        self,
        number: int,
        document: ContentDocument,
        item: str,
        language: int,
        plan: _FieldPlan,
        there: RawValue,
        path: FieldPath,
        inside: Steps,
        value: str | list[Any] | None,
    ) -> None:
        """Add the references of a field, each with its line and, where it is no ID, as it is written.

        ``inside`` is the way from the value of the plan's field to ``value``, which is written as ``there``.
        """
        if not value:
            return
        given = [
            (at, one) for at, one in enumerate(there if isinstance(there, list) else [there]) if not is_missing(one)
        ]
        for target, (at, written) in zip(referred(path, value), given, strict=True):
            of_several = isinstance(target, dict)
            check = self._checks.get((path.name, target[REFERENCE_API] if of_several else None))
            if check is None:
                continue
            entry_id = target[REFERENCE_ID] if of_several else target
            given_id = written.get(REFERENCE_ID) if isinstance(written, dict) else written
            line = document.line_of(*plan.steps(document, (*inside, at) if isinstance(there, list) else inside))
            as_written = None if given_id == entry_id else str(given_id)
            self._rows.references.append((number, line, item, language, check, entry_id, as_written))

    def _report(
        self,
        source: SourceFile,
        number: int,
        document: ContentDocument,
        item: str,
        language: int,
        plan: _FieldPlan,
        raw: RawValue,
        problems: Problems,
        repeated: Repeated,
        said: set[tuple[int, str, Steps]],
    ) -> None:
        """Report the findings in a field, those of rich texts above all; only in Markdown lines can be counted."""
        is_markdown = type(raw) is Markdown

        def line_of(way: Steps, below: int) -> int:
            if way:
                return document.line_of(*plan.steps(document, way))
            return document.line_of(_key(plan, raw) or "$body") + below * is_markdown

        for removed in self._rich_text.removed:
            repeated.add(NOT_DELIVERED, removed.what, line_of(removed.way, removed.line), item, removed.count)
        for left in self._rich_text.left:
            repeated.add(left.kind, left.what, line_of(left.way, left.line), item, left.times)
        for image in self._rich_text.images:
            repeated.add(image.doubt.value, image.what, line_of(image.way, image.line), item)
        for doubt in self._rich_text.doubts:
            at = line_of(doubt.way, doubt.line)
            if (at, doubt.message, ()) in said:
                continue
            said.add((at, doubt.message, ()))
            if doubt.is_error:
                problems.error(source.path, at, doubt.kind, doubt.message, in_version=True, item=item)
            else:
                problems.warning(source.path, at, doubt.kind, doubt.message, item=item)
        for below, link, way in self._rich_text.linked:
            line = line_of(way, below)
            self._rows.references.append((number, line, item, language, FIRST_LINK - link.api, link.entry_id, None))
        self._rich_text.linked.clear()
        self._rich_text.images.clear()
        self._rich_text.removed.clear()
        self._rich_text.left.clear()
        self._rich_text.doubts.clear()

    def _status(self, written: RawValue, wrong: Wrong) -> Status | None:
        if is_missing(written):
            return Status.PUBLISHED
        status = _STATUSES.get(written.strip().lower()) if isinstance(written, str) else None
        if status is not None:
            return status
        key = self._status_at.key
        if key is not None:
            steps = (key, *self._status_at.below)
            if self._audience.shows(".".join(steps), written):
                return Status.PUBLISHED
            truth = plain_truth(written) if keeps_back_by_false(steps[-1]) else None
            if truth is not None:
                return Status.PUBLISHED if truth else Status.DRAFT
        meant = _MEANT_BY_STATUS.get(written.strip().lower()) if isinstance(written, str) else None
        hint = f"; did you mean {meant.value!r}?" if meant is not None else ""
        said = repr(str(written)) if isinstance(written, str) else repr(written)
        wrong("status", self._status_at.key, f"status is {said}; it must be published, scheduled or draft{hint}")
        return None


def _reads_front_matter(plan: _FieldPlan, written: RawValue) -> bool:
    """Return whether a field's value would stand in a Markdown file's front matter."""
    return plan.expression.key is not None and type(written) is not Markdown


def _has_no_front_matter(document: ContentDocument) -> bool:
    """Return whether a document is a Markdown file that begins with its text."""
    return document.body is not None and not document.values and document.line_of("$body") == 1


def _no_front_matter(lacking: Sequence[str]) -> str:
    names = f"{', '.join(lacking[:-1])} and {lacking[-1]}" if len(lacking) > 1 else lacking[0]
    has = "have" if len(lacking) > 1 else "has"
    return (
        f"there is no front matter, so {names} {has} no value: begin the file with a line of ---, a line such as "
        f"'{lacking[0]}: …' for each, and another line of ---"
    )


def _as_written(raw: RawValue, steps: Steps, kept: dict[int, list[int]]) -> tuple[Steps, RawValue]:
    """Return the way to a value inside a written one, from the way to it in the compiled one, and the value there.

    The compiled one lacks the empty items of lists; ``kept`` remembers the places of the others. A list of one item may
    be written as this item.
    """
    way: list[str | int] = []
    for step in steps:
        if isinstance(step, str):
            way.append(step)
            raw = raw.get(step) if isinstance(raw, dict) else None
        elif isinstance(raw, list):
            if id(raw) not in kept:
                kept[id(raw)] = [at for at, item in enumerate(raw) if not is_missing(item)]
            at = kept[id(raw)][step]
            way.append(at)
            raw = raw[at]
        else:
            way.append(step)
    return tuple(way), raw


def _found_by_path(raw: RawValue, paths: SitePaths, file: str) -> RawValue:
    """Return references that are written as paths as IDs. Raises ``InvalidValue``."""
    if isinstance(raw, list):
        return [_found_by_path(item, paths, file) for item in raw]
    if not isinstance(raw, str) or is_missing(raw):
        return raw
    found = paths.entry_id(raw, file)
    if found is None:
        raise InvalidValue(
            f"{str(raw)!r} is not the path of an entry on this site: write it like /posts/hello, or from this file "
            "like "
            "./hello.md"
        )
    return found


def _key(plan: _FieldPlan, raw: RawValue) -> str | None:
    """Return the key to point at when the value of a field is wrong, where there is one."""
    return "$body" if type(raw) is Markdown else plan.expression.key
