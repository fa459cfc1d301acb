"""Hold at each step of the bucket that its versions are whole: whatever a manifest names is there, as long as the
manifest is, and no mark says that it is being deleted."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from snapshots.store.carrying import DROPPED, SNAPSHOTS, asset_keys, file_keys
from snapshots.store.manifest import MANIFEST, decode_manifest

_BUCKET: Final[Any] = SimpleNamespace(shares_files=True)


class Wholeness:
    """The versions of a bucket, and the keys that each of them needs."""

    def __init__(self, objects: Mapping[str, Any]) -> None:
        """``objects`` are the bucket's, by key."""
        self._objects = objects
        self._needed: dict[str, frozenset[str]] = {}
        """The keys that a version needs, by the key of its manifest."""
        self._decoded: dict[bytes, frozenset[str]] = {}
        self._damaged: set[str] = set()

    def changed(self, key: str) -> str | None:
        """Take note of an object that was stored or deleted; return what is wrong now."""
        folder, _, name = key.rpartition("/")
        if name in (MANIFEST, DROPPED) and f"/{SNAPSHOTS}/" in key:
            key = f"{folder}/{MANIFEST}"
            found = self._objects.get(key)
            if found is None or f"{folder}/{DROPPED}" in self._objects:
                self._needed.pop(key, None)
                return None
            self._needed[key] = self._keys(key, found.data) - self._damaged
            missing = [one for one in sorted(self._needed[key]) if one not in self._objects]
            return f"{key} was stored, and {missing} are missing" if missing else None
        if key in self._objects:
            self._damaged.discard(key)
            return None
        needing = [manifest for manifest, keys in self._needed.items() if key in keys]
        return f"{key} was deleted, which {needing} name" if needing else None

    def _keys(self, key: str, data: bytes) -> frozenset[str]:
        if data not in self._decoded:
            manifest = decode_manifest(data, key)
            self._decoded[data] = frozenset([*asset_keys(manifest), *file_keys(_BUCKET, manifest)])
        return self._decoded[data]

    def damage(self, key: str) -> None:
        """Expect that an object is missing, until it is stored again."""
        self._damaged.add(key)
        self._needed = {manifest: keys - {key} for manifest, keys in self._needed.items()}
