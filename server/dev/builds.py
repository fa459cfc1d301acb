"""Build a workspace whenever it is saved, and serve the build, or tell its problems and serve the version before.

Nothing of it is published: versions, pointer and keys lie in a store of their own, inside the one that is published
from (decision 54).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace
from watchfiles import watch

from server.dev.changes import Change, change_to
from server.dev.events import DevEvents
from server.dev.session_key import session_key
from server.dev.unpublished import unpublished
from server.dev.watching import BuildInputs
from server.logs import LOGGER
from server.workspaces.workspaces import Workspaces
from snapshots.build.build import BuildResult, Progress, build
from snapshots.build.settings import LIGHT
from snapshots.compare.compatibility import SchemaChange, breaking_changes, definition_position
from snapshots.definitions.workspace import load_workspace
from snapshots.model import Workspace
from snapshots.problems import ParquetryError, Problems, WorkspaceRefused
from snapshots.store.store import Store
from snapshots.times import now_ms

QUIET_MS = 20
"""Milliseconds without a change after which a build begins: saving is often a few changes in a row."""
LONGEST_BURST_MS = 400
LOOK_MS = 100
"""Milliseconds after which an end is noticed where nothing changes."""
SERVED_SECONDS = 60.0
"""Seconds that opening a version may take before somebody is told."""
KEPT_VERSIONS = 3

_log = logging.getLogger(LOGGER)


class Built(msgspec.Struct, frozen=True):
    """The result of the last build, and the version that is served now."""

    serial: int = 0
    """Counts the builds; 0 before the first."""
    at: int = 0
    """The end of the build, UTC milliseconds."""
    workspace: str | None = None
    version: str | None = None
    """The last good version, which is served."""
    definitions: Workspace | None = None
    """The definitions of that version."""
    result: BuildResult | None = None
    """``None`` where nothing could be built."""
    problems: Problems = msgspec.field(default_factory=Problems)
    failure: str | None = None
    """The reason why nothing was built or served, where the content is not the cause."""
    breaking: tuple[tuple[SchemaChange, str, int], ...] = ()
    """The changes that break clients of the version that was current when the session began, with file and line."""
    seconds: float = 0.0
    """Seconds from the first change seen to the new answers."""


class Stopped(ParquetryError):
    """The session ends, and with it the build under way."""


class NotServed(ParquetryError):
    """A version was built, but the server does not come to serve it."""


class Builds:
    """Builds a workspace whenever it is saved, from ``run`` on and until ``stop``, into ``unpublished(store)``.

    ``report`` hears of every build that changed something to tell, on the thread of ``run``. With ``lenient``, entry
    versions with errors are left out.
    """

    def __init__(self, root: Path, store: Store, report: Callable[[Built], None], *, lenient: bool = False) -> None:
        self.root = root.resolve()
        self.store = unpublished(store)
        self._published = store
        # Both stores share the cache of compiled files.
        self._target = Store(self.store.root, store.cache)
        self.public_url: str | None = None
        """The server's address, once it listens."""
        self._inputs = BuildInputs(self.root, store.root.resolve())
        self.last = Built()
        self.workspaces: Workspaces | None = None
        """The workspaces of the server, once it runs."""
        self.keys: dict[str, str] = {}
        """The keys of the sessions by workspace ID."""
        self.events = DevEvents()
        """Told of each version that becomes current, once that was reported."""
        self._report = report
        self._lenient = lenient
        self._stopping = threading.Event()
        self._baseline: Workspace | None = None
        self._told = Change()

    def run(self, progress: Callable[[], AbstractContextManager[Progress]]) -> None:
        """Build, and again after every change, each time with a ``progress`` of its own. Returns after ``stop``."""
        changes = watch(
            self.root,
            watch_filter=self._inputs,
            step=QUIET_MS,
            debounce=LONGEST_BURST_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            stop_event=self._stopping,
            raise_interrupt=False,
        )
        try:
            for saved in changes:
                if not saved and self.last.serial:
                    continue
                with progress() as tell:
                    built = self._build(partial(self._tell, tell))
                self._report(built)
                self._tell_of(built)
        except Stopped:
            pass
        except (OSError, RuntimeError) as error:  # what the watcher raises where it cannot watch
            why = f"{self.root} cannot be watched any more: {error}. Start `cms dev` again."
            self.last = replace(self.last, serial=self.last.serial + 1, at=now_ms(), result=None, failure=why)
            self._report(self.last)

    def stop(self) -> None:
        """End ``run``, the build under way too, at its next step, and the streams of events."""
        self._stopping.set()
        self.events.close()

    def _tell(self, progress: Progress, what: str, done: int, total: int) -> None:
        if self._stopping.is_set():
            raise Stopped("The session ends.")
        progress(what, done, total)

    def _build(self, tell: Progress) -> Built:
        started = time.monotonic()
        before = self.last
        try:
            self._inputs.read_definitions()
            self._remember_baseline()
            result = build(
                self.root,
                self._target,
                now=now_ms(),
                allow_breaking=True,
                lenient=self._lenient,
                without_history=True,
                again=True,
                public_url=self.public_url,
                settings=LIGHT,
                progress=tell,
                published=self._published,
            )
            self._inputs.assets = frozenset(result.assets)
            self._serve(result)
            now = Built(
                workspace=result.workspace,
                version=result.version,
                definitions=self._definitions(result.workspace, result.version),
                result=result,
                problems=result.problems,
                breaking=self._breaking(result),
            )
        except WorkspaceRefused as refusal:
            self._inputs.assets |= frozenset(refusal.assets)
            now = self._not_built(before, problems=refusal.problems)
        except Stopped:
            raise
        except (ParquetryError, OSError) as error:
            now = self._not_built(before, failure=str(error))
        except Exception as error:
            _log.exception("building failed")
            now = self._not_built(before, failure=f"Building failed, and not for the content: {error!r}")
        self.last = replace(now, serial=before.serial + 1, at=now_ms(), seconds=time.monotonic() - started)
        return self.last

    def _tell_of(self, built: Built) -> None:
        """Tell the programs beside this one of a build that became current."""
        workspace, version, before = built.workspace, built.version, self._told
        if built.result is None or workspace is None or (workspace, version) == (before.workspace, before.version):
            return
        self._told = Change(workspace, version, definitions=True)
        if version is not None and before.version is not None and before.workspace == workspace:
            try:
                self._told = change_to(self.store.workspace(workspace), before.version, version)
            except Exception:
                _log.exception("what changed from version %s to %s cannot be told", before.version, version)
        self.events.tell(self._told)

    def _not_built(self, before: Built, problems: Problems | None = None, failure: str | None = None) -> Built:
        known = self._known(before)
        if known.workspace is not None and known.version is not None:
            with suppress(ParquetryError):
                self._issue_key(known.workspace, known.version)
        return replace(known, result=None, problems=problems or Problems(), failure=failure)

    def _serve(self, result: BuildResult) -> None:
        """Wait until a version is served, with a key to it, and drop what it replaced."""
        workspace_store = self.store.workspace(result.workspace)
        self._issue_key(result.workspace, result.version)
        self._wait_until_served(result.workspace, result.version)
        if result.changed:
            workspace_store.prune(KEPT_VERSIONS)

    def _issue_key(self, workspace: str, version: str) -> None:
        if workspace not in self.keys:
            zone = ZoneInfo(self._definitions(workspace, version).timezone)
            self.keys[workspace] = session_key(self.store.workspace(workspace), zone)

    def _definitions(self, workspace: str, version: str) -> Workspace:
        return self.store.workspace(workspace).manifest(version).workspace

    def _wait_until_served(self, workspace: str, version: str) -> None:
        deadline = time.monotonic() + SERVED_SECONDS
        looked = 0.0
        while not self._stopping.is_set():
            server = self.workspaces
            if server is not None and self._is_served(server, workspace, version):
                return
            if time.monotonic() > deadline:
                raise NotServed(f"Snapshot version {version} was built, but could not be opened; the log says why.")
            if server is not None and time.monotonic() - looked > LOOK_MS / 1000:
                looked = time.monotonic()
                server.refresh_soon()
            time.sleep(0.002)

    def _is_served(self, server: Workspaces, workspace: str, version: str) -> bool:
        """Whether the session's key opens a version."""
        served = server.served(workspace)
        if served is None or served.reader.version != version:
            return False
        try:
            server.keyring.identify(self.keys[workspace].encode(), workspace)
        except ParquetryError:
            return False
        return True

    def _breaking(self, result: BuildResult) -> tuple[tuple[SchemaChange, str, int], ...]:
        workspace = self._definitions(result.workspace, result.version)
        if self._baseline is None or self._baseline.id != workspace.id:
            self._baseline = workspace
        changes = breaking_changes(self._baseline, workspace)
        definitions = load_workspace(self.root, Problems()) if changes else None
        if definitions is None:
            return ()
        return tuple((change, *definition_position(self.root, definitions, change)) for change in changes)

    def _remember_baseline(self) -> None:
        """The definitions that clients know when the session begins: those of the version that is published."""
        definitions = None if self.last.serial else load_workspace(self.root, Problems())
        if definitions is None:
            return
        workspace_store = self._published.workspace(definitions.workspace.id)
        with suppress(ParquetryError):  # damaged: nobody is served from it
            current = workspace_store.current()
            if current is not None:
                self._baseline = workspace_store.manifest(current.version).workspace

    def _known(self, last: Built) -> Built:
        """The version that the last session built, where this one has built nothing yet."""
        if last.version is not None:
            return last
        definitions = load_workspace(self.root, Problems())
        try:
            current = self.store.workspace(definitions.workspace.id).current() if definitions else None
        except ParquetryError:
            return last
        if definitions is None or current is None:
            return last
        with suppress(ParquetryError):
            served = self._definitions(definitions.workspace.id, current.version)
            return replace(last, workspace=definitions.workspace.id, version=current.version, definitions=served)
        return last
