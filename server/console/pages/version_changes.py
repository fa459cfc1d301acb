"""Compare two versions for a page: the effects on clients, the changes of definitions, and changes field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from engine.timeline.points import Point
from server.console.visit import Visit
from snapshots.compare.compatibility import SchemaChange
from snapshots.compare.diff import DRAFT_KEY, LIVE_FROM, LIVE_UNTIL, FileDiff, ValueChange, diff
from snapshots.compare.words import Run, Side, word_runs
from snapshots.compile.richtext import visible_text
from snapshots.model import Api, FieldType, Member, Workspace

IDS_SHOWN: Final = 100
"""IDs of added or of removed entries that are listed for an API and a language."""

_NAMES: Final = {
    LIVE_FROM: "Live from",
    LIVE_UNTIL: "Live until",
    DRAFT_KEY: "Draft key",
    "createdAt": "Created",
    "updatedAt": "Changed",
    "publishedAt": "Published",
}


class Effect(msgspec.Struct, frozen=True):
    """The effects on clients and on the members of the workspace when another version becomes current."""

    published: int
    updated: int
    unpublished: int
    breaking: tuple[SchemaChange, ...]
    come: tuple[Member, ...]
    """Members who gain access or get another role."""
    go: tuple[Member, ...]
    """Members who lose access or their present role."""


class ChangedValue(msgspec.Struct, frozen=True):
    """A value that differs: its field, and the runs of words of both."""

    name: str
    field: str
    runs: tuple[Run, ...]
    note: str | None = None
    """A remark about a difference that the words do not show."""


class ShownEntry(msgspec.Struct, frozen=True):
    """A language version that both versions have, and its differences."""

    api: str
    lang: str
    draft: bool
    id: str
    values: tuple[ChangedValue, ...]


class ChangedEntries(msgspec.Struct, frozen=True):
    """The entries of an API in a language that one of the versions has."""

    api: str
    lang: str
    draft: bool
    ids: tuple[str, ...]
    """The first of them."""
    total: int


class VersionChanges(msgspec.Struct, frozen=True):
    """The changes from one version to another."""

    schema: tuple[SchemaChange, ...]
    """Breaking changes first."""
    added: tuple[ChangedEntries, ...]
    removed: tuple[ChangedEntries, ...]
    changed: tuple[ShownEntry, ...]
    """The changed entries on one page."""
    totals: dict[str, int]
    page: int
    pages: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed at all."""
        return not self.schema and not any(self.totals.values())


def effect_of(visit: Visit, old: str, new: str) -> Effect:
    """Return the changes of visible content at this instant if ``new`` is current instead of ``old``.

    Raises ``StoreError`` for a version that cannot be read.
    """
    from engine.timeline.changes import ChangeKind, changes  # noqa: PLC0415 - it imports Arrow

    found = changes(visit.workspace_store, Point(old, visit.now), Point(new, visit.now))
    before, after = (visit.workspace_store.manifest(version).workspace for version in (old, new))
    return Effect(
        published=found.count(ChangeKind.PUBLISHED),
        updated=found.count(ChangeKind.UPDATED),
        unpublished=found.count(ChangeKind.UNPUBLISHED),
        breaking=tuple(change for change in found.schema if change.breaking),
        come=_only(after, before),
        go=_only(before, after),
    )


def compared(visit: Visit, old: str, new: str, per_page: int) -> VersionChanges:
    """Return the changes, with the changed entries of the page asked for. Raises ``StoreError``."""
    found = diff(visit.workspace_store, old, new)
    page, pages = visit.page_of(found.changed, per_page)
    first = (page - 1) * per_page
    return VersionChanges(
        schema=tuple(sorted(found.schema, key=lambda change: not change.breaking)),
        added=tuple(_listed(file, file.added) for file in found.files if len(file.added)),
        removed=tuple(_listed(file, file.removed) for file in found.files if len(file.removed)),
        changed=tuple(_changed_entries(found.new.workspace, found.files, first, per_page)),
        totals={"added": found.added, "changed": found.changed, "removed": found.removed},
        page=page,
        pages=pages,
    )


def _only(those: Workspace, others: Workspace) -> tuple[Member, ...]:
    known = {(one.email.lower(), one.role) for one in others.members}
    return tuple(one for one in those.members if (one.email.lower(), one.role) not in known)


def _listed(file: FileDiff, ids: Any) -> ChangedEntries:
    return ChangedEntries(file.api, file.lang, file.draft, tuple(ids.slice(0, IDS_SHOWN).to_pylist()), len(ids))


def _changed_entries(workspace: Workspace, files: tuple[FileDiff, ...], first: int, count: int) -> Iterator[ShownEntry]:
    for file in files:
        if first >= file.changed:
            first -= file.changed
            continue
        api = workspace.api(file.api)
        for change in islice(file.changes(), first, first + count):
            values = tuple(_shown(api, value) for value in change.values)
            yield ShownEntry(file.api, file.lang, file.draft, change.id, values)
            count -= 1
        first = 0
        if not count:
            return


def _shown(api: Api | None, change: ValueChange) -> ChangedValue:
    field = None if api is None else api.field(change.field)
    name = _NAMES.get(change.field) or (field.name if field is not None else change.field)
    before, after = (_text(value) for value in (change.before, change.after))
    if field is not None and field.type is FieldType.RICHTEXT:
        texts = [visible_text(text) for text in (before, after)]
        if texts[0] == texts[1]:
            return ChangedValue(name, change.field, (Run(Side.BOTH, _shortened(texts[0])),), "Only the markup changed.")
        before, after = texts
    return ChangedValue(name, change.field, tuple(word_runs(before, after)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} …"
