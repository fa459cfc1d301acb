"""``cms snapshot verify`` and ``prune``: the files of versions checked, and old ones deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion
from cli.location import ChosenWorkspace, choose_workspace, nearest_workspace, store_at
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.snapshot.retention import KEEP_VARIABLE, delete_old, drop_cached, pruned_sentence, tell_of_spared
from cli.snapshot.versions import Version, named_version
from snapshots.problems import ParquetryError, raise_all
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.administration.versions import Pruned
    from snapshots.store.store import Store, WorkspaceStore

KEPT = 10
"""Versions that ``prune`` keeps unless another number is given."""
_NO_DIGEST = (
    "manifest.json. `current` does not name its SHA-256: that is recorded when a snapshot version becomes current, by "
    "this release or a later one. `cms snapshot activate` records it for the current one, too."
)
_NO_LIST = "the cache of readers. No builder has listed its files here, so each reader makes its own."


def verify(
    version: Version = None, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Verify every file of a snapshot version.

    Each file must be readable and match its recorded size and SHA-256: the manifest that of `current`, all others that
    of the manifest, and in a bucket the cache of readers that of the builder's list. The exit status is 1 if one does
    not. What is not covered, because nothing is recorded of it, is told.
    """
    from engine.read.materialise.shared_upkeep import shared_complaints
    from snapshots.store.manifest import ManifestError
    from snapshots.store.objects import DamagedObject

    chosen = choose_workspace(store, workspace_id)
    found = named_version(chosen, version)
    with progress() as tell:
        complaints, uncovered = chosen.workspace_store.verify(found, tell), []
        if found not in chosen.workspace_store.digests():
            uncovered.append(_NO_DIGEST)
        if chosen.workspace_store.bucket is not None:
            with suppress(ManifestError, DamagedObject):  # it is among the complaints
                of_cache = shared_complaints(chosen.workspace_store, chosen.workspace_store.manifest(found), tell)
                complaints += of_cache or []
                uncovered += [_NO_LIST] if of_cache is None else []
    if json:
        documents.write_json(
            {
                "workspace": chosen.workspace_store.id,
                "version": found,
                "ok": not complaints,
                "complaints": complaints,
                "notCovered": uncovered,
            }
        )
    else:
        for complaint in complaints:
            lines.answer(complaint)
        for what in uncovered:
            lines.message(f"Not covered: {what}")
        if complaints:
            lines.failure(f"Snapshot version {found} is damaged: {wording.plural(len(complaints), 'complaint')}.")
        else:
            files = wording.plural(len(chosen.workspace_store.manifest(found).files), "file")
            lines.answer(f"Snapshot version {found} is intact: {files}.")
    if complaints:
        raise typer.Exit(1)


def prune(
    context: typer.Context,
    version: Annotated[
        str | None,
        typer.Argument(
            metavar="VERSION",
            show_default=False,
            help="Delete only this snapshot version, or the one that begins so. Default: all old ones.",
            autocompletion=completion.versions,
        ),
    ] = None,
    keep: Annotated[
        int,
        typer.Option("--keep", envvar=KEEP_VARIABLE, min=1, metavar="N", help="How many of the newest to keep."),
    ] = KEPT,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    all_workspaces: Annotated[
        bool, typer.Option("--all-workspaces", help="Do this in every workspace of the store.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete old snapshot versions, and their cached files.

    The current snapshot version and the one before it are always kept, and so are those that a server has had open
    within the last hour. With VERSION, only that one is deleted, which may be any but the current one: within two
    seconds, no server answers a request that is pinned to it.
    """
    source = context.get_parameter_source("keep")
    if version is not None and (all_workspaces or (source is not None and source.name == "COMMANDLINE")):
        raise typer.BadParameter(
            "Name one snapshot version, or delete all old ones with --keep and --all-workspaces: not both."
        )
    if all_workspaces and workspace_id is not None:
        raise typer.BadParameter("--all-workspaces and --workspace-id contradict each other: choose one.")
    if version is not None:
        _withdraw(choose_workspace(store, workspace_id), version, json=json)
    elif all_workspaces:
        _prune_all(store_at(store, nearest_workspace()), keep, json=json)
    else:
        chosen = choose_workspace(store, workspace_id)
        told = _prune_one(chosen.store, chosen.workspace_store, keep, named=False, json=json)
        if json:
            documents.write_json(told)


def _withdraw(chosen: ChosenWorkspace, version: str, *, json: bool) -> None:
    """Delete one version, whoever has it open."""
    from engine.administration.administrator import operator
    from engine.administration.versions import Pruned, withdraw

    workspace_store = chosen.workspace_store
    with progress() as tell:
        tell("removing", 0, 0)
        removed, freed = withdraw(operator(workspace_store, now_ms()), workspace_store.find(version))
        freed += drop_cached(chosen.store, workspace_store)
    told = _tell(workspace_store.id, Pruned(removed, freed, {}, []), named=False, json=json)
    if json:
        documents.write_json(told)


def _prune_all(store: Store, keep: int, *, json: bool) -> None:
    """Delete the old versions of all workspaces, those behind one that fails too. Raises the first failure."""
    told: list[dict[str, object]] = []
    failures: list[ParquetryError] = []
    for name in store.workspaces():
        try:
            told.append(_prune_one(store, store.workspace(name), keep, named=True, json=json))
        except ParquetryError as error:
            failures.append(error)
    if json and (told or not failures):
        documents.write_json(told)
    raise_all(failures)


def _prune_one(
    store: Store, workspace_store: WorkspaceStore, keep: int, *, named: bool, json: bool
) -> dict[str, object]:
    with progress() as tell:
        tell("removing", 0, 0)
        pruned = delete_old(store, workspace_store, keep)
    return _tell(workspace_store.id, pruned, named=named, json=json)


def _tell(workspace: str, pruned: Pruned, *, named: bool, json: bool) -> dict[str, object]:
    """Print what was deleted, after the workspace's name where it is to be ``named``; return it as a document."""
    if not json:
        for one in pruned.removed:
            lines.message(f"removed {one}")
        tell_of_spared(pruned)
        lines.answer(f"{workspace}: {pruned_sentence(pruned)}" if named else pruned_sentence(pruned))
    return {
        "workspace": workspace,
        "removed": pruned.removed,
        "bytes": pruned.freed,
        "inUse": list(pruned.spared),
        "carried": pruned.carried,
    }
