"""The mirror of a bucket: one document is polled for announced changes, and all workspaces are looked at in turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import msgspec

from engine.access.keys.access import ACCESS
from engine.read.files.paths import cache_paths
from server.logs import LOGGER
from server.mirror.behind import ALL, CURRENT_VERSION, KEYS, BehindStates
from server.mirror.contact import Contact, ContactPage, RefusedVersion
from server.mirror.followed import FollowedWorkspace
from server.mirror.held import HeldPage
from server.mirror.last_use import LastUseSharing
from snapshots.problems import ParquetryError
from snapshots.store.changes import changes_document
from snapshots.store.current import CURRENT
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects, StoreUnreachable
from snapshots.store.store import Store

POLL_SECONDS: Final = 1.15
"""Seconds between two polls: a new snapshot is to be served within two (decision 62)."""
ROUND_MS: Final = 60_000
LOOKED_AT_A_ROUND: Final = 1
"""Workspaces that are looked at every minute without a hint, those longest not looked at first: with the polls, the
list of workspaces and what page views ask, 70 requests a minute at most, however many workspaces there are."""
BEHIND_MS: Final = int(2 * POLL_SECONDS * 1000)
"""Milliseconds after which parts that are older than the store's are reported."""
GO_ON_MS: Final = 2000
"""Milliseconds between two signs of life that the process writes within a round."""
WATCHED_MS: Final = 10_000
"""Milliseconds for which a workspace is looked at with every poll after a hint: whoever changes something announces it
before, too, and may be killed before it is announced again."""
WATCHED_A_POLL: Final = 8
"""The most watched workspaces to look at with one poll, so that polls stay short where many workspaces are published
together."""
SHARE_MS: Final = 40_000
"""Milliseconds between two writes of the keys' last uses, which servers note every fifteen seconds: so nobody sees them
more than a minute late."""
FOLD_MS: Final = 24 * 3_600_000
PULLED_AT_ONCE: Final = 2
"""Versions of different workspaces that are pulled at the same time."""

_log = logging.getLogger(LOGGER)


class Mirror:
    """The mirror of one store. ``poll`` is called by one thread, every ``POLL_SECONDS``."""

    def __init__(self, objects: Objects, mirror: Store, clock: Callable[[], int], kept_ms: int) -> None:
        """Versions stay in the mirror for ``kept_ms`` after others took their places."""
        self._objects = objects
        self._mirror = mirror
        self._clock = clock
        self._kept_ms = kept_ms
        self._page = ContactPage(mirror.root)
        self._held_page = HeldPage(mirror.root)
        self._reserved: dict[str, bytes] | None = dict(self._held_page.read())
        """The documents in the page of held documents; ``None`` after they could not be written."""
        self._held = dict(self._reserved)
        """Documents that an earlier run held, by key."""
        self._behind = BehindStates(dict.fromkeys((KEYS, CURRENT_VERSION, ALL), BEHIND_MS))
        before = self._contact = self._page.read()
        self._answered_at = before.at
        self._complete = before.complete
        self._workspaces: dict[str, FollowedWorkspace] = {}
        self._hint = changes_document(objects)
        """The document in which changes of workspaces are announced."""
        self._followed: dict[str, str | None] = {}
        """The ID of the last change that was followed, by workspace."""
        self._watched: dict[str, int] = {}
        """The workspaces of which a change was announced a moment ago, and when."""
        self._due: set[str] = set()
        self._looked_at: dict[str, int] = {}
        self._unlooked: dict[str, str] = {}
        """The workspaces that could not be looked at the last time, and why."""
        self._round_at: int | None = None
        self._complaint: str | None = None
        self._lost_at: int | None = None
        self._uses = LastUseSharing(objects, mirror)
        self._shared_at = 0
        self._folded_at: int | None = None
        self._sharing: Future[None] | None = None
        self._threads = ThreadPoolExecutor(PULLED_AT_ONCE + 1, thread_name_prefix="pull")

    def poll(self) -> None:
        """Take over changes from the store, begin to pull new versions, and write the page of the contact."""
        now = self._clock()
        self._go_on()
        try:
            self._look(now)
        except (ParquetryError, OSError) as error:
            self._lost(str(error), now)
        else:
            self._found(now)
        for workspace in self._workspaces.values():
            try:
                workspace.settle()
                workspace.pull(self._threads)
            except Exception:  # the others are followed all the same
                _log.exception("%s: following it failed; it is tried again", workspace.id)
        self._share(now)
        self._hold_documents()
        self._tell(now)

    def wait(self) -> None:
        """Wait until nothing is being pulled or shared."""
        for workspace in self._workspaces.values():
            workspace.wait()
        if self._sharing is not None:
            self._sharing.result()

    def stop(self) -> None:
        """Start no more pulls, wait for those under way, and share the last uses of keys."""
        self._threads.shutdown(cancel_futures=True)
        if self._lost_at is None:
            self._uses.share(list(self._workspaces))

    def _look(self, now: int) -> None:
        """Look at the workspaces that the hint names, that are new, or whose turn it is. Raises ``StoreError``."""
        hint = self._hint.read()
        hinted = {name for name, change in hint.items() if self._followed.get(name) != change}
        if self._round_at is not None:  # not all there are, at the start
            self._watched |= dict.fromkeys(hinted, now)
        self._watched = {name: since for name, since in self._watched.items() if 0 <= now - since < WATCHED_MS}
        self._due |= hinted | self._longest_ago(self._watched, WATCHED_A_POLL)
        if self._round_at is None or not 0 <= now - self._round_at < ROUND_MS:
            self._due |= set(self._objects.folders("")) - self._looked_at.keys()
            self._due |= self._longest_ago(self._looked_at, LOOKED_AT_A_ROUND)
            self._round_at = now
        unreached: StoreUnreachable | None = None
        for name in sorted(self._due, key=lambda name: (name in self._unlooked, name)):
            try:
                workspace = self._workspace(name)
                if workspace is not None:
                    workspace.look()
            except (ParquetryError, OSError) as error:
                self._go_on()
                self._not_looked(name, str(error))
                if isinstance(error, StoreUnreachable):
                    if unreached is not None:  # it is the store, and each further question takes as long
                        raise
                    unreached = error
                continue
            if self._unlooked.pop(name, None) is not None:
                _log.info("%s can be looked at in the store again", name)
            self._go_on()
            self._looked_at[name] = now
            self._followed[name] = hint.get(name)
            self._due.discard(name)
        if unreached is not None and not self._complete:
            raise unreached
        self._complete = True

    def _not_looked(self, name: str, complaint: str) -> None:
        """Log why one workspace cannot be followed. It is tried again with every poll; the others go on."""
        if self._unlooked.get(name) != complaint:
            _log.error("%s: it cannot be looked at: %s What is mirrored is still served.", name, complaint)
        self._unlooked[name] = complaint

    def _longest_ago(self, names: Iterable[str], most: int) -> set[str]:
        """Return the ``most`` workspaces whose last look is the longest ago."""
        return set(sorted(names, key=lambda name: self._looked_at.get(name, 0))[:most])

    def _share(self, now: int) -> None:
        """Begin to share the last uses of keys that are new, and to fold those of other machines once a day."""
        if self._lost_at is not None or (self._sharing is not None and not self._sharing.done()):
            return
        workspaces = list(self._workspaces)
        if self._folded_at is None or not 0 <= now - self._folded_at < FOLD_MS:
            self._folded_at = now
            self._sharing = self._threads.submit(self._uses.fold, workspaces, now)
        elif not 0 <= now - self._shared_at < SHARE_MS:
            self._shared_at = now
            self._sharing = self._threads.submit(self._uses.share, workspaces)

    def _held_of(self, name: str) -> dict[str, bytes]:
        """Return the documents of a workspace that an earlier run held, by name."""
        return {key.partition("/")[2]: data for key, data in self._held.items() if key.startswith(f"{name}/")}

    def _workspace(self, name: str) -> FollowedWorkspace | None:
        """Return the workspace of this name, ``None`` where the name is not one of a workspace."""
        with suppress(StoreError):
            if name not in self._workspaces:
                workspace_store = self._mirror.workspace(name)
                cache = cache_paths(self._mirror.cache, name)
                self._workspaces[name] = FollowedWorkspace(
                    self._objects, workspace_store, cache, self._clock, self._kept_ms, self._held_of(name)
                )
        return self._workspaces.get(name)

    def _found(self, now: int) -> None:
        if self._lost_at is not None:
            _log.info("%s answers again, after %.0f s", self._objects.location, (now - self._lost_at) / 1000)
        self._lost_at = self._complaint = None
        self._answered_at = now

    def _lost(self, complaint: str, now: int) -> None:
        if self._lost_at is None or complaint != self._complaint:
            _log.error("the store cannot be reached: %s What is mirrored is still served.", complaint)
        self._lost_at, self._complaint = self._lost_at or now, complaint

    def _hold_documents(self) -> None:
        """Write the documents that the disk takes no file for into their page, and reserve room there for all keys."""
        documents = {f"{one.id}/{name}": data for one in self._workspaces.values() for name, data in one.held.items()}
        documents |= {key: data for key, data in self._held.items() if key.split("/")[0] not in self._workspaces}
        try:
            if documents != self._reserved:
                self._held_page.write(documents)
                self._reserved = documents
        except OSError as error:
            if self._reserved is not None:
                _log.error("keys cannot be followed: %s. This server is not ready until there is room.", error)
            self._reserved = None
        with suppress(OSError):  # a full disk: the room that there is has to do
            sizes = [path.stat().st_size for path in self._mirror.root.glob(f"*/{ACCESS}")]
            self._held_page.keep_room(sum(sizes) + sum(map(len, documents.values())))

    def _find_behind(self, now: int) -> dict[str, dict[str, int]]:
        """Return, by workspace, the parts that have been older than the store's for more than two polls, and since
        when (UTC milliseconds)."""
        found = {(name, ALL) for name in self._unlooked}
        for one in self._workspaces.values():
            if one.lacks_version or one.is_refused(CURRENT) or self._cannot_hold(one, CURRENT):
                found.add((one.id, CURRENT_VERSION))
            if one.is_refused(ACCESS) or self._cannot_hold(one, ACCESS):
                found.add((one.id, KEYS))
        return self._behind.told(found, now)

    def _cannot_hold(self, workspace: FollowedWorkspace, name: str) -> bool:
        """Whether this machine takes a document neither as a file nor in its page of held ones."""
        return self._reserved is None and name in workspace.held

    def _unable(self, behind: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
        """Return the workspaces that are behind because of this machine's fault, not because of the store's content."""
        return tuple(
            one.id
            for one in self._workspaces.values()
            if (KEYS in behind.get(one.id, {}) and self._cannot_hold(one, ACCESS))
            or (
                CURRENT_VERSION in behind.get(one.id, {})
                and (CURRENT in one.held or (one.failed is not None and one.failed.is_here))
            )
        )

    def _go_on(self) -> None:
        """Note that the process lives: a round may ask a slow store for much."""
        now = self._clock()
        written_at = self._contact.written_at
        if written_at is None or not 0 <= now - written_at < GO_ON_MS:
            with suppress(OSError):  # the round's own page says it
                self._write(msgspec.structs.replace(self._contact, written_at=now))

    def _write(self, contact: Contact) -> None:
        self._page.write(contact)
        self._contact = contact

    def _tell(self, now: int) -> None:
        """Write the page of the contact."""
        behind = self._find_behind(now)
        refused = {
            workspace.id: RefusedVersion(workspace.failed.version, workspace.failed.retry_at)
            for workspace in self._workspaces.values()
            if workspace.failed is not None
        }
        unable = self._unable(behind)
        at, hint = self._answered_at, self._hint.tag
        is_reached = self._lost_at is None
        self._write(Contact(at, self._complete, is_reached, hint, refused, behind, unable, self._clock()))
