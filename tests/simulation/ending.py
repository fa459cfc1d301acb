"""What has to hold at the end of a run, when all faults are over and machines had time to follow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from engine.access.audit.log import AuditLog
from engine.access.keys.access import AccessFile
from engine.access.keys.keys import key_hash
from engine.views.collecting.targets import Kind, jst_day
from engine.views.counting.count_files import COUNTS, TODAY, all_rows, read_state
from engine.views.gathering.gathering import ViewGathering
from engine.views.gathering.layout import day_and_number
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import views_in_rows
from engine.views.gathering.writer import ViewWriter
from engine.webhooks.endpoint import EndpointState
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.store.objects import Objects
from snapshots.store.store import Store, WorkspaceStore, open_store
from snapshots.store.verification import missing_files
from snapshots.times import now_ms
from tests.simulation.ledger import Violated
from tests.simulation.machines import ReadingMachine
from tests.simulation.published.copies import check_copy

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST_OBJECTS = 600
"""Objects that a bucket may have after a few minutes, whatever has happened."""
_WELL = {
    "keys",
    "snapshot",
    "current",
    "workspace",
    "counts",
    "views",
    "webhooks",
    "store",
    "bucket",
    "cache",
    "keeper",
    "mail",
    "sign_in",
}
"""The names of the table of which nothing may be wrong any more."""


def check_end(world: World) -> None:
    """Compare the store, and what machines serve, with what people were told. Raises ``Violated``."""
    store = open_store(world.location, cache=Path("end"))
    objects = store.objects
    for name in world.workspaces:
        workspace_store = store.workspace(name)
        _check_version(world, workspace_store)
        _check_keys(world, workspace_store)
        _check_audit(world, objects, name)
        _check_views(world, objects, store, name)
        _check_webhooks(world, objects, name)
    world.outside.check_end(store)
    for machine in world.readers:
        _check_machine(world, machine)
    if len(world.service.objects) > MOST_OBJECTS:
        folders = Counter(key.rpartition("/")[0] for key in world.service.objects)
        _fail(f"the bucket has {len(world.service.objects)} objects: {folders.most_common(5)}")


def _fail(complaint: str) -> None:
    raise Violated(complaint)


def _check_version(world: World, workspace_store: WorkspaceStore) -> None:
    for version in workspace_store.versions() if world.is_directory else ():  # in a bucket it was held at each step
        wrong = list(missing_files(workspace_store.objects, workspace_store.manifest(version)))
        if wrong:
            _fail(f"the version {version} of {workspace_store.id} is listed, and not whole: {wrong}")
        if (workspace_store.id, version) in world.ledger.gone:
            _fail(f"the version {version} of {workspace_store.id} was deleted, and is there again")
    current = workspace_store.current()
    if current is None:
        return
    wrong = workspace_store.verify(current.version)
    if wrong:
        _fail(f"the current version of {workspace_store.id} is damaged: {wrong}")


def _check_keys(world: World, workspace_store: WorkspaceStore) -> None:
    access = AccessFile(workspace_store).read()
    found = {} if access is None else {key.prefix: key for key in access.keys}
    for known in world.ledger.keys:
        if known.workspace != workspace_store.id:
            continue
        key = found.get(known.prefix)
        if (key is None) not in known.deleted.others:
            _fail(f"the key {known.prefix} of {workspace_store.id} is {'lost' if key is None else 'there again'}")
        if key is None:
            continue
        if key.hash != key_hash(known.text.encode()):
            _fail(f"the key {known.prefix} is another one")
        if key.disabled not in known.disabled.others:
            _fail(f"the key {known.prefix} is {'disabled' if key.disabled else 'enabled'}, which was undone")
        if key.name not in known.name.others:
            _fail(f"the key {known.prefix} is called {key.name!r}, not {known.name.others}")


def _check_audit(world: World, objects: Objects, workspace: str) -> None:
    log = AuditLog(objects, workspace)
    log.catch_up()
    lines = [entry for month in log.months() for entry in log.entries(month) if entry.failure is None]
    found: Counter[str] = Counter()
    for entry in lines:
        if entry.action == "key_issued":
            found[f"key_issued {entry.sentence.partition('“')[2].partition('”')[0]}"] += 1
        elif entry.action.startswith("key_"):
            found[f"{entry.action} {entry.sentence.partition('(')[2].partition(')')[0]}"] += 1
    for (where, what), number in world.ledger.audit.items():
        least = number - world.ledger.audit_by_hand[where, what]
        if where == workspace and not least <= found[what] <= number + world.ledger.unsure_audit[where, what]:
            _fail(f"the audit log of {workspace} says {found[what]} times “{what}”, which was done {number} times")


def _check_views(world: World, objects: Objects, store: Store, workspace: str) -> None:
    if world.is_directory:
        views = store.workspace(workspace).directory / "views"
        if views.is_dir() and ViewWriter(views, world.retention_days).round(now_ms(), 0.0, flush=True) is None:
            _fail(f"views of {workspace} are being written")
    else:
        gathering = ViewGathering(
            objects, world.template.store, Path("end/gathering"), world.retention_days, only=workspace
        )
        gathering.round(now_ms(), flush=True)
        views = Path("end") / workspace / "views"
        PulledCounts(objects, workspace, views).refresh()
    counted: Counter[str] = Counter()
    if (views / COUNTS / TODAY).exists():
        for row in all_rows(views, read_state(views)).to_pylist():
            if row["kind"] == Kind.PATH:
                counted[row["key"]] += row["views"]
    rows = Counter(
        view.key
        for one in objects.names(f"{workspace}/views")
        if day_and_number(one.key) is not None
        for view in views_in_rows(objects.read(one.key).data)  # type: ignore[union-attr]  # it was listed
    )
    if world.retention_days is not None:
        _check_retention(world, objects, workspace)
    elif rows != counted:
        _fail(f"the rows of {workspace} are {dict(rows)}, its counts {dict(counted)}")
    for path in {path for where, path in (*world.ledger.views, *world.ledger.unsure_views) if where == workspace}:
        taken, unsure = world.ledger.views[workspace, path], world.ledger.unsure_views[workspace, path]
        if not taken <= counted[path] <= taken + unsure:
            _fail(f"{counted[path]} views of {path} of {workspace} are counted, of {taken} that were taken")


def _check_retention(world: World, objects: Objects, workspace: str) -> None:
    """Hold that no row is kept for longer than it may be: a day more, until the day's end is noticed."""
    first = jst_day(world.wall_ms()) - (world.retention_days or 0) - 1
    days = [found[0] for one in objects.names(f"{workspace}/views") if (found := day_and_number(one.key)) is not None]
    if days and min(days) < first:
        _fail(f"rows of {workspace} are kept for {jst_day(world.wall_ms()) - min(days)} days")


def _check_webhooks(world: World, objects: Objects, workspace: str) -> None:
    current = world.ledger.versions.get(workspace, [(0, "")])[-1][1]
    for endpoint in WebhooksFile(objects, workspace).read():
        receiver = world.receivers[endpoint.url.split("/")[2]]
        if endpoint.stopped is not None or endpoint.state is EndpointState.RETRYING:
            continue  # its next try is hours away, which the table tells
        if endpoint.pending is not None or (
            current and (endpoint.cursor is None or endpoint.cursor.version != current)
        ):
            _fail(f"{receiver.host} was not told of {current}: {endpoint}")
        told = [one["data"]["snapshot"] for one in receiver.accepted if one["type"] == "content.changed"]
        # Versions of the same content have names that end alike.
        if told and told[-1].partition("@")[0].rpartition("-")[2] != current.rpartition("-")[2]:
            _fail(f"{receiver.host} heard last of {told[-1]}, and {current} is current")
        if told:
            check_copy(world, receiver, current)
        doubled = {message: times for message, times in receiver.times.items() if times > 1}
        if doubled and not world.faults:
            _fail(f"{receiver.host} was told twice, although nothing went wrong: {doubled}")


def _check_machine(world: World, machine: ReadingMachine) -> None:
    # Whoever died before a workspace's first version was made current left it so, which is told.
    never = {("current", name) for name in world.workspaces if name not in world.ledger.versions}
    wrong = sorted(one for one in machine.told() - never if one[0] in _WELL)
    if wrong:
        _fail(f"{machine.name} still says that something is wrong: {wrong}")
    assert machine.workspaces is not None
    for workspace, history in world.ledger.versions.items():
        served = machine.workspaces.served(workspace)
        if served is None or served.reader.version != history[-1][1]:
            version = None if served is None else served.reader.version
            _fail(f"{machine.name} serves {version} of {workspace}, and not {history[-1][1]}")
    for known in world.ledger.keys:
        if known.disabled.others == {False} and known.deleted.others == {False}:
            key = machine.workspaces.keyring.identify(known.text.encode(), known.workspace)
            if key.disabled:
                _fail(f"{machine.name} refuses the key {known.prefix}")
