"""Find the images and files that stand beside the content, and the addresses at which they are delivered.

An asset's name is made of its content, so that it can be kept for ever by whoever fetched it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath, splitext
from urllib.parse import unquote

import msgspec

from snapshots.compile.image_size import HEADER_BYTES, Size, image_size
from snapshots.definitions.files import wrong_link
from snapshots.sources.folders import Folders
from snapshots.store.assets.files import asset_name

TYPES = {
    **{"png": "image/png", "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp"},
    **{"avif": "image/avif", "svg": "image/svg+xml", "ico": "image/x-icon"},
    **{"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "vtt": "text/vtt"},
    **{"mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "wav": "audio/wav"},
    **{"pdf": "application/pdf", "zip": "application/zip", "epub": "application/epub+zip", "txt": "text/plain"},
    **{"csv": "text/csv", "ics": "text/calendar"},
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
"""The media types of assets, by extension. Other files are no assets, so that no page or script becomes one."""

RACY_NS = 2_000_000_000
"""Times of a file prove nothing if it changed so shortly before it was read: it may have changed again since."""

_NAMES = ".*"
"""Ends the path that stands for all names with a beginning; no asset has such a name."""
_ADDRESS = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:|/)([^?#]+)((?:\?[^#]*)?(?:#.*)?)")


class MissingAsset(ValueError):
    """A text names a file that is not there, or that may not be delivered. The message names the reason alone."""


class AssetUse(msgspec.Struct, frozen=True):
    """A file that a text names, or names that were looked for, as they were when the text was compiled."""

    path: str
    """Relative to the workspace; it ends with ``.*`` for all names with a beginning."""
    name: str
    """The name under which it is delivered; empty for what cannot be."""
    state: str
    """The state that ``states`` returns for the path, after a ``?`` where it proves nothing."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file to deliver."""

    url: str
    size: Size | None = None
    """The size of an image whose bytes give one."""
    path: str = ""
    """Relative to the workspace."""

    @property
    def lacks_size(self) -> bool:
        """Whether it is an image by its name, and its bytes give no size."""
        return self.size is None and _is_image(self.path)


def is_relative_asset(url: str) -> bool:
    """Return whether an address in a content file would have to lead to an image or file beside it."""
    found = _ADDRESS.fullmatch(url)
    return found is not None and splitext(unquote(found[1]))[1].lower()[1:] in TYPES


def file_state(root: Path, path: str) -> str:
    """Return size, change time and inode of a file, in one text; an empty one where there is no file."""
    try:
        status = os.stat(f"{root}/{path}")  # noqa: PTH116 - a Path costs as much as the question
    except (OSError, ValueError):
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def states(root: Path) -> Callable[[str], str]:
    """Return the function that gives the state, as it is now, of the ``path`` of an ``AssetUse``."""
    folders = Folders(root)

    def state(path: str) -> str:
        if not path.endswith(_NAMES):
            return file_state(root, path)
        folder, _, stem = path.removesuffix(_NAMES).rpartition("/")
        return "/".join(folders.named(folder, stem))

    return state


class Assets:
    """Finds the assets of a workspace. ``used`` are those that texts have named so far, for the caller to take."""

    def __init__(self, root: Path, base: str) -> None:
        """``base`` is the beginning of delivered addresses; names follow it."""
        self._root, self._base = root, base
        self._known: dict[str, tuple[str, str, Size | None]] = {}
        self._folders = Folders(root)
        self.used: dict[str, AssetUse] = {}

    def found(self, file: str, url: str) -> Asset | None:
        """Return the asset that an address in a content file leads to; ``None`` for any other address.

        Raises ``MissingAsset`` for a relative address of a file that cannot be delivered.
        """
        found = _ADDRESS.fullmatch(url)
        if found is None:
            return None
        written = unquote(found[1])
        if "{{" in written or "{%" in written:
            return None  # a site generator's tag makes the address, and is reported as a tag
        path = normpath(join(dirname(file), written))
        if splitext(path)[1].lower()[1:] not in TYPES:
            return None
        if path.startswith("../"):
            raise MissingAsset("leads out of the workspace")
        if path.startswith(".") or "/." in path:
            raise MissingAsset(f"leads to {path}, which is hidden: rename it")
        state = file_state(self._root, path)
        known = self._known.get(path)
        if known is None or known[0] != state:
            self.used[path] = AssetUse(path, "", state)
            known = self._known[path] = (state, *self._read(path))
        self.used[path] = AssetUse(path, known[1], _proven(state))
        return Asset(self._base + known[1] + found[2], known[2], path)

    def named(self, folder: str, stem: str) -> list[str]:
        """Return the names in a folder that are ``stem``, or begin with it and a dot.

        They are ``used`` then, so that a text is compiled again when such a file comes or goes.
        """
        names = self._folders.named(folder, stem)
        path = f"{folder}/{stem}{_NAMES}"
        self.used[path] = AssetUse(path, "", "/".join(names))
        return names

    def _read(self, path: str) -> tuple[str, Size | None]:
        """Return the name for a file, and its size where it is an image."""
        if not (self._root / path).is_file():
            raise MissingAsset(f"leads to {path}, and there is no such file")
        wrong = wrong_link(self._root, path)
        if wrong is not None:
            raise MissingAsset(f"leads to {path}, which {wrong}")
        try:
            with (self._root / path).open("rb") as opened:
                head = opened.read(HEADER_BYTES)
                opened.seek(0)
                name = asset_name(path, opened)
        except OSError as error:
            raise MissingAsset(f"leads to {path}, which cannot be read: {error.strerror}") from None
        return name, image_size(head) if _is_image(path) else None


def _is_image(path: str) -> bool:
    return TYPES.get(splitext(path)[1].lower()[1:], "").startswith("image/")


def _proven(state: str) -> str:
    changed = int(state.split(":")[1])
    return f"?{state}" if changed >= time.time_ns() - RACY_NS else state
