"""Collect page views in one worker: note them in the spool, and answer from the counts files."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from engine.views.collecting.addresses import TrustedProxies
from engine.views.collecting.bots import is_bot, read_list
from engine.views.collecting.spool import VIEWS, SpoolFull, View
from engine.views.collecting.targets import OTHERS, Kind, jst_day
from engine.views.collecting.visitors import Limits, Verdict, Visitors
from engine.views.counting.counts import Counts
from server.logs import LOGGER
from server.processes.standing_back import stand_back
from server.views.batching import ViewKeeping
from server.views.workspace_views import WorkspaceViews
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import Workspaces
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

if TYPE_CHECKING:
    from engine.views.collecting.visitors_shared import SharedVisitors

SEAL_SECONDS = 1.0
"""Seconds between two steps, each of which syncs and seals the new views and reads the counts."""
COMPLAINT_SECONDS = 10.0
"""Seconds between two remarks in the log that views are being dropped."""
COUNTS_UNREADABLE = "The view counts cannot be read; the log says why. The last good counts are still used."
NOT_SHARED = "Duplicates and the address limit of page views are not shared: each machine checks them separately."
_NEEDED = frozenset({b"content-type", b"origin", b"user-agent", b"x-forwarded-for"})

_log = logging.getLogger(LOGGER)


class ReportedRequest(NamedTuple):
    """A request that reports a view, before it is checked whether the view counts."""

    workspace: str
    served: OpenSnapshot | None
    """``None`` where ``announced`` has said that the workspace counts views before a version of it is served."""
    headers: Iterable[tuple[bytes, bytes]]
    """The headers as sent, names in lower case."""
    body: bytes
    peer: tuple[str, int] | None


class AdmittedView(NamedTuple):
    """A view on its way to the spool."""

    workspace_views: WorkspaceViews
    view: View
    visitor: tuple[str, bytes, bytes, bytes]
    """The bytes by which ``Visitors`` knows the view, should it be reported again."""
    limits: Limits


class ViewCollection:
    """The page views of all workspaces, in one worker. ``report`` is called on the event loop."""

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        visitors: Visitors,
        proxies: TrustedProxies,
        clock: Callable[[], int],
        shared_url: str | None = None,
    ) -> None:
        """``shared_url`` is that of a Redis or Valkey over which machines tell duplicates and limits together."""
        self._shared_url = shared_url
        self._shared: SharedVisitors | None = None
        self.is_not_shared = False
        self._store = store
        self._workspaces = workspaces
        self._visitors = visitors
        self._proxies = proxies
        self._clock = clock
        self._by_workspace: dict[str, WorkspaceViews] = {}
        self._adding = threading.Lock()
        self._complaints: dict[Callable[[], None], str] = {}
        """The problem of each step that failed the last time."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page-views", daemon=True)
        self._keeping = ViewKeeping(self._admit, self._keep)
        self.dropped_here = 0
        """Views that this worker has dropped since it started."""
        self._refusal: str | None = None
        self._told_at = float("-inf")
        self._told_count = 0

    def start(self) -> None:
        """Read the counts there are, and keep sealing and looking."""
        # Beside the first answers, which do not wait for it.
        threading.Thread(target=read_list, name="read-bots", daemon=True).start()
        if self._shared_url is not None:
            from engine.views.collecting.visitors_shared import (  # noqa: PLC0415 - 0.2 s, for shared ones only
                SharedVisitors,
            )

            self._shared = SharedVisitors(self._shared_url, self._shared_changed)
            self._shared.start()
        self._step()
        self._thread.start()
        self._keeping.start()

    def stop(self) -> None:
        """Seal everything and give up the places in the spools."""
        self._keeping.stop()
        if self._shared is not None:
            self._shared.stop()
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        for workspace_views in self._by_workspace.values():
            self._guarded(workspace_views.close)

    async def announced(self, workspace: str) -> bool:
        """Whether a workspace of which no version is served counts views all the same: one is current.

        Another worker may have opened it already, or answer for it while it is opened.
        """
        return await asyncio.to_thread(self._read_definitions, workspace)

    def _read_definitions(self, workspace: str) -> bool:
        try:
            workspace_store = self._store.workspace(workspace)
            current = workspace_store.current()
            if current is None:
                return False
            self._of_workspace(workspace).read_definitions(workspace_store, current.version)
        except ParquetryError:  # no ID, or damaged: nothing says what would count
            return False
        return True

    def report(self, reported: ReportedRequest, done: Callable[[], None], senders: int | None = None) -> None:
        """Count the view that a request reports, if it counts. ``done`` is called on the event loop a little later:
        when the view outlives the process, or will not be counted. ``senders`` as for ``ViewKeeping.put``."""
        self._keeping.put(reported, done, senders)

    def _admit(self, reported: ReportedRequest) -> AdmittedView | None:
        """Return the view to be kept; ``None`` where the report does not count."""
        try:
            return self._admitted(reported)
        except Exception:
            _log.exception("recording a page view failed unexpectedly")
            return None

    def _admitted(self, reported: ReportedRequest) -> AdmittedView | None:
        workspace, served, sent, body, peer = reported
        headers = _needed(sent)
        workspace_views = self._of_workspace(workspace)
        rules = workspace_views.rules(served)
        user_agent = headers.get(b"user-agent", b"")
        # In the order of what each costs, so that the limit of an address bounds what is looked at for long.
        if rules is None:
            return None
        found = rules.reported(headers.get(b"content-type"), headers.get(b"origin"), user_agent, body)
        if found is None:
            return None
        now = self._clock()
        forwarded = headers.get(b"x-forwarded-for")
        address = self._proxies.visitor(peer[0] if peer else None, forwarded.decode("latin-1") if forwarded else None)
        visitor = (workspace, address, user_agent, found.target)
        if self._visitors.admit(*visitor, rules.limits, now, time.monotonic()) is not Verdict.NEW:
            return None
        if is_bot(user_agent):
            return None
        return AdmittedView(workspace_views, View(now, found.kind, found.key, found.host), visitor, rules.limits)

    def _keep(self, admitted: Sequence[AdmittedView]) -> None:
        """Write views, unless they are duplicates or too many over all machines; those that cannot be written may be
        reported again."""
        for workspace_views, group in groupby(self._new_everywhere(admitted), lambda one: one.workspace_views):
            views = list(group)
            kept = 0
            try:
                workspace_views.keep([one.view for one in views], views[0].view.at)
                kept = len(views)
            except SpoolFull as error:
                kept, self._refusal = error.kept, str(error)
            except ParquetryError as error:
                self._refusal = str(error)
            except Exception:
                _log.exception("keeping page views failed unexpectedly")
            for one in views[kept:]:
                self._visitors.forget(*one.visitor, one.view.at)
                if self._shared is not None:
                    self._shared.forget(*one.visitor)
                self._visitors.count_dropped(one.view.at)
                self.dropped_here += 1

    def _new_everywhere(self, admitted: Sequence[AdmittedView]) -> list[AdmittedView]:
        """The views that no other machine has had; all of them while the shared server is down."""
        if self._shared is None:
            return list(admitted)
        try:
            verdicts = self._shared.judge([(*one.visitor, one.limits) for one in admitted])
        except Exception:
            _log.exception("recognising duplicate page views failed unexpectedly")
            return list(admitted)
        return [one for one, verdict in zip(admitted, verdicts, strict=True) if verdict in (Verdict.NEW, None)]

    def _shared_changed(self, reason: str | None) -> None:
        self.is_not_shared = reason is not None
        if reason is None:
            _log.info("duplicate page views are recognised across all machines again")
        else:
            _log.error(
                "the server of CMS_RATE_LIMIT_URL cannot recognise duplicate page views: %s. %s", reason, NOT_SHARED
            )

    def counts(self, workspace: str) -> Counts:
        """Return the counts of a workspace as they were a few seconds ago."""
        return self._of_workspace(workspace).counts

    def generation(self, workspace: str) -> int:
        """Return the generation of a workspace's counts."""
        return self.counts(workspace).entry_totals.generation

    def of_workspace(self, workspace: str) -> WorkspaceViews:
        """A workspace's part, for ``/readyz``."""
        return self._of_workspace(workspace)

    def problems(self, workspace: str) -> list[str]:
        """The problems of a workspace's views, for ``/readyz``."""
        workspace_views = self._of_workspace(workspace)
        found = [] if workspace_views.complaint is None else [COUNTS_UNREADABLE]
        if self.is_not_shared:
            found.append(NOT_SHARED)
        _, others = workspace_views.counts.total_and_recent(Kind.OTHER, OTHERS, jst_day(self._clock()))
        if others:
            found.append(
                f"{others:,} views of today count as `other`: as many different paths and entries are counted as "
                "views.max_keys allows."
            )
        return found

    def dropped(self) -> tuple[int, int]:
        """The number of views that all workers have dropped since the start, and the instant of the last (UTC ms)."""
        return self._visitors.dropped()

    def _of_workspace(self, workspace: str) -> WorkspaceViews:
        found = self._by_workspace.get(workspace)
        if found is None:
            with self._adding:  # or the loop and the thread could each make one, and views would wait in that lost
                found = self._by_workspace.get(workspace)
                if found is None:
                    found = WorkspaceViews(workspace, self._store.workspace(workspace).directory / VIEWS)
                    # A new dictionary, so that the thread meets none that is changing.
                    self._by_workspace = {**self._by_workspace, workspace: found}
        return found

    def _run(self) -> None:
        stand_back()
        while not self._stopping.wait(SEAL_SECONDS):
            self._step()

    def _step(self) -> None:
        for workspace in self._workspaces.all():
            workspace_views = self._of_workspace(workspace.id)
            self._guarded(workspace_views.seal)
            self._guarded(workspace_views.refresh)
        self._tell()

    def _tell(self) -> None:
        """Say in the log that views are being dropped, and how many, but not with every one."""
        count, _ = self._visitors.dropped()
        if count == self._told_count or time.monotonic() < self._told_at + COMPLAINT_SECONDS:
            return
        if self._refusal is not None:
            _log.error("page views are being dropped, %d since the start: %s", count, self._refusal)
            self._refusal = None
        self._told_count, self._told_at = count, time.monotonic()

    def _guarded(self, step: Callable[[], None]) -> None:
        """Take one step of a workspace; a new complaint is logged once."""
        try:
            step()
        except ParquetryError as error:
            self._refusal = str(error)
            if self._complaints.get(step) != str(error):
                _log.error("%s", error)
            self._complaints[step] = str(error)
        except Exception:
            _log.exception("page views: a step failed; it is tried again")
        else:
            self._complaints.pop(step, None)


def _needed(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the headers in ``_NEEDED``, repeated ones joined as HTTP has it."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _NEEDED:
            found[name] = b", ".join((found[name], value)) if name in found else value
    return found
