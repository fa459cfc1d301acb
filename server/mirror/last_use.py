"""Send the last uses of keys that the servers of this machine have noted to one object of the machine in the store."""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.access.keys.last_use import FOLDED, LAST_USE, decode_uses, encode_uses, last_uses, merge_uses
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import replace_durably
from snapshots.store.objects import ABSENT, ANY, Objects, StoreUnreachable
from snapshots.store.store import Store

MACHINE: Final = ".machine"
"""The file in the mirror with the machine's name among all that serve the store."""
GONE_MS: Final = 7 * 24 * 3_600_000
"""Milliseconds after which the object of a machine that writes no more is folded into one with all others."""

_log = logging.getLogger(LOGGER)


class LastUseSharing:
    """The uses of all workspaces. One thread at a time calls it."""

    def __init__(self, objects: Objects, mirror: Store) -> None:
        """Raises ``OSError`` where the machine's name can be neither read nor written."""
        self._objects = objects
        self._mirror = DirectoryObjects(mirror.root)
        self._machine = _machine(mirror.root)
        self._shared: dict[str, dict[str, int]] = {}
        self._refused: set[str] = set()
        """The workspaces in which the store refuses this machine."""

    def share(self, workspaces: list[str]) -> None:
        """Write the uses noted since the last call to the store. A write that fails is tried again with the next call,
        except in workspaces where the store refuses this machine."""
        for workspace in workspaces:
            try:
                uses = last_uses(self._mirror, workspace)
                if uses != self._shared.get(workspace, {}) and workspace not in self._refused:
                    self._objects.replace(self._key(workspace), encode_uses(uses), ANY)
                    self._shared[workspace] = uses
            except StoreUnreachable:
                return
            except ParquetryError as error:
                _log.warning("%s: when keys were last used cannot be written into the store: %s", workspace, error)
                self._refused.add(workspace)

    def fold(self, workspaces: list[str], now: int) -> None:
        """Merge the objects of machines that are gone at ``now`` (UTC milliseconds) into one. Failures are ignored:
        nothing depends on the merge, and it is tried again another time."""
        for workspace in workspaces:
            with suppress(ParquetryError):
                self._fold(workspace, now)

    def _fold(self, workspace: str, now: int) -> None:
        folded = f"{workspace}/{LAST_USE}/{FOLDED}"
        gone = [
            one.key
            for one in self._objects.names(f"{workspace}/{LAST_USE}")
            if one.key not in {folded, self._key(workspace)} and one.modified_at < now - GONE_MS
        ]
        if not gone:
            return
        before = self._objects.read(folded)
        uses = {} if before is None else decode_uses(before.data)
        for found in map(self._objects.read, gone):
            merge_uses(uses, {} if found is None else decode_uses(found.data))
        # Of two machines that fold at once, one is refused, and deletes nothing.
        self._objects.replace(folded, encode_uses(uses), ABSENT if before is None else before.tag)
        self._objects.delete(gone)

    def _key(self, workspace: str) -> str:
        return f"{workspace}/{LAST_USE}/{self._machine}.json"


def _machine(root: Path) -> str:
    path = root / MACHINE
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    replace_durably(path, secrets.token_hex(8).encode())
    return path.read_text(encoding="ascii")
