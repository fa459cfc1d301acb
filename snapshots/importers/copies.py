"""Copy the images and files of an export into the workspace, and give their new addresses."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from posixpath import splitext

from snapshots.compile.assets import TYPES
from snapshots.importers.losses import Losses
from snapshots.importers.model import ASSET_BASE
from snapshots.importers.names import digest

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 60


class Copies:
    """Copies files into the folder ``folder`` of the workspace at ``root``; without a folder, none."""

    def __init__(self, root: Path, folder: str | None, losses: Losses) -> None:
        self._root, self._folder, self._losses = root, folder, losses
        self._made: dict[Path, str] = {}
        self.wanted = folder is not None

    def address(self, sources: Sequence[Path], inside: Path, name: str, url: str, where: str) -> str:
        """Return the address of a file of the export: that of its copy, or ``url`` where there is none.

        It is the first of ``sources`` that is there, which lie ``inside`` the export; ``name`` is its name for people.
        """
        if self._folder is None:
            return url
        source = next((one for one in sources if _is_inside(one, inside)), None)
        if source is None:
            self._losses.add(where, f"a copy of {name[:100]}", "the export does not contain the file")
            return url
        if source in self._made:
            return self._made[source]
        stem, extension = splitext(name if splitext(name)[1] else source.name)
        if extension.lower()[1:] not in TYPES:
            self._losses.add(where, f"a copy of {name[:100]}", f"files that end in {extension!r} are not delivered")
            return url
        plain = _NOT_OF_A_NAME.sub("-", stem).strip("-")[:_LONGEST]
        made = f"{plain}-{digest(str(source.relative_to(inside)))}{extension.lower()}".lstrip("-")
        target = self._root / self._folder / made
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return self._made.setdefault(source, f"{ASSET_BASE}{self._folder}/{made}")


def _is_inside(source: Path, inside: Path) -> bool:
    """Return whether there is a file of this name, and links do not lead out of the export."""
    try:
        return source.is_file() and source.resolve().is_relative_to(inside.resolve())
    except (OSError, ValueError):  # such a name no file can have
        return False
