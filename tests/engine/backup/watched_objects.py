"""A directory of objects that tells of each step before it is taken: so others come between, or the process ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import Expected, ListedObject, ObjectContent


class WatchedObjects(DirectoryObjects):
    """``before`` is called with the name of each step and the key that it is about."""

    def __init__(self, root: Path, before: Callable[[str, str], None]) -> None:
        super().__init__(root)
        self.before = before

    def read(self, key: str) -> ObjectContent | None:
        self.before("read", key)
        return super().read(key)

    def names(self, prefix: str) -> list[ListedObject]:
        self.before("names", prefix)
        return super().names(prefix)

    def as_file(self, key: str, size: int, sha256: str | None) -> Any:
        self.before("as_file", key)
        return super().as_file(key, size, sha256)

    def create(self, key: str, source: Path | bytes) -> None:
        self.before("create", key)
        super().create(key, source)

    def create_copy(self, key: str, source: Path) -> None:
        self.before("create", key)
        super().create_copy(key, source)

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        self.before("replace", key)
        return super().replace(key, data, expected, private=private)

    def delete(self, keys: Iterable[str]) -> int:
        several = list(keys)
        self.before("delete", several[0] if several else "")
        return super().delete(several)
