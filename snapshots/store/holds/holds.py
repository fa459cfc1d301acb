"""Remember the content of versions that were rolled back from, so that no build makes it current again by itself.

    <workspace id>/held.json    one hold for each, the newest first; indented, for people

A document of its own, since programs that do not know of holds drop what they do not know when they write ``current``.
So holding and going back are two changes. The hold comes first: killed between the two, a process leaves a hold on the
version that is still current. Nothing is held back by that, and whatever takes the place of that version lifts it.

A hold is on content, not on a version's name, which a prune takes away. It is met by equal content
(``Manifest.content``) and by equal files (``Manifest.sources``), of which another program, or another date from git,
makes other content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from snapshots.store.document import Document, JsonCodec
from snapshots.store.objects import Objects

HELD: Final = "held.json"
FORMAT: Final = 1
MOST: Final = 1000
"""The holds that are kept: each is ended by making its content current, so that only going back a thousand times for
good loses the oldest."""


class Hold(msgspec.Struct, frozen=True, omit_defaults=True):
    """Content that was rolled back from."""

    version: str
    """The version that had it then. It may have been pruned since."""
    content: str
    """``Manifest.content``, or its beginning where the manifest could not be read."""
    at: int
    """UTC milliseconds."""
    by: str
    """Who went back: ``user@host``, or the address of a member."""
    sources: str = ""
    """``Manifest.sources``; empty where that is not known."""

    def meets(self, content: str, sources: str) -> bool:
        """Return whether a version with this content, or made of these files, is what was rolled back from."""
        return content.startswith(self.content) or (self.sources != "" and sources == self.sources)


class _Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    held: tuple[Hold, ...] = ()
    writes: tuple[str, ...] = ()
    format: int = 0


_CODEC: Final = JsonCodec(
    _Stored,
    lambda stored: stored.held,
    _Stored,
    repair="Until it is repaired, no build makes anything current; without the file, nothing is held.",
    newest=FORMAT,
    for_people=True,
)


class Holds:
    """The holds of one workspace. Every method raises ``StoreError`` for a store that refuses, and
    ``DamagedDocument``."""

    def __init__(self, objects: Objects, workspace: str) -> None:
        self._document: Document[tuple[Hold, ...]] = Document(objects, f"{workspace}/{HELD}", _CODEC, ())

    def read(self) -> tuple[Hold, ...]:
        """Return all holds, the newest first."""
        return self._document.read()

    def add(self, hold: Hold) -> None:
        """Add a hold in the place of one on the same content. A damaged document is written again with this one alone:
        going back does not wait for its repair."""

        def added(held: tuple[Hold, ...], _: str) -> tuple[tuple[Hold, ...], None]:
            return (hold, *(one for one in held if one.content != hold.content))[:MOST], None

        self._document.edit(added, mends=True)

    def remove(self, is_over: Callable[[Hold], bool]) -> None:
        """Remove the holds that are over. Where none is, nothing is written."""
        if any(map(is_over, self.read())):
            self._document.edit(lambda held, _: (tuple(one for one in held if not is_over(one)), None))


def hold_on(holds: Sequence[Hold], content: str, sources: str) -> Hold | None:
    """Return the newest hold that content, or the files it is made of, meets; ``None`` where it is not held."""
    return next((hold for hold in holds if hold.meets(content, sources)), None)
