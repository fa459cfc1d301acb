"""Compare a version in a store with a workspace behind a server: what clients would see differently."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING

import msgspec

from cli.location import ChosenWorkspace
from cli.query.local_answers import answer_request
from cli.remote.definitions import definitions_of
from cli.remote.entries import visible_entries
from cli.remote.server import Server, ServerRefused
from snapshots.compare.compatibility import schema_changes
from snapshots.compare.diff import MOST_LISTED, Comparison, EntryDifference, field_changes
from snapshots.compare.endings import EndedReference
from snapshots.compare.renames import Place, Rename, find_renames
from snapshots.compare.versions import Version, title_of, version_of
from snapshots.definitions.names import RESERVED_FIELDS
from snapshots.times import parse_datetime

if TYPE_CHECKING:
    from engine.read.reader.reader import Reader
    from snapshots.model import Api, Workspace

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
    _came: tuple[Version, ...]
    _went: tuple[Version, ...]
    draft: bool = False

    @property
    def changed(self) -> int:
        """The number of entries that differ."""
        return len(self._changes)

    def changes(self) -> Iterator[EntryDifference]:
        """Return each changed entry's changes."""
        return iter(self._changes)

    def came(self, most: int = MOST_LISTED) -> Iterator[Version]:
        """Return the first added versions."""
        return islice(self._came, most)

    def went(self, most: int = MOST_LISTED) -> Iterator[Version]:
        """Return the first removed versions."""
        return islice(self._went, most)


@dataclass(frozen=True)
class ServedComparison(Comparison[ServedFileChanges]):
    """All changes, as clients see them."""

    before: Mapping[str, Mapping[str, list[Place]]]
    """The languages in which entries were live, by endpoint and ID."""
    after: Mapping[str, Mapping[str, list[Place]]]

    @cached_property
    def renames(self) -> tuple[Rename, ...]:
        """The renamed entries, whose versions are among the added and the removed ones."""
        found: list[Rename] = []
        for endpoint, files in groupby(self.files, key=lambda file: file.api):
            some = list(files)
            came = [one for file in some for one in file.came()]
            went = [one for file in some for one in file.went()]
            left = {
                entry: [lang for lang, _ in places]
                for entry, places in self.still_there(endpoint, [one.id for one in went]).items()
            }
            new = {one.id for one in came} - self.before.get(endpoint, {}).keys()
            found += find_renames(endpoint, went, came, left, new)
        return tuple(found)

    def still_there(self, endpoint: str, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return the languages in which entries of an API are live after the change, by ID."""
        there = self.after.get(endpoint, {})
        return {one: there[one] for one in ids if one in there}

    def ended(self, gone: Mapping[str, Sequence[str]]) -> list[EndedReference]:  # the problems name them
        """Return nothing: answers do not tell which drafts and scheduled entries refer to what is gone, and the
        problems of the workspace name all."""
        return []


def served_changes(server: Server, chosen: ChosenWorkspace, version: str) -> tuple[ServedComparison, str]:
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
        before: _Places = defaultdict(lambda: defaultdict(list))
        after: _Places = defaultdict(lambda: defaultdict(list))
        files = tuple(_files(theirs, ours, before, after))
        schema = schema_changes(theirs.definitions(), ours.definitions())
        return ServedComparison(tuple(schema), files, before, after), first.version


_Places = defaultdict[str, defaultdict[str, list[Place]]]


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


def _files(theirs: _Served, ours: _Local, were: _Places, are: _Places) -> Iterator[ServedFileChanges]:
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
            found = _changes(ours.workspace.api(endpoint), endpoint, lang, old, new)
            for places, entries in ((were, old), (are, new)):
                for one in entries:
                    places[endpoint][one].append((lang, False))
            if found.added or found.removed or found.changed:
                yield found


def _changes(api: Api | None, endpoint: str, lang: str, old: dict[str, str], new: dict[str, str]) -> ServedFileChanges:
    both = (one for one in new if one in old and old[one] != new[one])
    changes = (
        EntryDifference(
            one, tuple(field_changes(old[one], new[one])), title_of(api, msgspec.json.decode(new[one])) or one
        )
        for one in both
    )
    added, removed = (tuple(one for one in some if one not in others) for some, others in ((new, old), (old, new)))
    return ServedFileChanges(
        endpoint,
        lang,
        added,
        removed,
        _changes=tuple(change for change in changes if change.values),
        _came=tuple(_version(api, one, lang, new[one]) for one in added[:MOST_LISTED]),
        _went=tuple(_version(api, one, lang, old[one]) for one in removed[:MOST_LISTED]),
    )


def _version(api: Api | None, entry: str, lang: str, text: str) -> Version:
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    fields = {name: value for name, value in members.items() if name not in RESERVED_FIELDS}
    return version_of(api, entry, lang, msgspec.json.encode(fields).decode(), draft=False)
