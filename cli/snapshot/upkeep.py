"""``cms snapshot verify`` and ``prune``: the files of versions checked, and old ones deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from cli import completion
from cli.location import choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.snapshot.versions import Version, named_version
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

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
        int | None,
        typer.Option("--keep", min=1, metavar="N", help=f"How many of the newest to keep.  [default: {KEPT}]"),
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Delete old snapshot versions, and their cached files.

    The current snapshot version and the one before it are always kept. With VERSION, only that one is deleted, which
    may be any but the current one: within two seconds, no server answers a request that is pinned to it.
    """
    from engine.administration.administrator import operator
    from engine.administration.versions import prune as delete_old
    from engine.administration.versions import withdraw
    from engine.read.files.paths import cache_paths
    from engine.read.materialise.materialise import drop_pruned
    from engine.read.materialise.shared_upkeep import drop_shared

    if version is not None and keep is not None:
        raise typer.BadParameter("Name one snapshot version, or write --keep to delete all old ones.")
    chosen = choose_workspace(store, workspace_id)
    with progress() as tell:
        tell("removing", 0, 0)
        by = operator(chosen.workspace_store, now_ms())
        removed, freed = (
            delete_old(by, keep or KEPT) if version is None else withdraw(by, chosen.workspace_store.find(version))
        )
        with suppress(ParquetryError):  # the cache of a server, which frees it itself
            freed += drop_pruned(
                cache_paths(chosen.store.cache, chosen.workspace_store.id), chosen.workspace_store.snapshots
            )
        if chosen.workspace_store.bucket is not None:
            freed += drop_shared(chosen.workspace_store)
    if json:
        documents.write_json({"workspace": chosen.workspace_store.id, "removed": removed, "bytes": freed})
        return
    for one in removed:
        lines.message(f"removed {one}")
    lines.answer(f"{wording.plural(len(removed), 'snapshot version')} removed, {wording.size(freed)} freed.")
