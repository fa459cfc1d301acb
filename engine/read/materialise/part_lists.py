"""The lists of the parts in the store: what a builder has put there of a version's cache (design section 4).

<workspace>/cache/layout-<n>/<part>/<digest>.<file>     one of a part's files; two makers of it write different bytes
<workspace>/parts/layout-<n>/<version>.json             the files of a version's parts, with sizes and SHA-256

A reader takes a file only if it is as it is listed, and only builders may write lists: whoever may write into the cache
alone changes nothing that another machine serves. A version's list is written before its files are, so that all that is
not listed may be deleted at any time. Of what is listed and not there, each reader makes its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from engine.read.files.paths import LAYOUT, LAYOUTS
from snapshots.store.objects import ObjectContent, Objects

SHARED: Final = "cache"
"""The folder of a workspace's parts in the store."""
LISTS: Final = "parts"
"""The folder of the lists of parts."""


class PartFile(msgspec.Struct, frozen=True):
    """One file of a part."""

    name: str
    bytes: int
    sha256: str

    @property
    def object_name(self) -> str:
        """The last part of its key."""
        return f"{self.sha256[:16]}.{self.name}"


PartFiles: TypeAlias = dict[str, tuple[PartFile, ...]]
"""The files of parts, by the parts' names."""


class _List(msgspec.Struct, frozen=True):
    parts: PartFiles


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(_List)


def list_key(workspace: str, version: str) -> str:
    """Return the key of a version's list."""
    return f"{workspace}/{LISTS}/{LAYOUTS}{LAYOUT}/{version}.json"


def part_folder(workspace: str, part: str) -> str:
    """Return the folder of a part's files."""
    return f"{workspace}/{SHARED}/{LAYOUTS}{LAYOUT}/{part}"


def file_keys(workspace: str, listed: PartFiles) -> Iterator[tuple[str, PartFile]]:
    """Return all files of parts with their keys."""
    return (
        (f"{part_folder(workspace, part)}/{file.object_name}", file) for part, files in listed.items() for file in files
    )


def layout_of(key: str) -> int:
    """Return the number of the layout that the key of a part's file or of a list names, 0 where it names none."""
    number = key.split("/")[2].removeprefix(LAYOUTS)
    return int(number) if number.isdecimal() else 0


def encode_list(parts: PartFiles) -> bytes:
    """Return a list as it is stored."""
    return msgspec.json.encode(_List(parts), order="sorted") + b"\n"


def decode_list(found: ObjectContent | None) -> PartFiles | None:
    """Return what a stored list names; ``None`` where there is none, or a damaged one, which nobody follows."""
    try:
        return None if found is None else _decoder.decode(found.data).parts
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_list(objects: Objects, key: str) -> PartFiles:
    """Return what the list under a key names: nothing as ``decode_list``. Raises ``StoreError``."""
    return decode_list(objects.read(key)) or {}


def whole_parts(workspace: str, listed: PartFiles, there: Mapping[str, int]) -> PartFiles:
    """Return those of the listed parts of which all files are ``there``, which has the bytes of objects by key."""
    return {
        part: files
        for part, files in listed.items()
        if all(there.get(key) == file.bytes for key, file in file_keys(workspace, {part: files}))
    }
