"""Compare a version in a store with a workspace behind a server: what clients would see differently."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

import msgspec

from cli.location import ChosenWorkspace
from cli.query.local_answers import answer_request
from cli.remote.definitions import definitions_of
from cli.remote.entries import visible_entries
from cli.remote.server import Server, ServerRefused
from snapshots.compare.compatibility import schema_changes
from snapshots.compare.diff import Comparison, EntryDifference, field_changes
from snapshots.times import parse_datetime

if TYPE_CHECKING:
    from engine.read.reader.reader import Reader
    from snapshots.model import Workspace

_NONE_THERE = {400, 404}
"""Statuses of answers for a language that the API does not have, and for an object without an item."""


@dataclass(frozen=True)
class ServedFileChanges:
    """The changes of an API in one language, as clients see them."""

    api: str
    lang: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    _changes: tuple[EntryDifference, ...]
    draft: bool = False

    @property
    def changed(self) -> int:
        """The number of entries that differ."""
        return len(self._changes)

    def changes(self) -> Iterator[EntryDifference]:
        """Return each changed entry's changes."""
        return iter(self._changes)


def served_changes(server: Server, chosen: ChosenWorkspace, version: str) -> tuple[Comparison[ServedFileChanges], str]:
    """Return the changes from what the server answers now, and the version that it answers from.

    Raises ``ServerRefused``.
    """
    from engine.read.reader.reader import open_reader

    workspace_store = chosen.workspace_store
    first = server.ask("_schema")
    now = parse_datetime(first.at, UTC)
    chosen.store.cache.mkdir(parents=True, exist_ok=True)
    with closing(
        open_reader(workspace_store.bring(version), workspace_store.manifest(version), chosen.store.cache)
    ) as reader:
        theirs = _Served(server, first.point, definitions_of(first.document))
        ours = _Local(reader, chosen, now)
        files = tuple(_files(theirs, ours))
        schema = schema_changes(theirs.definitions(), ours.definitions())
        return Comparison(tuple(schema), files), first.version


class _Served:
    """The content that a server answers with at one point."""

    def __init__(self, server: Server, point: str, workspace: Workspace) -> None:
        self.workspace = workspace
        self._server, self._point = server, point
        self.main: str | None = None
        self.languages: dict[str, None] = {}
        """The languages found in the server's answers; no answer lists them all."""

    def definitions(self) -> Workspace:
        """Return the definitions, with the languages that were found."""
        languages = tuple(dict.fromkeys((*([self.main] if self.main else []), *self.languages)))
        return msgspec.structs.replace(self.workspace, languages=languages or ("",))

    def entries(self, endpoint: str, lang: str | None) -> dict[str, str]:
        """Return the entries of an API by ID, none where the server does not have the API or the language."""
        api = self.workspace.api(endpoint)
        if api is None:
            return {}
        try:
            found = visible_entries(self._ask, endpoint, is_object=api.kind == "object", lang=lang)
        except ServerRefused as refused:
            if refused.status not in _NONE_THERE:
                raise
            return {}
        self.main = self.main or found.main
        self.languages |= dict.fromkeys(sorted(found.languages))
        if lang is not None:
            self.languages[lang] = None
        return found.by_id

    def _ask(self, target: str) -> bytes:
        return self._server.ask(target, self._point).body


class _Local:
    """The content that a server would answer with from a version."""

    def __init__(self, reader: Reader, chosen: ChosenWorkspace, now: int) -> None:
        self.workspace = reader.workspace
        self._reader, self._chosen, self._now = reader, chosen, now

    def definitions(self) -> Workspace:
        """Return the definitions as a server shows them."""
        schema = msgspec.json.decode(self._ask("_schema"))
        return msgspec.structs.replace(definitions_of(schema), languages=self.workspace.languages)

    def entries(self, endpoint: str, lang: str) -> dict[str, str]:
        """Return the entries of an API by ID, none where the version does not have the API or the language."""
        from engine.read.query.answers.bind import NotFound

        api = self.workspace.api(endpoint)
        if api is None or lang not in self.workspace.languages_of(api):
            return {}
        try:
            return visible_entries(self._ask, endpoint, is_object=api.kind == "object", lang=lang).by_id
        except NotFound:
            return {}

    def _ask(self, target: str) -> bytes:
        from engine.read.query.stages import UNWATCHED
        from engine.views.counting.counts import Counts

        return answer_request(self._reader, target, self._chosen, None, self._now, b"", Counts(), UNWATCHED).body


def _files(theirs: _Served, ours: _Local) -> Iterator[ServedFileChanges]:
    endpoints = list(dict.fromkeys(api.endpoint for one in (ours, theirs) for api in one.workspace.apis))
    main = ours.workspace.main_language
    # Asked for without a language, a server tells which one is its main one.
    first = {endpoint: theirs.entries(endpoint, None) for endpoint in endpoints}
    for endpoint in endpoints:
        before = {theirs.main or main: first.pop(endpoint)}
        languages = dict.fromkeys((*before, *ours.workspace.languages, *theirs.languages))
        for lang in languages:
            old = before[lang] if lang in before else theirs.entries(endpoint, lang)
            new = ours.entries(endpoint, lang)
            found = _changes(endpoint, lang, old, new)
            if found.added or found.removed or found.changed:
                yield found


def _changes(endpoint: str, lang: str, old: dict[str, str], new: dict[str, str]) -> ServedFileChanges:
    both = (one for one in new if one in old and old[one] != new[one])
    changes = (EntryDifference(one, tuple(field_changes(old[one], new[one]))) for one in both)
    return ServedFileChanges(
        endpoint,
        lang,
        added=tuple(one for one in new if one not in old),
        removed=tuple(one for one in old if one not in new),
        _changes=tuple(change for change in changes if change.values),
    )
