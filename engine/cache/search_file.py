"""A version's search indexes → one mapped file in the cache, by which terms are looked up (design section 4).

For each text field of each API and language a *section*: the words, the most frequent first, and the other tokens in
the order of their bytes; for each token its rows, as numbers, or as one bit a row where that is shorter; and the texts
themselves, for the few rows that only they decide. The file is mapped, so that all processes share the system's cache.

    token (16 bytes) · the sections' arrays · what is where, as JSON · the length of that (8 bytes)
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

import msgspec

from engine.cache.bodies import TOKEN_BYTES
from snapshots.columns import FileKind
from snapshots.model import Api
from snapshots.store.manifest import Manifest

LENGTH_BYTES: Final = 8


class Section(msgspec.Struct, frozen=True):
    """What is where for one field of one API in one language."""

    api: str
    """The ``uid`` of the API."""
    lang: str
    field: str
    first: int
    """The position of the language's first row in the API's table."""
    rows: int
    words: int
    """How many of the tokens are words; they come first."""
    arrays: dict[str, tuple[int, int, str]]
    """By name: the first byte, the number of items, and their type."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(list[Section]).decode


def is_indexed(manifest: Manifest, api: Api) -> bool:
    """Whether all of an API's files have a search index; those of older snapshots have none."""
    for lang in manifest.workspace.languages_of(api):
        file = manifest.file(api, lang)
        if file is not None and file.rows and manifest.file(api, lang, FileKind.SEARCH) is None:
            return False
    return True


def bits_width(rows: int) -> int:
    """Bytes of one bit a row, whole numbers of 64 bits."""
    return -(-rows // 64) * 8


class SearchFile:
    """The file, opened. Any number of threads may read at the same time."""

    def __init__(self, place: Path, token: bytes) -> None:
        """``token`` is what it must begin with. Raises ``ValueError`` for another file, and ``OSError``."""
        with place.open("rb") as file:
            if file.read(TOKEN_BYTES) != token:
                raise ValueError(f"{place.name} does not belong to it")
            self.map: Final = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            end = len(self.map) - LENGTH_BYTES
            length = int.from_bytes(self.map[end:], "little")
            self.sections: Final = _decode(self.map[max(end - length, 0) : end])
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            self.map.close()
            raise ValueError(f"{place.name} is damaged: {error}") from None

    def close(self) -> None:
        """Nothing may be read any more."""
        self.map.close()
