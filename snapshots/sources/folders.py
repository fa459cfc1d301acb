"""The names in a workspace's folders, by how they begin."""

from __future__ import annotations

import os
from pathlib import Path


class Folders:
    """Looks up names in folders. A folder is read once, when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: dict[str, dict[str, list[str]]] = {}

    def named(self, folder: str, stem: str) -> list[str]:
        """Return the names in a folder that are ``stem``, or begin with it and a dot; none where there is no folder."""
        names = self._names.get(folder)
        if names is None:
            names = self._names[folder] = {}
            try:
                found = sorted(os.listdir(self._root / folder))  # noqa: PTH208 - a Path for each name is slow
            except (OSError, ValueError):
                found = []
            for name in found:
                names.setdefault(name.partition(".")[0], []).append(name)
        return [name for name in names.get(stem.partition(".")[0], []) if name == stem or name.startswith(f"{stem}.")]
