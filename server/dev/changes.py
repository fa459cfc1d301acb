"""The differences between the version that is served and the one served before it, as other programs are told them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from snapshots.compare.diff import FileDiff, diff
from snapshots.store.store import WorkspaceStore

MOST_CHANGES: Final = 100


class ChangedEntry(msgspec.Struct, frozen=True):
    """A language version that was added, changed or removed, published or as a draft."""

    api: str
    """The endpoint."""
    id: str
    lang: str


class Change(msgspec.Struct, frozen=True):
    """The version that is current, and its differences from the one before."""

    workspace: str | None = None
    version: str | None = None
    """``None`` before the first build."""
    definitions: bool = False
    """Whether the definitions differ."""
    changes: tuple[ChangedEntry, ...] = ()
    """At most ``MOST_CHANGES``."""


def change_to(workspace_store: WorkspaceStore, old: str, new: str) -> Change:
    """Return the differences of version ``new`` from version ``old``.

    Raises ``MissingVersion``, ``ManifestError``, and ``StoreError`` when a file cannot be read.
    """
    found = diff(workspace_store, old, new)
    entries = dict.fromkeys(entry for file in found.files for entry in _entries(file))
    return Change(
        workspace_store.id,
        new,
        found.old.workspace != found.new.workspace,
        tuple(islice(entries, MOST_CHANGES)),
    )


def _entries(file: FileDiff) -> Iterator[ChangedEntry]:
    """Return the first entries of a file that differ, as many as are told."""
    ids = (
        *file.added[:MOST_CHANGES].to_pylist(),
        *(entry.id for entry in islice(file.changes(), MOST_CHANGES)),
        *file.removed[:MOST_CHANGES].to_pylist(),
    )
    return (ChangedEntry(file.api, one, file.lang) for one in ids)
