"""The counts files of a workspace in a store, and the same files in a directory of this machine."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.views.counting.count_files import COUNTS, NO_DIGEST, TODAY, CountState, decode_state
from engine.views.counting.count_rows import damaged
from engine.views.gathering.layout import counts_key, counts_prefix, today_key
from snapshots.store.durable import make_directory, replace_durably, writing
from snapshots.store.objects import ABSENT, UNCHANGED, MissingObject, Objects

_ATTEMPTS: Final = 3
_DIGEST_KEY: Final = b'"sha256":"'


class PulledCounts:
    """The counts of one workspace below ``views/counts``, as they were in the store at the last ``refresh``."""

    def __init__(self, objects: Objects, workspace: str, views: Path) -> None:
        self._objects = objects
        self._workspace = workspace
        self._counts = views / COUNTS
        self._tag: str | None = None
        self._left: tuple[int, ...] = ()
        """Tells today's file here as it was left after that from others."""
        self.state = CountState()
        self.is_unsealed = False
        """Whether an older program wrote the counts in a directory, where it filed no rows."""

    def refresh(self) -> bool:
        """Get what has changed there or here; return whether anything has. Raises ``StoreError``, ``CountsDamaged``:
        all stays as it was then."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._refresh()
            except MissingObject:  # folded meanwhile: today's file names another base now
                self._tag = None
                if attempt == _ATTEMPTS - 1:
                    raise
        return False

    def push(self, state: CountState) -> None:
        """Upload the files, whose state is ``state``, if the store still has the files of the last ``refresh``.

        Raises ``Conflict`` if the store has others, and ``StoreError``, also when it is not known whether the upload
        was done. In both cases the next ``refresh`` downloads the store's files.
        """
        expected, self._tag = self._tag, None
        old = []
        if state.base is not None and state.base != self.state.base:
            # Those that were there before the change are never named again: a change that names one is refused.
            old = [one.key for one in self._objects.names(counts_prefix(self._workspace)) if "/base-" in one.key]
            self._objects.create(counts_key(self._workspace, state.base), self._counts / state.base)
        data = sealed((self._counts / TODAY).read_bytes())
        self._tag = self._objects.replace(today_key(self._workspace), data, ABSENT if expected is None else expected)
        self.state, self.is_unsealed, self._left = state, False, _signature(self._counts / TODAY)
        self._objects.delete(old)

    def _refresh(self) -> bool:
        key = today_key(self._workspace)
        if self._left != _signature(self._counts / TODAY):
            self._tag = None
        found = self._objects.read(key) if self._tag is None else self._objects.read_if_changed(key, self._tag)
        if found is UNCHANGED:
            return False
        with writing(self._counts):
            if found is None:
                changed = self._tag is not None or (self._counts / TODAY).exists()
                self._tag, self.state, self.is_unsealed, self._left = None, CountState(), False, ()
                (self._counts / TODAY).unlink(missing_ok=True)
                return changed
            state = opened(found.data, f"{self._objects.location}/{key}")
            make_directory(self._counts)
            base = state.base
            if base is not None and not _has_size(self._counts / base, state.base_bytes):
                self._fetch_base(base, state)
            replace_durably(self._counts / TODAY, found.data)
            for path in self._counts.iterdir():
                if path.name != base and path.name.startswith(("base-", ".base-")):
                    path.unlink()
        self._tag, self.state, self._left = found.tag, state, _signature(self._counts / TODAY)
        self.is_unsealed = state.sha256 == NO_DIGEST
        return True

    def _fetch_base(self, base: str, state: CountState) -> None:
        key = counts_key(self._workspace, base)
        if state.base_sha256:
            self._objects.fetch(key, self._counts / base, state.base_bytes, state.base_sha256)
            return
        found = self._objects.read(key)  # of a local store whose server knew no digests yet
        if found is None:
            raise MissingObject(f"{self._objects.location}/{key} is not there.")
        replace_durably(self._counts / base, found.data)


def sealed(data: bytes) -> bytes:
    """Return today's file with its digest, which a reader compares."""
    digest = hashlib.sha256(data).hexdigest().encode()
    if data.count(_DIGEST_KEY + NO_DIGEST.encode()) != 1:
        raise ValueError("today's file has no place for its digest")
    return data.replace(_DIGEST_KEY + NO_DIGEST.encode(), _DIGEST_KEY + digest)


def opened(data: bytes, named: str) -> CountState:
    """Read what today's file of a store says. Raises ``CountsDamaged`` where a byte is not as sealed.

    One that an older program wrote in a directory has no seal.
    """
    position = data.rfind(_DIGEST_KEY)
    if position >= 0:
        begin, end = position + len(_DIGEST_KEY), position + len(_DIGEST_KEY) + len(NO_DIGEST)
        digest, unsealed = data[begin:end].decode("ascii", "replace"), data[:begin] + NO_DIGEST.encode() + data[end:]
        if digest != NO_DIGEST and hashlib.sha256(unsealed).hexdigest() != digest:
            raise damaged(Path(named), "its content does not have the digest in it")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(pa.BufferReader(data)).metadata
    except (pa.ArrowException, OSError) as error:
        raise damaged(Path(named), str(error)) from None
    return decode_state(metadata, Path(named))


def _signature(path: Path) -> tuple[int, ...]:
    """Return numbers that change whenever the file is replaced; empty where there is no file."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size
    return ()


def _has_size(path: Path, size: int) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size == size
    return False
