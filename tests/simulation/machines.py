"""The machines of a world: servers that read a bucket, each with a keeper, a worker and what looks after both."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.views.collecting.spool import View
from engine.views.collecting.targets import Kind
from server.background import keeper
from server.background.keeper import KeeperFailed
from server.lookout import looked_out
from server.mirror.freshness import Freshness
from server.mirror.held import HeldPage
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.mail_watch import MailWatch
from server.states.pages import StatesPage
from server.states.states import States
from server.views.collection import ViewCollection
from server.worker_states import WorkerStates
from server.workspaces.workspaces import Workspaces
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.manifest import Manifest
from snapshots.store.store import Store, WorkspaceStore
from snapshots.times import now_ms
from tests.simulation.below.scheduler import SECOND, Process

if TYPE_CHECKING:
    from tests.simulation.world import World

BUCKET = "s3://simulated"
DIRECTORY = "reader-0/store"
EPOCH_MS = 1_800_000_000_000
"""When each world begins, UTC milliseconds."""
RESTART = 2 * SECOND
"""Microseconds until a process that died is back, at most."""


class Machine:
    """A machine: its clock, its disk, and how it reaches the store."""

    def __init__(self, world: World, name: str, offset: int = 0) -> None:
        """``offset`` is how far its clock is ahead, in microseconds."""
        self.world = world
        self.name = name
        self.offset = offset
        self.root = Path(name)
        self.is_cut_off = False
        self.hangs = False
        self.is_full = False
        self.room = 0
        """Bytes that were freed on its disk while it was full."""
        self.refused: str | None = None
        """The workspace of which the store refuses everything to this machine."""
        self.failed_at = -1000 * SECOND
        """When a request to the store last failed for want of an answer."""
        self.processes: dict[str, Process] = {}
        self.began_at: dict[str, int] = {}

    def wall_ns(self) -> int:
        """Return what its clock says, in nanoseconds."""
        scheduler = self.world.scheduler
        return EPOCH_MS * 1_000_000 + (scheduler.now + scheduler.asleep + self.offset) * 1000

    def start(self, name: str, work: Callable[[], object]) -> None:
        """Run a process that is started again whenever it has died."""
        world = self.world
        process = world.scheduler.process(self, f"{self.name}/{name}")
        self.processes[name] = process
        self.began_at[name] = world.scheduler.now

        def run() -> None:
            try:
                work()
            except (ParquetryError, OSError) as error:  # it cannot go on, as on a full disk
                world.tell(f"{process.name} ended: {error}")
            except Exception as error:
                world.scheduler.failure = error
            world.scheduler.kill(process)

        world.scheduler.spawn(process, process.name, run)
        self._watch(name, process, work)

    def _watch(self, name: str, process: Process, work: Callable[[], object]) -> None:
        def look() -> None:
            if self.processes.get(name) is not process:
                return
            if process.is_alive:
                self.world.scheduler.at(RESTART // 4, look)
            else:
                self.start(name, work)

        self.world.scheduler.at(RESTART // 4, look)

    def end_all(self) -> None:
        """Kill all of its processes at once, commands too; those of a server start again."""
        for process in [one for one in self.world.scheduler.processes.values() if one.machine is self]:
            self.world.scheduler.kill(process)


class ReadVersion:
    """A version that was read whole, in the place of one whose tables are opened."""

    is_damaged = False

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.version = manifest.version

    def close(self) -> None:
        pass


def read_version(workspace_store: WorkspaceStore, version: str) -> Any:
    """Read a version as whoever opens it does: all its files, by their sizes and digests. Raises ``StoreError``."""
    manifest = workspace_store.manifest(version)
    wrong = workspace_store.verify(version)
    if wrong:
        raise StoreError("; ".join(wrong))
    return ReadVersion(manifest)


class ReadingMachine(Machine):
    """A machine that serves what is in the bucket."""

    def __init__(self, world: World, name: str, offset: int = 0) -> None:
        super().__init__(world, name, offset)
        self.settings = Settings(
            store=world.location,
            cache=f"{name}/cache",
            views_retention_days=world.retention_days,
            **world.outside.settings(),
        )
        self.workspaces: Workspaces | None = None
        self.views: ViewCollection | None = None
        self.states: WorkerStates | None = None
        self.freshness: Freshness | None = None
        self.worker_since = 0

    def begin(self) -> None:
        """Start its processes."""
        self.settings.open_store().root.mkdir(parents=True, exist_ok=True)
        self.start("server", self._look_out)
        self.start("keeper", self._keep)
        self.start("worker", self._answer)

    def _look_out(self) -> None:
        store = self.settings.open_store()
        with looked_out(store, self._freshness_of(store)):
            threading.Event().wait()

    def _keep(self) -> None:
        states = States("keeper", steady_ms)
        watch = MailWatch(self.settings.smtp_url, states)
        stopping = threading.Event()
        page = StatesPage(self.settings.open_store(), states, steady_ms)
        teller = threading.Thread(target=keeper._tell_states, args=(page, stopping), name="states")
        teller.start()
        if self.settings.console:
            for work in (
                partial(keeper._serve_console, self.settings, None, watch),  # type: ignore[arg-type]  # no socket
                keeper._looking_at_sign_ins(self.settings, states),
                keeper._repeated(watch.ask_again, keeper.MAIL_ASK_SECONDS, "the mail server cannot be asked: %s"),
            ):
                threading.Thread(target=work, args=(stopping,), name="console").start()
        with suppress(KeeperFailed):  # logged
            keeper._work_with_the_lock(self.settings, states, watch, stopping)

    def _answer(self) -> None:
        store = self.settings.open_store()
        held_page = None if self.world.is_directory else HeldPage(store.root)
        workspaces = Workspaces(store, self._read_version, now_ms, self._read_version, 3, held_page)
        visitors: Any = SimpleNamespace(dropped=lambda: (0, 0))
        proxies: Any = None
        limits: Any = SimpleNamespace(problems={})
        views = ViewCollection(store, workspaces, visitors, proxies, now_ms)
        states = WorkerStates(store, workspaces, views, limits, now_ms)
        workspaces.start()
        views.start()
        states.start()
        self.freshness = self._freshness_of(store)
        self.workspaces, self.views, self.states = workspaces, views, states
        self.worker_since = self.world.scheduler.now
        self.world.published.begin(self, workspaces, views)
        self.world.visit(self)

    def _read_version(self, workspace_store: WorkspaceStore, version: str) -> Any:
        read = read_version(workspace_store, version)
        published = self.world.published
        return published.readers.real[version] if published.is_there else read

    def _freshness_of(self, store: Store) -> Freshness | None:
        return None if self.world.is_directory else Freshness(store, None, now_ms)

    def keep_view(self, workspace: str, path: str) -> None:
        """Take one page view. Raises ``ParquetryError`` where it cannot be kept."""
        assert self.views is not None
        view = View(now_ms(), Kind.PATH, path, "acme.example")
        self.views.of_workspace(workspace).keep([view], view.at)

    def told(self) -> set[tuple[str, str]]:
        """Return what this machine says is wrong, as ``/readyz`` does: by name of the table, and workspace."""
        assert self.states is not None
        found = {(one.what, one.workspace) for one, _ in self.states.of_machine()}
        if self.freshness is None:
            return found
        if not self.freshness.contact().reachable or self.freshness.refusal() is not None:
            found.add(("bucket", ""))
        for workspace in self.world.workspaces:
            found |= {(what, workspace) for what in self.freshness.behind(workspace)}
        return found
