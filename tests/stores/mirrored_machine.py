"""A machine with a mirror, in the test's own process, over a directory that plays the bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from server.mirror.contact import Contact, ContactPage
from server.mirror.mirror import Mirror
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import ListedObject, ObjectContent, StoreUnreachable, Unchanged
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms

SECOND = 1000
KEPT = 3600 * SECOND


class Bucket(DirectoryObjects):
    """A directory that counts what is asked of it, can be out of reach, and has data files as a bucket has them."""

    shares_files = True

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: Counter[str] = Counter()
        self.fetched: list[str] = []
        self.reachable = True

    def _ask(self, what: str) -> None:
        self.asked[what] += 1
        if not self.reachable:
            raise StoreUnreachable(f"cannot {what}: no answer.")

    def read(self, key: str) -> ObjectContent | None:
        self._ask("read")
        return super().read(key)

    def read_if_changed(self, key: str, tag: str) -> ObjectContent | Literal[Unchanged.UNCHANGED] | None:
        self._ask("read_if_changed")
        self.asked["read"] -= 1  # which that does, without a second request
        return super().read_if_changed(key, tag)

    def fetch(self, key: str, path: Path, size: int, sha256: str) -> None:
        self._ask("fetch")
        self.fetched.append(key)
        super().fetch(key, path, size, sha256)

    def folders(self, prefix: str) -> list[str]:
        self._ask("folders")
        return super().folders(prefix)

    def names(self, prefix: str) -> list[ListedObject]:
        self._ask("names")
        return super().names(prefix)

    def delete(self, keys: Iterable[str]) -> None:
        self._ask("delete")
        super().delete(keys)


class Machine:
    """A mirror, whose clock moves when it is told to."""

    def __init__(self, directory: Path, bucket: Bucket, *, kept: int = KEPT) -> None:
        """Versions stay for ``kept`` milliseconds after others became current."""
        self.store: Store = open_store(directory)
        directory.mkdir(exist_ok=True)
        self.now = now_ms()
        self.mirror = Mirror(bucket, self.store, lambda: self.now, kept)

    def poll(self, *, after: int = SECOND) -> None:
        """Poll ``after`` milliseconds, and once more after what that began to pull is there."""
        self.now += after
        self.mirror.poll()
        self.mirror.wait()
        self.mirror.poll()
        self.mirror.wait()

    def age(self, milliseconds: int) -> None:
        """Let time pass since whatever has happened by now. Sites stamp what they do with the true time, which has gone
        on further than this machine's clock where building took longer than the polls say."""
        self.now = max(self.now, now_ms()) + milliseconds

    def page(self) -> Contact:
        """What servers read of the contact."""
        return ContactPage(self.store.root).read()

    def version(self, workspace: str = "acme") -> str | None:
        current = self.store.workspace(workspace).current()
        return None if current is None else current.version

    def is_whole(self, workspace: str = "acme") -> bool:
        version = self.version(workspace)
        return version is not None and self.store.workspace(workspace).verify(version) == []
