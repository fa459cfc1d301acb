"""A small document that several programs change: its bytes ⇄ a value, each change made exactly once.

All documents of a store are read and changed here: what differs between them is the codec, the key, and what stands
for a document that is not there. JSON documents may have three members of their own, if the stored struct has them:
``format``, ``writes`` (the IDs of the last changes) and ``write`` (the ID of the last one).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from snapshots.store.durable import StoreError
from snapshots.store.objects import UNCHANGED, Objects, Result

KEPT_WRITES: Final = 50
"""The number of write IDs that a document keeps, by which a change whose answer was lost is recognised below others."""

T = TypeVar("T")
_Stored = TypeVar("_Stored", bound=msgspec.Struct)


class DamagedDocument(StoreError):
    """A document cannot be understood: it is damaged, or of a newer format than this program reads."""


class Codec(Protocol[T]):
    """The stored form of a document."""

    def decode(self, data: bytes, where: str, /) -> T:
        """Return the value of a document; ``where`` names it in messages. Raises ``DamagedDocument``."""

    def encode(self, value: T, before: bytes | None, write: str | None, /) -> bytes:
        """Return the document of a value in the place of ``before``, with ``write`` in it.

        ``write`` is ``None`` where ``needs_write`` says that it may be.
        """

    def needs_write(self, objects: Objects, /) -> bool:
        """Return whether a document in these objects has to have write IDs."""


class _Members(msgspec.Struct):
    format: int = 0
    writes: tuple[str, ...] = ()


_members: Final = msgspec.json.Decoder(_Members).decode


def _writes(data: bytes) -> tuple[str, ...]:
    try:
        return _members(data).writes
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()


class JsonCodec(Generic[T]):
    """The stored form of a document of JSON, made while a module is imported: two threads that decode a type for the
    first time at once crash in msgspec."""

    def __init__(
        self,
        stored: type[_Stored],
        loaded: Callable[[_Stored], T],
        to_store: Callable[[T], _Stored],
        *,
        repair: str = "It is written again.",
        newest: int | None = None,
        without_writes: int | None = None,
        newest_last: bool = False,
        for_people: bool = False,
    ) -> None:
        """``loaded`` turns what is stored into the value, and raises ``ValueError`` where that is not possible;
        ``to_store`` turns it back, with anything for the three members.

        ``repair`` says what to do about a damaged document. ``newest`` is the newest format that this program writes;
        it refuses newer ones. ``without_writes`` is the format without write IDs, which a store gets that loses no
        answers, since older programs read it. ``newest_last`` is the order of the write IDs. A document ``for_people``
        is indented, and sets in it are sorted.
        """
        decoder = msgspec.json.Decoder(stored)
        self._loaded: Callable[[bytes], T] = lambda data: loaded(decoder.decode(data))
        self._to_store = to_store
        self._repair, self._newest, self._without_writes = repair, newest, without_writes
        self._newest_last, self._for_people = newest_last, for_people

    def decode(self, data: bytes, where: str) -> T:
        """Return the value of a document, as ``Codec.decode``."""
        try:
            found = _members(data).format
            if self._newest is not None and found > self._newest:
                raise DamagedDocument(
                    f"{where}: format {found} is newer than this program reads ({self._newest}). "
                    "Upgrade parquetry here."
                )
            return self._loaded(data)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise self.damaged(where, str(error)) from None

    def encode(self, value: T, before: bytes | None = None, write: str | None = None) -> bytes:
        """Return the document of a value, as ``Codec.encode``; the same bytes for the same arguments."""
        stored = self._to_store(value)
        members: dict[str, Any] = {"format": self._newest if write else self._without_writes, "write": write}
        if write is not None:
            kept = _writes(before or b"")
            kept = (*kept, write)[-KEPT_WRITES:] if self._newest_last else (write, *kept)[:KEPT_WRITES]
            members["writes"] = kept
        own = {name: member for name, member in members.items() if name in stored.__struct_fields__}
        stored = msgspec.structs.replace(stored, **own)
        if self._for_people:
            return msgspec.json.format(msgspec.json.encode(stored, order="deterministic"), indent=1) + b"\n"
        return msgspec.json.encode(stored) + b"\n"

    def needs_write(self, objects: Objects) -> bool:
        """Return whether a document has to have write IDs, as ``Codec.needs_write``."""
        return objects.loses_answers or self._without_writes is None

    def damaged(self, where: str, reason: str) -> DamagedDocument:
        """Return the error for a damaged document."""
        return DamagedDocument(f"{where} is damaged: {reason.rstrip('.')}. {self._repair}")


class Document(Generic[T]):
    """A document of a store. Threads may share one. Every method raises ``StoreError`` for a store that refuses."""

    def __init__(
        self,
        objects: Objects,
        key: str,
        codec: Codec[Any],
        empty: T,
        *,
        private: bool = False,
        expendable: bool = False,
        announce: Callable[[], object] = lambda: None,
    ) -> None:
        """``codec`` is for values of ``T``, but for ``empty``, which stands for a document that is not there.

        ``private``: in a directory, for the owner's eyes alone. ``expendable``: where the document is damaged, it is
        as if it were not there. ``announce`` tells readers that the document is about to change, or has changed.
        """
        self._objects, self._key, self._codec = objects, key, codec
        self._empty, self._private, self._expendable = empty, private, expendable
        self._announce = announce
        self._last: tuple[str | None, T] = (None, empty)
        """The tag of the document when it was read last, ``None`` where there was none, and its value."""

    @property
    def tag(self) -> str | None:
        """The tag of the document when it was read last, ``None`` where there was none."""
        return self._last[0]

    def read(self) -> T:
        """Return the present value; an unchanged document is not transferred again. Raises ``DamagedDocument``."""
        tag, value = self._last
        found = self._objects.read(self._key) if tag is None else self._objects.read_if_changed(self._key, tag)
        if found is not UNCHANGED:
            value = self._value(None if found is None else found.data, expendable=self._expendable)
            self._last = (None if found is None else found.tag, value)
        return value

    def edit(
        self, change: Callable[[T, str], tuple[T, Result]], *, takes_away: bool = False, mends: bool = False
    ) -> Result:
        """Put what a change makes of the value in its place, exactly once; return what it returned beside.

        ``change`` gets the newest value and the ID of the write, once more where somebody else was quicker; what it
        returned in the try that was stored is returned. A value that it leaves as it is leaves the document. So does
        an error that it raises. Killed at any instant, the document is the old one or the new one. A damaged one is
        never overwritten, but by a change that ``mends`` it. One that only ``takes_away`` rights may use the store's
        reserve on a full disk. Raises ``DamagedDocument``, and what ``change`` and ``Objects.edit`` raise.
        """

        def changed(data: bytes | None, write: str) -> tuple[bytes | None, tuple[bool, Result]]:
            before = self._value(data, expendable=mends or self._expendable)
            after, result = change(before, write)
            if after == before:
                return None, (False, result)
            self._announce()
            mark = write if self._codec.needs_write(self._objects) else None
            return self._codec.encode(after, data, mark), (True, result)

        objects = self._objects.with_reserve() if takes_away else self._objects
        is_new, result = objects.edit(self._key, changed, private=self._private).result
        if is_new:
            self._announce()
        return result

    def _value(self, data: bytes | None, *, expendable: bool) -> T:
        if data is None:
            return self._empty
        try:
            value: T = self._codec.decode(data, f"{self._objects.location}/{self._key}")
        except DamagedDocument:
            if expendable:
                return self._empty
            raise
        return value
