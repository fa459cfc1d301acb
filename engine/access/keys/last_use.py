"""The last use of each key: noted in memory, and written now and then, so that no request costs a write.

    <store>/<workspace>/last_use/<process>.json    what one server process has noted
    <store>/<workspace>/last_use/folded.json       the notes of processes that write no more

In a bucket there is one object for each machine instead, with the uses of all its processes. Every file holds key IDs
and instants, and the newest instant counts, whichever file it stands in. So a file may be read twice, folded twice or
lost with its process: nothing but a use of the last fifteen seconds can be missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from datetime import UTC
from pathlib import Path

from snapshots.store.durable import (
    StoreError,
    locked,
    make_directory,
    replace_durably,
    replace_file,
    writing,
)
from snapshots.store.objects import Objects
from snapshots.times import format_datetime, parse_datetime

LAST_USE = "last_use"
IDLE_MS = 5 * 60_000
"""A file not written for so long is folded. Its process may live: it writes a new one at the next use."""

FOLDED = "folded.json"
_BEING_FOLDED = ".folding"
_READ_AGAIN = 5


def last_uses(objects: Objects, workspace: str) -> dict[str, int]:
    """The instant of a key's last use (UTC milliseconds) by key ID, for each key of a workspace that was ever used, on
    whichever machine.

    A damaged file counts as empty, since nothing but this list depends on it. Raises ``StoreError``.
    """
    for _ in range(_READ_AGAIN):
        found: dict[str, int] = {}
        documents = [objects.read(one.key) for one in objects.names(f"{workspace}/{LAST_USE}")]
        for document in documents:
            merge_uses(found, {} if document is None else decode_uses(document.data))
        if None not in documents:  # else folded meanwhile: its instants stand in another file now
            break
    return found


class LastUse:
    """The uses of a store's keys that this process has seen and not yet written."""

    def __init__(self, store_root: Path) -> None:
        self._root = store_root
        self._name = f"{os.getpid()}-{os.urandom(4).hex()}.json"
        self._noted: dict[tuple[str, str], int] = {}
        self._written: dict[str, dict[str, int]] = {}

    def note(self, workspace: str, key_id: str, now: int) -> None:
        """Note that a request was let in with a key at ``now`` (UTC milliseconds)."""
        self._noted[workspace, key_id] = now

    def write(self) -> None:
        """Write the notes since the last time into the store: one small file a workspace, replaced as a whole.

        Raises ``StoreError`` when one cannot be written; the others are written, and the next call tries again.
        """
        noted: dict[str, dict[str, int]] = {}
        for (workspace, key_id), moment in self._noted.copy().items():
            noted.setdefault(workspace, {})[key_id] = moment
        failure: StoreError | None = None
        for workspace, uses in noted.items():
            directory = self._root / workspace
            if uses == self._written.get(workspace) or not directory.is_dir():
                continue
            path = directory / LAST_USE / self._name
            try:
                with writing(path):
                    make_directory(path.parent)
                    replace_file(path, encode_uses(uses))
            except StoreError as error:
                failure = error
                continue
            self._written[workspace] = uses
        if failure is not None:
            raise failure

    def fold(self, workspace: str, known: Collection[str] | None, now: int) -> None:
        """Put the files of processes that write no more into one, without the keys that are not ``known`` any more,
        and remove what killed processes left half-written.

        ``known`` holds key IDs; ``None`` keeps all. Killed at any instant it loses nothing. Does nothing while
        another process folds. Raises ``StoreError``.
        """
        directory = self._root / workspace / LAST_USE
        if not any(self._is_idle(path, now) for path in _files(directory)) and not _half_written(directory, now):
            return
        with writing(directory):
            try:
                with locked(directory.with_name("last_use.lock"), seconds=0):
                    self._fold(directory, known, now)
            except StoreError:
                return

    def _fold(self, directory: Path, known: Collection[str] | None, now: int) -> None:
        # Renamed before it is read: what its process writes from now on is another file, and not deleted with it.
        taken = [
            path if path.suffix == _BEING_FOLDED else path.replace(path.with_suffix(_BEING_FOLDED))
            for path in _files(directory)
            if self._is_idle(path, now)
        ]
        folded = directory / FOLDED
        uses = _read(folded) if folded.exists() else {}
        for path in taken:
            merge_uses(uses, _read(path))
        replace_durably(folded, encode_uses({key: at for key, at in uses.items() if known is None or key in known}))
        for path in [*taken, *_half_written(directory, now)]:
            path.unlink(missing_ok=True)

    def _is_idle(self, path: Path, now: int) -> bool:
        if path.suffix == _BEING_FOLDED:
            return True
        return path.name not in {FOLDED, self._name} and _is_old(path, now)


def _is_old(path: Path, now: int) -> bool:
    try:
        return path.stat().st_mtime_ns // 1_000_000 < now - IDLE_MS
    except FileNotFoundError:
        return False


def _files(directory: Path) -> list[Path]:
    try:
        paths = sorted(directory.iterdir())
    except FileNotFoundError:
        return []
    return [path for path in paths if path.suffix in {".json", _BEING_FOLDED} and path.name[:1] != "."]


def _half_written(directory: Path, now: int) -> list[Path]:
    return [path for path in directory.glob(".*.tmp") if _is_old(path, now)]


def _read(path: Path) -> dict[str, int]:
    return decode_uses(path.read_bytes())


def decode_uses(data: bytes) -> dict[str, int]:
    """Return the instants in a file; none for a damaged one."""
    try:
        return {key: parse_datetime(moment, UTC) for key, moment in json.loads(data).items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}


def merge_uses(uses: dict[str, int], more: dict[str, int]) -> None:
    """Put later instants of ``more`` in the place of those in ``uses``."""
    for key, moment in more.items():
        uses[key] = max(moment, uses.get(key, moment))


def encode_uses(uses: dict[str, int]) -> bytes:
    """Return instants as they stand in a file."""
    return json.dumps({key: format_datetime(moment) for key, moment in uses.items()}, indent=1).encode() + b"\n"
