"""``cms snapshot verify`` and ``prune``: the files of versions checked, and old ones deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from cli import completion
from cli.location import find_place
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.snapshot.versions import Version, named_version
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

KEPT = 10
"""Versions that ``prune`` keeps unless another number is given."""


def verify(
    version: Version = None, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Verify every file of a snapshot version.

    Each file must be readable and match its recorded size and SHA-256. The exit status is 1 if one does not.
    """
    place = find_place(store, workspace_id)
    found = named_version(place, version)
    with progress() as tell:
        complaints = place.inside.verify(found, tell)
    if json:
        documents.write_json(
            {"workspace": place.inside.id, "version": found, "ok": not complaints, "complaints": complaints}
        )
    else:
        for complaint in complaints:
            lines.answer(complaint)
        if complaints:
            lines.failure(f"Snapshot version {found} is damaged: {wording.plural(len(complaints), 'complaint')}.")
        else:
            files = wording.plural(len(place.inside.manifest(found).files), "file")
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
    from engine.cache.places import cache_places
    from engine.making.materialise import drop_pruned
    from engine.making.shared_parts import drop_shared

    if version is not None and keep is not None:
        raise typer.BadParameter("Name one snapshot version, or write --keep to delete all old ones.")
    place = find_place(store, workspace_id)
    with progress() as tell:
        tell("removing", 0, 0)
        by = operator(place.inside, now_ms())
        removed, freed = delete_old(by, keep or KEPT) if version is None else withdraw(by, place.inside.find(version))
        with suppress(ParquetryError):  # the cache of a server, which frees it itself
            freed += drop_pruned(cache_places(place.store.cache, place.inside.id), place.inside.snapshots)
        if removed and place.inside.bucket is not None:
            kept = map(place.inside.manifest, place.inside.versions())
            freed += drop_shared(place.inside.bucket, place.inside.id, kept)
    if json:
        documents.write_json({"workspace": place.inside.id, "removed": removed, "bytes": freed})
        return
    for one in removed:
        lines.message(f"removed {one}")
    lines.answer(f"{wording.plural(len(removed), 'snapshot version')} removed, {wording.size(freed)} freed.")
