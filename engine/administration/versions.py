"""Changes of the current version: each is noted in the audit log, then made in the store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

import msgspec

from engine.administration.administrator import Administrator, operator
from engine.administration.heartbeats import in_use
from snapshots.build.build import Record
from snapshots.history.git_commit import commit_sentence
from snapshots.problems import ParquetryError
from snapshots.store.current import Current
from snapshots.store.objects import ANY, Expected
from snapshots.store.store import WorkspaceStore


def activate(by: Administrator, version: str, *, expected: str | Literal[Expected.ANY] | None) -> Current:
    """Make a version current, as ``WorkspaceStore.activate`` does and with its errors. Going back to an earlier one
    holds the content that is current now, as ``roll_back`` does."""
    instead = f", instead of {expected}" if isinstance(expected, str) else ""
    sentence = f"Made {version} the current snapshot version{instead}.{_commit_of(by, version)}"
    with by.recorded("version_activated", sentence):
        return by.workspace_store.activate(
            version, expected=expected, by=by.author.who, now=by.now, holds_returns=True, opens=True
        )


def _commit_of(by: Administrator, version: str) -> str:
    try:
        manifest = by.workspace_store.manifest(version)
    except ParquetryError:  # told by who makes it current
        return ""
    return commit_sentence(manifest.commit, manifest.described_commit)


def roll_back(by: Administrator, *, expected: str | None = None) -> Current:
    """Make the version before the current one current again, as ``WorkspaceStore.rollback`` does and with its errors.

    ``expected`` is the version that was seen to be current; ``None`` goes back from the one that is.
    """
    found = by.workspace_store.current()
    if found is None or not found.previous or expected not in (None, found.version):
        return by.workspace_store.rollback(
            by=by.author.who, now=by.now, expected=expected or ANY
        )  # which says why it cannot be
    sentence = f"Rolled back from {found.version} to the previous snapshot version, {found.previous[0]}."
    with by.recorded("version_rolled_back", sentence):
        return by.workspace_store.rollback(by=by.author.who, now=by.now, expected=found.version)


class Pruned(msgspec.Struct, frozen=True):
    """The outcome of deleting old versions."""

    removed: list[str]
    """The versions that were deleted, newest first."""
    freed: int
    """Bytes."""
    spared: dict[str, list[str]]
    """Versions as old that were left, newest first, since servers had them open within the last hour: each with the
    hosts of these servers."""
    carried: list[str]
    """Old versions that were left for a later prune, since somebody is pushing them, or was less than a day ago."""


def prune(by: Administrator, keep: int) -> Pruned:
    """Delete all but the newest ``keep`` versions, as ``WorkspaceStore.prune`` does and with its errors, but for those
    that servers noted as open within the last hour.

    It is noted afterwards, since on a full disk it is what makes room for the note.
    """
    workspace_store = by.workspace_store
    used = in_use(workspace_store.objects, workspace_store.id, by.now)
    removed, freed = _noted(by, "old snapshot versions", workspace_store.prune(keep, used))
    current = workspace_store.current()
    if current is None or not (used or current.dropping):
        return Pruned(removed, freed, {}, [])
    stay = (current.version, *current.previous[:1])
    old = [one for one in workspace_store.versions()[keep:] if one in used and one not in stay]
    carried = [version for version in sorted(current.dropping, reverse=True) if workspace_store.has(version)]
    return Pruned(removed, freed, {version: used[version] for version in old}, carried)


def withdraw(by: Administrator, version: str) -> tuple[list[str], int]:
    """Delete one version, as ``WorkspaceStore.withdraw`` does and with its errors; noted as ``prune`` is."""
    return _noted(by, "snapshot versions", by.workspace_store.withdraw(version))


def _noted(by: Administrator, about: str, pruned: tuple[list[str], int]) -> tuple[list[str], int]:
    removed, _ = pruned
    if removed:
        with by.recorded("versions_deleted", f"Deleted {about}: {', '.join(removed)}."):
            pass
    return pruned


def recorded_build(now: int) -> Record:
    """Return what notes a build at ``now`` (UTC milliseconds) by the user of this program."""

    def record(workspace_store: WorkspaceStore, action: str, sentence: str) -> AbstractContextManager[None]:
        return operator(workspace_store, now).recorded(action, sentence)

    return record
