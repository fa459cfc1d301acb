"""Objects under keys, of which the small ones change by compare-and-set: what a store needs of a directory or a bucket.

``locations.open_objects`` opens them. A key is a relative path with forward slashes: ``acme/current``. There are two
kinds of objects. Those that are *created* never change, may be large and are read by ``fetch``. Those that are
*replaced* (``current``, ``access.json``) are small documents; every reader sees one of them whole, never a mixture.
"""

from __future__ import annotations

import random
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final, Generic, Literal, TypeVar

import msgspec

from snapshots.store.durable import StoreError

LONGEST_KEY: Final = 900
"""Bytes of a key in UTF-8: what every kind of store takes, with some room for the prefix in a bucket."""
EDIT_SECONDS: Final = 30.0
"""The longest that ``edit`` goes on while others keep changing the same document."""
_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.25
_FAILURES: Final = 3
"""Failing writes after which ``edit`` gives up, in a store that can be read meanwhile: Ceph answers losers with 500."""

Result = TypeVar("Result")


class Expected(Enum):
    """The states of an object that ``replace`` can expect besides a tag."""

    ABSENT = "absent"
    ANY = "any"


class Unchanged(Enum):
    """The answer of ``read_if_changed`` for an object that still has the tag."""

    UNCHANGED = "unchanged"


ABSENT: Final = Expected.ABSENT
"""For ``replace``: there is no such object yet."""
ANY: Final = Expected.ANY
"""For ``replace``: whatever is there."""
UNCHANGED: Final = Unchanged.UNCHANGED


class Conflict(StoreError):
    """The object is not as expected: somebody else has created or changed it."""


class MissingObject(StoreError):
    """There is no object under the key."""


class MissingBucket(StoreError):
    """There is no bucket of this name."""


class DamagedObject(StoreError):
    """The object does not have the recorded size or SHA-256."""


class StoreUnreachable(StoreError):
    """The store does not answer, or answers that it cannot now. Trying again later may help."""


class ObjectContent(msgspec.Struct, frozen=True):
    """The content of an object at one moment."""

    data: bytes
    tag: str
    """Stands for this content of this object: another content has another tag. Its form is the store's own."""


class Edited(msgspec.Struct, Generic[Result], frozen=True):
    """The outcome of an edit."""

    result: Result
    """The value that the change returned beside the document, in the try that was stored or changed nothing."""
    content: ObjectContent | None
    """The document after the edit, ``None`` where there is none."""


class ListedObject(msgspec.Struct, frozen=True):
    """An object as ``names`` lists it."""

    key: str
    bytes: int
    modified_at: int
    """UTC milliseconds by the clock of the store."""


class Objects(ABC):
    """The objects of a directory or of a bucket. Threads may share one.

    Every method may raise ``StoreError``: ``StoreUnreachable`` where the store does not answer, the class itself where
    it refuses or the disk does. After an error it is not known whether a change has been made; ``edit`` finds out.
    """

    location: str
    """Where the objects are, as a person writes it; without credentials."""
    loses_answers: ClassVar[bool] = True
    """Whether a change may have been made although it was told to have failed. Where that cannot be, a document needs
    no write ids."""
    shares_files: bool = False
    """Whether there is one object of a data file for all versions that have it. In a directory, each has a link."""

    @abstractmethod
    def read(self, key: str) -> ObjectContent | None:
        """Return a document and its tag, ``None`` where there is none."""

    @abstractmethod
    def read_if_changed(self, key: str, tag: str) -> ObjectContent | Literal[Unchanged.UNCHANGED] | None:
        """Return ``UNCHANGED`` for a document that still has ``tag``, without transferring it; else as ``read``."""

    @abstractmethod
    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        """Make ``data`` the document under ``key`` if that is as ``expected``; return the new tag.

        ``expected`` is a tag, ``ABSENT`` or ``ANY``. Raises ``Conflict`` otherwise, unless the document is ``data``
        already: an answer that was lost looks the same as that. So a document that is to have one writer's mark has
        to contain one, as ``edit`` sees to. ``private``: in a directory, for the owner's eyes alone.
        """

    def try_replace(
        self,
        key: str,
        data: bytes,
        expected: str | Expected,
        *,
        quoted: bool,  # for stores that are asked over HTTP
    ) -> str:
        """Replace as ``replace`` does, to find out whether the store keeps to the condition.

        ``quoted`` says whether to send a tag in quotes, where the store's tags have them.
        """
        return self.replace(key, data, expected)

    def with_reserve(self) -> Objects:
        """Return these objects for changes of documents that only take rights away: on a full disk they may use the
        room that is kept for such changes."""
        return self

    @abstractmethod
    def create(self, key: str, source: Path | bytes) -> None:
        """Store a file or bytes that will never change under ``key``.

        An object of the same content that is there already is as good. Raises ``Conflict`` for one of other content;
        of two that create a file of more than some MiB at once the later may win instead, so that such keys have to
        be made of a version's name or of the content.
        """

    def create_copy(self, key: str, source: Path) -> None:
        """Store a file as ``create`` does, in bytes of its own: in a directory, without a link to the file."""
        self.create(key, source)

    @abstractmethod
    def copy(self, source: str, destination: str) -> None:
        """Give an object that never changes a second key, without transferring it. Raises ``MissingObject``."""

    @abstractmethod
    def fetch(self, key: str, path: Path, size: int, sha256: str | None) -> None:
        """Make ``path`` a copy of an object, brought to the disk; what was there is replaced, its directory is made.

        Raises ``MissingObject``, and ``DamagedObject`` where the bytes do not have this size and SHA-256 (in
        hexadecimal; ``None`` where the caller looks at the content): ``path`` is as before then.
        """

    @abstractmethod
    def as_file(self, key: str, size: int, sha256: str | None) -> AbstractContextManager[Path]:
        """Give a file with an object's content for the block, not to be changed. Raises as ``fetch``."""

    @abstractmethod
    def names(self, prefix: str) -> list[ListedObject]:
        """Return the objects below ``prefix``, a folder ("" for all), sorted by key."""

    @abstractmethod
    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders in the folder ``prefix`` ("" for the topmost), sorted.

        Some stores go on listing a folder that has become empty.
        """

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> int | None:
        """Delete objects in this order, or at once; return the bytes freed, ``None`` where the store does not tell.

        One that is not there is no error.
        """

    def alone(self, folder: str) -> AbstractContextManager[None]:  # for directories
        """Have others who ask for the same of this folder wait for the end of the block, where they can be made to: in
        a directory, all processes of the machine; in a bucket, nobody."""
        return nullcontext()

    def take(self, key: str, source: Objects, source_key: str, size: int, sha256: str) -> None:
        """Create a large object as a copy of one of ``source``.

        Raises ``MissingObject`` and ``DamagedObject`` as ``source.fetch``, and ``Conflict`` as ``create``.
        """
        with source.as_file(source_key, size, sha256) as path:
            self.create(key, path)

    def edit(
        self, key: str, change: Callable[[bytes | None, str], tuple[bytes | None, Result]], *, private: bool = False
    ) -> Edited[Result]:
        """Change a document exactly once, whoever else changes it and whichever answers are lost.

        ``change`` gets the document (``None`` where there is none) and a *write id*. It returns the document as it is
        to be, with the write id somewhere in it, or ``None`` to leave it, and beside it whatever its caller wants to
        know of it. It is called again when somebody else was quicker, with the newest document and another write id;
        what is returned is of the try that was stored, or that left the document. So ``change`` keeps nothing of a try
        anywhere else. A document that others edit too has to keep the last 50 or so ids: that is how one's own change
        is recognised below theirs after an answer was lost; a store that loses none takes documents without ids.

        Raises what ``change`` raises, ``Conflict`` when others kept changing it for ``EDIT_SECONDS``, and
        ``StoreUnreachable`` when the store does not answer: then the change may or may not have been made.
        """
        tries: dict[bytes, Result] = {}  # by their write ids, since one whose answer was lost may be the one stored
        deadline = time.monotonic() + EDIT_SECONDS
        pause, failures = _FIRST_PAUSE, 0
        while True:
            found = self.read(key)
            for write, result in tries.items():
                if found is not None and write in found.data:
                    return Edited(result, found)
            name = secrets.token_urlsafe(8)
            wanted, result = change(None if found is None else found.data, name)
            if wanted is None:
                return Edited(result, found)
            if self.loses_answers and name.encode() not in wanted:
                raise ValueError(f"{key}: the changed document does not contain the write id")
            tries[name.encode()] = result
            try:
                tag = self.replace(key, wanted, ABSENT if found is None else found.tag, private=private)
            except (Conflict, StoreUnreachable) as refused:
                failures += isinstance(refused, StoreUnreachable)
                if failures > _FAILURES or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0, pause))  # noqa: S311 - so that those who collide do not meet again
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                return Edited(result, ObjectContent(wanted, tag))


def checked_key(key: str) -> str:
    """Return ``key``. Raises ``StoreError`` where it is none: it leads elsewhere, or a part of it begins with a dot.

    Names that begin with a dot are a directory's own: locks, and files that are being written.
    """
    parts = key.split("/")
    if (
        len(key.encode(errors="replace")) > LONGEST_KEY
        or any(not part or part.startswith(".") for part in parts)
        or any(ord(character) < 32 or character in "\\\x7f" for character in key)
    ):
        raise StoreError(f"{key!r} is not the key of an object: write names joined by '/', none beginning with '.'.")
    return key


def checked_prefix(prefix: str) -> str:
    """Return a prefix without slashes around it, "" for all objects. Raises ``StoreError`` as ``checked_key``."""
    folder = str(PurePosixPath(prefix.strip("/"))) if prefix.strip("/") else ""
    return checked_key(folder) if folder else ""
