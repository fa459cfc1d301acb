"""Find the images and files that stand beside the content, and the addresses at which they are delivered.

An asset's name is made of its content, so that it can be kept for ever by whoever fetched it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from posixpath import dirname, join, normpath, splitext
from typing import BinaryIO
from urllib.parse import unquote

import msgspec

from snapshots.definitions.files import wrong_link
from snapshots.pictures.image_metadata import STRIPPED, tells_position, without_metadata
from snapshots.pictures.image_size import HEADER_BYTES, ImageFacts, Size, image_facts
from snapshots.pictures.picture_sizes import MOST_PIXELS
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

LARGE_BYTES = 20_000_000
"""The bytes from which an image is worth a warning."""

RACY_NS = 2_000_000_000
"""Times of a file prove nothing if it changed so shortly before it was read: it may have changed again since."""

_NAMES = ".*"
"""Ends the path that stands for all names with a beginning; no asset has such a name."""
_ADDRESS = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:|/)([^?#]+)((?:\?[^#]*)?(?:#.*)?)")


ON_ONE_COMPUTER = (
    "is a path on one computer, which no browser of anybody else can open: put the file beside this one, and write its "
    "name alone, such as oven.jpg"
)
_LOCAL = re.compile(r"[A-Za-z]:[\\/]|\\\\|file:", re.IGNORECASE)


def is_local_path(url: str) -> bool:
    """Return whether an address is a path of Windows with a drive or a host, or leads to a file by its scheme."""
    return _LOCAL.match(url) is not None


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
    image: ImageFacts | None = None
    """The facts about an image whose bytes give a size."""
    path: str = ""
    """Relative to the workspace."""
    bytes: int = 0
    tells_position: bool = False
    """Whether it is delivered with the position at which it was taken."""

    @property
    def size(self) -> Size | None:
        """The size of an image whose bytes give one."""
        return None if self.image is None else self.image.size

    @property
    def lacks_size(self) -> bool:
        """Whether it is an image by its name, and its bytes give no size."""
        return self.size is None and is_image(self.path)

    @property
    def is_large(self) -> bool:
        """Whether it is larger than pictures for the web need to be."""
        pixels = 0 if self.size is None else self.size[0] * self.size[1]
        return pixels > MOST_PIXELS or (is_image(self.path) and self.bytes > LARGE_BYTES)


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

    def __init__(self, root: Path, base: str, *, strip: bool = False, folders: Sequence[str] = ()) -> None:
        """``base`` is the beginning of delivered addresses; names follow it. With ``strip``, pictures are delivered
        without their metadata. In ``folders`` are the files that the site has at its root."""
        self._roots = folders
        self._root, self._base, self._strip = root, base, strip
        self._known: dict[str, tuple[str, str, Asset]] = {}
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
        if self._roots and not file_state(self._root, path):
            self.used.setdefault(path, AssetUse(path, "", ""))  # compiled again when it comes
            path = self._by_page(file, written) or path
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
        return replace(known[2], url=self._base + known[1] + found[2])

    def _by_page(self, file: str, written: str) -> str | None:
        """Return the file to which an address leads that is relative to that of a file's page; ``None`` for none.

        The page of ``content/posts/hello.md`` is a folder of the site, ``posts/hello/``: which of the folders above are
        part of that address, only the site knows.
        """
        name = file.rpartition("/")[2].partition(".")[0]
        above = file.split("/")[:-1]
        page = above if name in ("index", "_index") else [*above, name]
        beside = normpath("/".join([*page, written]))
        in_roots = [
            normpath("/".join([root, *page[start:], written])) for start in range(len(page) + 1) for root in self._roots
        ]
        allowed = [one for one in in_roots if one.startswith(tuple(f"{root}/" for root in self._roots))]
        for path in [beside, *allowed]:
            if path.startswith((".", "/")) or "/." in path:
                continue
            if file_state(self._root, path):
                return path
            self.used.setdefault(path, AssetUse(path, "", ""))
        return None

    def named(self, folder: str, stem: str) -> list[str]:
        """Return the names in a folder that are ``stem``, or begin with it and a dot.

        They are ``used`` then, so that a text is compiled again when such a file comes or goes.
        """
        names = self._folders.named(folder, stem)
        path = f"{folder}/{stem}{_NAMES}"
        self.used[path] = AssetUse(path, "", "/".join(names))
        return names

    def _read(self, path: str) -> tuple[str, Asset]:
        """Return the name for a file, and the asset without its address."""
        if not (self._root / path).is_file():
            hint = ": write / instead of \\" if "\\" in path else ""
            raise MissingAsset(f"leads to {path}, and there is no such file{hint}")
        wrong = wrong_link(self._root, path)
        if wrong is not None:
            raise MissingAsset(f"leads to {path}, which {wrong}")
        try:
            with delivered_file(self._root / path, strip=self._strip) as opened:
                image = image_facts(opened.read(HEADER_BYTES)) if is_image(path) else None
                positioned = image is not None and tells_position(image.format, opened)
                opened.seek(0)
                name = asset_name(path, opened)
                return name, Asset("", image, path, opened.tell(), positioned)
        except OSError as error:
            raise MissingAsset(f"leads to {path}, which cannot be read: {error.strerror}") from None


def delivered_file(path: Path, *, strip: bool) -> BinaryIO:
    """Open a file as it is delivered: with ``strip``, a picture without its metadata. Raises ``OSError``."""
    if strip and is_image(path.name):
        with path.open("rb") as opened:
            image = image_facts(opened.read(HEADER_BYTES))
            if image is not None and image.format in STRIPPED:
                opened.seek(0)
                return BytesIO(without_metadata(image.format, opened.read()))
    return path.open("rb")


def is_image(path: str) -> bool:
    """Return whether a path is that of an image, by its extension."""
    return TYPES.get(splitext(path)[1].lower()[1:], "").startswith("image/")


def _proven(state: str) -> str:
    changed = int(state.split(":")[1])
    return f"?{state}" if changed >= time.time_ns() - RACY_NS else state
