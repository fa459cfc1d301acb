"""The snapshot a workspace is served from: when `current` changes, the new version is opened, then swapped in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from engine.read.reader.reader import Reader
from server.logs import LOGGER, STARTING
from server.mirror.held import HeldPage
from server.watched_file import Signature, signature, tree_signature
from server.workspaces.kept_versions import KeptVersions
from server.workspaces.open_snapshot import OpenSnapshot
from snapshots.model import NEVER
from snapshots.problems import ParquetryError
from snapshots.store.current import CURRENT, CURRENT_CODEC, KEPT_SERVED, Current, Term
from snapshots.store.store import WorkspaceStore

OpenVersion = Callable[[WorkspaceStore, str], Reader]
"""Verify and open one version; raises a ``ParquetryError`` that says why it cannot be served."""

FIRST_PAUSE_MS = 1000
LONGEST_PAUSE_MS = 300_000
"""Milliseconds for which a version that was refused is left alone at most; each pause is twice the one before."""

_ACTIVATE = "`cms snapshot activate VERSION` writes it again."

_log = logging.getLogger(LOGGER)


class Refusal(msgspec.Struct, frozen=True):
    """Why the current version cannot be served."""

    version: str
    reason: str
    files: tuple[tuple[str, Signature], ...]
    """The version's files when it was refused. Once they have changed, the version is tried again."""
    pause: int
    """Milliseconds after which the version is tried again although they have not: the cause may have passed."""
    retry_at: int
    """The instant of that, UTC milliseconds."""


class SnapshotSlot:
    """The place of the snapshot that one workspace is served from. One thread calls ``refresh``; any thread calls
    ``lease`` for a request."""

    def __init__(
        self,
        workspace_store: WorkspaceStore,
        open_version: OpenVersion,
        clock: Callable[[], int],
        kept: KeptVersions | None = None,
        held_page: HeldPage | None = None,
    ) -> None:
        """``kept`` takes the versions that are served no longer; without it they are closed."""
        self._workspace_store = workspace_store
        self._held_page = held_page
        self.kept = kept or KeptVersions(workspace_store, None, 0, clock)
        self._open_version = open_version
        self._clock = clock
        self._current = workspace_store.directory / CURRENT
        self._seen: Signature | None = None
        self._served: OpenSnapshot | None = None
        self._recorded: Current | None = None
        self._left: tuple[Term, ...] = ()
        """When this process showed the versions of before, newest first: an opening takes longer than an activation."""
        self._history: Current | None = None
        self._opening: threading.Thread | None = None
        self._closed = False
        self._swap = threading.Lock()
        self.refusal: Refusal | None = None
        self.complaint: str | None = None
        """Why `current` itself cannot be followed, while the last good version goes on being served."""

    @property
    def served(self) -> OpenSnapshot | None:
        return self._served

    def lease(self) -> OpenSnapshot | None:
        """Return the snapshot served now, to be released after use; ``None`` when none could be opened yet."""
        while (served := self._served) is not None:
            if served.acquire():
                return served
        return None

    @property
    def history(self) -> Current | None:
        """The store's ``current``, with the times at which this process itself began to show versions, by its clock;
        ``None`` before it was read."""
        return self._history

    def refresh(self) -> None:
        """Follow `current`: when it names another version, begin to open that version in a thread of its own."""
        if self._opening is not None:
            if self._opening.is_alive():
                return
            self._opening = None
        found = signature(self._current)
        if found is not None:  # otherwise the store is away, and what is open goes on being served
            self.kept.drop_pruned()
        if self._held_page is not None:
            found += self._held_page.signature()
        is_new = found != self._seen
        if not is_new and self.complaint is None and not self._may_retry() and not self._is_damaged():
            return
        self._seen = found
        wanted = self._wanted()
        if wanted is None:
            return
        if self._served is not None and self._served.reader.version == wanted and not self._is_damaged():
            self.refusal = None
            return
        # A `current` that was written again may be the cause that has passed: it names the digest of the manifest.
        if self.refusal is not None and self.refusal.version == wanted and not is_new and not self._may_retry():
            return
        # No daemon thread: DuckDB aborts the process when the interpreter ends under a statement.
        self._opening = threading.Thread(target=self._open, args=(wanted,), name=f"open-{self._workspace_store.id}")
        self._opening.start()

    @property
    def is_opening(self) -> bool:
        """Whether a version is being opened, or was since the last ``refresh``."""
        return self._opening is not None

    def wait(self, seconds: float) -> None:
        """Wait until the version that is being opened is open or refused, for ``seconds`` at most."""
        if self._opening is not None:
            self._opening.join(seconds)

    def close(self) -> None:
        """Serve nothing any more. The reader closes after its last request, and a version that is being opened as soon
        as it is open; the process ends after that."""
        with self._swap:
            self._closed = True
            served, self._served = self._served, None
        if served is not None:
            served.release()
        self.kept.close()
        if self._opening is not None and self._opening.is_alive():
            _log.info(
                "%s: a snapshot version is still being opened; the process ends after that", self._workspace_store.id
            )

    def _may_retry(self) -> bool:
        refusal = self.refusal
        if refusal is None:
            return False
        if not 0 < refusal.retry_at - self._clock() <= refusal.pause:  # over, or the clock was set back
            return True
        return tree_signature(self._directory(refusal.version)) != refusal.files

    def _is_damaged(self) -> bool:
        """Whether the version served has to be opened again, which repairs its cache."""
        return self._served is not None and self._served.reader.is_damaged

    def _wanted(self) -> str | None:
        try:
            current = self._current_now()
        except (ParquetryError, OSError) as error:
            self._complain(f"{error} {self._goes_on()}")
            return None
        if current is None:
            if self._served is not None or self._has_versions():
                self._complain(f"The file `current` is missing. {_ACTIVATE} {self._goes_on()}")
            return None
        self.complaint = None
        self._recorded = current
        self._follow_history()
        return current.version

    def _goes_on(self) -> str:
        served = self._served
        return "Nothing of it is served until then." if served is None else f"{served.reader.version} is still served."

    def _has_versions(self) -> bool:
        """Whether versions are there, in a store in a directory: a mirror has them before it has ``current``."""
        if self._held_page is not None:
            return False
        try:
            return bool(self._workspace_store.versions())
        except (ParquetryError, OSError):
            return False

    def _follow_history(self) -> None:
        recorded, served = self._recorded, self._served
        if recorded is not None:
            self._left = tuple(term for term in self._left if recorded.was_current(term.version))[:KEPT_SERVED]
            shown = [] if served is None else [Term(served.reader.version, served.since, NEVER)]
            shown = [term for term in shown if recorded.was_current(term.version)]
            self._history = msgspec.structs.replace(recorded, terms=(*shown, *self._left, *recorded.terms))

    def _current_now(self) -> Current | None:
        key = f"{self._workspace_store.id}/{CURRENT}"
        held = None if self._held_page is None else self._held_page.read().get(key)
        return self._workspace_store.current() if held is None else CURRENT_CODEC.decode(held, key)

    def _complain(self, complaint: str) -> None:
        if complaint != self.complaint:
            _log.error("%s: %s", self._workspace_store.id, complaint)
        self.complaint = complaint

    def _open(self, version: str) -> None:
        files = tree_signature(self._directory(version))
        try:
            reader = self._open_version(self._workspace_store, version)
            try:
                opened = OpenSnapshot(reader, ZoneInfo(reader.manifest.workspace.timezone), self._clock())
            except BaseException:
                reader.close()
                raise
        except ParquetryError as error:
            self._refuse(version, str(error), files)
        except Exception as error:
            _log.exception("%s: opening snapshot version %s failed", self._workspace_store.id, version)
            self._refuse(version, f"opening it failed: {type(error).__name__}", files)
        else:
            self._serve(opened)

    def _refuse(self, version: str, reason: str, files: tuple[tuple[str, Signature], ...]) -> None:
        before = self.refusal
        again = before is not None and (before.version, before.files) == (version, files)
        pause = min(before.pause * 2, LONGEST_PAUSE_MS) if before is not None and again else FIRST_PAUSE_MS
        if before is None or (before.version, before.reason) != (version, reason):
            keeps = f"{self._served.reader.version} goes on being served" if self._served else "nothing of it is served"
            _log.error("%s: snapshot version %s refused: %s; %s", self._workspace_store.id, version, reason, keeps)
        self.refusal = Refusal(version, reason, files, pause, self._clock() + pause)

    def _serve(self, opened: OpenSnapshot) -> None:
        # Opening may have taken long. Where the version served is current again, it stays; where a third one is
        # current by now, this one is still the nearer to it, and waiting could go on for ever.
        if self._served is not None and self._wanted() == self._served.reader.version and not self._is_damaged():
            opened.release()
            return
        with self._swap:
            if self._closed:
                opened.release()
                return
            before, self._served = self._served, opened
            if before is not None:
                self._left = (Term(before.reader.version, before.since, self._clock()), *self._left)
            self._follow_history()
        self.refusal = None
        told = STARTING if before is None else None
        _log.info("%s: serving snapshot version %s", self._workspace_store.id, opened.reader.version, extra=told)
        if before is not None:
            self.kept.keep(before)

    def _directory(self, version: str) -> Path:
        return self._workspace_store.snapshots / version
