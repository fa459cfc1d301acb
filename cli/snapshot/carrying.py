"""``cms snapshot push`` and ``pull``: copy versions from one store to another, each in a directory or a bucket."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import NoWorkspace, begin_store, nearest_workspace, store_at
from cli.options import Json, StoreLocation, WorkspaceId, place_given
from cli.output import documents, lines, wording
from cli.output.progress import progress
from snapshots.times import now_ms

if TYPE_CHECKING:
    from snapshots.store.carrying import Carried
    from snapshots.store.store import Store

Activate = Annotated[
    bool,
    typer.Option("--activate", help="Then also make the source's current snapshot version current in the target."),
]


def push(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", callback=place_given, help="A directory, or the URL of a bucket, such as s3://…."
        ),
    ],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    activate: Activate = False,
    json: Json = False,
) -> None:
    """Copy all snapshot versions into another store.

    Snapshot versions that are already there are skipped, and an interrupted copy continues where it stopped. Keys and
    page views are not copied.
    """
    _carry(store_at(store, nearest_workspace()), store_at(target, None), workspace_id, activate=activate, json=json)


def pull(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", callback=place_given, help="A directory, or the URL of a bucket, such as s3://…."
        ),
    ],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    activate: Activate = False,
    json: Json = False,
) -> None:
    """Copy all snapshot versions from another store.

    Snapshot versions that are already here are skipped, and an interrupted copy continues where it stopped. Keys and
    page views are not copied.
    """
    _carry(store_at(source, None), store_at(store, nearest_workspace()), workspace_id, activate=activate, json=json)


def _carry(source: Store, target: Store, workspace_id: str | None, *, activate: bool, json: bool) -> None:
    from snapshots.problems import ParquetryError, raise_all
    from snapshots.store.objects import StoreUnreachable

    workspaces = source.workspaces() if workspace_id is None else [workspace_id]
    if not workspaces or not all(map(source.has, workspaces)):
        named = f'workspace "{workspace_id}"' if workspace_id is not None else "workspace yet"
        raise NoWorkspace(f"{source.location} holds no {named}, so there is nothing to copy.")
    begin_store(target)
    told: list[dict[str, object]] = []
    failures: list[ParquetryError] = []
    for workspace in workspaces:
        try:
            carried, current = _carry_workspace(source, target, workspace, activate=activate)
        except StoreUnreachable:
            raise
        except ParquetryError as error:
            failures.append(error)
            continue
        told.append(
            {
                "workspace": workspace,
                "versions": carried.versions,
                "files": carried.files,
                "sent": carried.sent,
                "copied": carried.copied,
                "current": current,
            }
        )
        if not json:
            lines.answer(_sentence(workspace, target, carried, current))
    if json and (told or not failures):
        documents.write_json(told)
    raise_all(failures)


def _carry_workspace(source: Store, target: Store, workspace: str, *, activate: bool) -> tuple[Carried, str | None]:
    """Copy the versions of a workspace, the oldest first, so that the others find unchanged files there.

    Returns what that took, and the version that is current in ``target`` now. What ``target`` is deleting is left, and
    said. Raises ``StoreError`` where that is the one to be made current, and where versions are damaged, after all
    others have been copied, and made current where that is asked for.
    """
    from engine.administration.administrator import operator
    from engine.administration.versions import activate as make_current
    from snapshots.problems import ParquetryError
    from snapshots.store.carrying import BeingDeleted, Carried, carry
    from snapshots.store.durable import StoreError
    from snapshots.store.manifest import ManifestError
    from snapshots.store.objects import DamagedObject, MissingObject

    here, there = source.workspace(workspace), target.workspace(workspace)
    before, digests = there.current(), here.digests()
    total, damaged, left = Carried(), {}, {}
    with progress() as tell:
        for version in reversed(here.versions()):
            try:
                digest = digests.get(version)
                total.add(carry(source.objects, target.objects, workspace, version, tell, digest=digest))
            except BeingDeleted as error:
                left[version] = error
            except (DamagedObject, ManifestError, MissingObject) as error:
                damaged[version] = str(error)
    for version in left:
        lines.message(f"left {version}: {target.location} is deleting it, or was a few minutes ago")
    current = here.current()
    if activate and current is not None and current.version in left:
        raise left[current.version]
    if activate and current is not None and current != before and current.version not in damaged:
        expected = before.version if before is not None else None
        make_current(operator(there, now_ms()), current.version, expected=expected)
    if damaged:
        [(version, reason), *others] = damaged.items()
        more = (
            f" So {wording.plural(len(others), 'other snapshot version')} could not be copied either." if others else ""
        )
        raise StoreError(
            f"{reason} So snapshot version {version} of {workspace} could not be copied.{more} Everything else was "
            "copied. Restore the object from a backup, or delete the snapshot version there (`cms snapshot prune`). "
            "Then run this again: it copies what is missing."
        )
    with suppress(ParquetryError):  # a damaged pointer, which is no matter of the copies
        before = there.current()
    return total, before.version if before is not None else None


def _sentence(workspace: str, target: Store, carried: Carried, current: str | None) -> str:
    served = f"{current} is current there." if current is not None else "None is current there."
    if not carried.versions:
        return f"{workspace}: {target.location} has all snapshot versions already. {served}"
    ways = [f"{wording.size(carried.sent)} sent"]
    if carried.copied:
        ways.append(f"{wording.size(carried.copied)} copied there")
    return f"{workspace}: {wording.plural(carried.versions, 'snapshot version')} copied, {', '.join(ways)}. {served}"
