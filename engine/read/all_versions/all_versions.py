"""List the language versions of a snapshot version, drafts and scheduled ones too, at any instant.

Conditions and order are those of public lists, by the same statements; what only these lists can be asked is
``Wanted``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from engine.access.drafts.draft import Draft, draft_of
from engine.read.files.data_file import DRAFT_KEY, JSON, TITLE, files_as_table
from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.parameters import parse_list_query
from engine.read.query.plan import Criteria, Wanted, criteria_of
from engine.read.query.selection.sql import versions_statement
from engine.read.reader.data_files import DataFiles
from engine.read.reader.statement import Row
from engine.timeline.states import IN_STATE, STATES, State, state_at
from snapshots.columns import FileKind
from snapshots.data_files.segments import Division, entry_number
from snapshots.model import ALWAYS, NEVER, Api
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import WorkspaceStore

_LISTED: Final = ('"id"', '"live_from"', '"live_until"', '"updatedAt"', TITLE, DRAFT_KEY)
_CONTENT: Final = ('"createdAt"', '"publishedAt"', JSON)
_ALL: Final = Criteria("and", (), None, ())
_STATES_OF: Final = {FileKind.DRAFTS: (None, State.DRAFT), FileKind.PUBLISHED: (None, *IN_STATE)}
"""The states of the versions in a file, and ``None`` for all."""


class Listed(msgspec.Struct, frozen=True):
    """One language version of a list."""

    id: str
    lang: str
    state: State
    title: str | None
    """The value of the API's first text field."""
    updated_at: int
    """UTC milliseconds, like the two ends of the live window below."""
    live_from: int | None
    live_until: int | None
    draft: Draft | None
    """The draft key and path that preview the version; ``None`` unless it is a draft."""


class Page(msgspec.Struct, frozen=True):
    """A part of a list, and the length of the whole list."""

    total: int
    entries: tuple[Listed, ...]


class Content(msgspec.Struct, frozen=True):
    """The fields of one language version."""

    created_at: int
    """UTC milliseconds, like the next field."""
    published_at: int
    values: dict[str, Any]
    """Values as delivered by field ID, references as IDs."""


class AllVersions:
    """The language versions of one snapshot version. Each method raises ``SnapshotUnusable`` where a file
    cannot be read, and ``QueryTimeout``."""

    def __init__(
        self, files: DataFiles, workspace_store: WorkspaceStore, manifest: Manifest, secret: bytes | None
    ) -> None:
        """``secret`` derives draft keys."""
        self.manifest: Final = manifest
        self._files = files
        self.workspace_store: Final = workspace_store
        self._secret = secret

    def page(self, api: Api, now: int, wanted: Wanted, query: str = "") -> Page:
        """Return a part of the list of an API's versions at ``now`` (UTC milliseconds). ``query`` has ``q``,
        ``filters`` and ``orders`` as of a public list. Raises ``InvalidQuery``."""
        criteria = criteria_of(parse_list_query(query.encode()), api)
        files = [
            files
            for lang in self.manifest.workspace.languages_of(api)
            for kind in (FileKind.DRAFTS, FileKind.PUBLISHED)
            if wanted.lang in (None, lang) and wanted.state in _STATES_OF[kind]
            if (files := self._of_entries(api, lang, kind, wanted.ids))
        ]
        rows = self._rows(api, files, criteria, wanted, _LISTED, now)
        if not rows and wanted.first:
            return Page(self.page(api, now, replace(wanted, first=0, count=1), query).total, ())
        entries = tuple(self._listed(api, files[number][0], row, now) for _, number, *row in rows)
        return Page(rows[0][0] if rows else 0, entries)

    def versions(self, api: Api, entry: str, now: int) -> tuple[Listed, ...]:
        """Return every version of an entry: languages in the workspace's order, and in each the draft first."""
        return self._by_language(self.page(api, now, Wanted(ids=[entry])).entries)

    def content(self, api: Api, version: Listed) -> Content:
        """Return the content of a version of a list."""
        kind = FileKind.DRAFTS if version.state is State.DRAFT else FileKind.PUBLISHED
        files = [one for one in (self._of_entries(api, version.lang, kind, [version.id]),) if one]
        for _, _, created, published, fields in self._rows(api, files, _ALL, Wanted(ids=[version.id]), _CONTENT):
            return Content(created, published, msgspec.json.decode(fields))
        raise SnapshotUnusable(
            f"{api.endpoint}/{version.id} ({version.lang}) is not in snapshot version {self.manifest.version}."
        )

    def referred(self, api: Api, entries: Collection[str], lang: str, now: int) -> dict[str, Listed]:
        """Return the version that a reference to each entry leads to, by entry ID; entries without one are left out.

        The version is the live one in ``lang``, else the live one in the main language, else another live one; without
        a live one, that of the next state in ``STATES``, its languages in the same order.
        """
        order = dict.fromkeys((lang, *self.manifest.workspace.languages))
        languages = {one: number for number, one in enumerate(order)}
        found = self.page(api, now, Wanted(ids=entries)).entries
        best_last = sorted(found, key=lambda one: (STATES.index(one.state), languages[one.lang]), reverse=True)
        return {one.id: one for one in best_last}

    def drafts(self) -> list[Draft]:
        """Return every version with unpublished changes: by API, language and entry ID."""
        of_apis = (self.page(api, 0, Wanted(state=State.DRAFT)).entries for api in self.manifest.workspace.apis)
        return [one.draft for found in of_apis for one in self._by_language(found) if one.draft is not None]

    def _by_language(self, found: Sequence[Listed]) -> tuple[Listed, ...]:
        """Sort versions by language, entry ID, and drafts first."""
        languages = self.manifest.workspace.languages
        return tuple(sorted(found, key=lambda one: (languages.index(one.lang), one.id, one.state is not State.DRAFT)))

    def _of_entries(self, api: Api, lang: str, kind: FileKind, ids: Collection[str] | None) -> tuple[DataFile, ...]:
        """Return the files of an API, language and kind that may have these entries, ``None`` for all."""
        files = self.manifest.files_of(api, lang, kind)
        if ids is None or not files:
            return files
        division = Division([file.segment for file in files])
        found = {division.of_number(entry_number(one)) for one in ids}
        return tuple(file for at, file in enumerate(files) if at in found)

    def _rows(
        self,
        api: Api,
        files: Sequence[Sequence[DataFile]],
        criteria: Criteria,
        wanted: Wanted,
        columns: Sequence[str],
        now: int = 0,
    ) -> list[Row]:
        tables = [
            files_as_table(
                [self._files.path(self.workspace_store.bring_file(self.manifest.version, file)) for file in of_table],
                api,
                of_table[0].kind,
                self.manifest,
            )
            for of_table in files
        ]
        if not tables:
            return []
        statement = versions_statement(tables, criteria, wanted, columns, now)
        return self._files.run(statement, self._files.deadline())

    def _listed(self, api: Api, file: DataFile, row: Sequence[Any], now: int) -> Listed:
        entry, begin, end, updated, title, given = row
        draft = None
        if file.kind is FileKind.DRAFTS:
            draft = draft_of(self.manifest.workspace, api, entry, file.lang, given, self._secret)
        state = State.DRAFT if draft is not None else state_at(begin, end, now)
        window = (None if begin == ALWAYS else begin, None if end == NEVER else end)
        return Listed(entry, file.lang, state, title, updated, *window, draft)
