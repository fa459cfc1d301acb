"""Parts of lists (orders, conditions) in memory for later requests: bounded in bytes, the longest unused goes first.

One ``Kept`` serves all readers of a process, so that its bound is the process's. Names begin with the number of the
reader, which no two readers share, and hold all that decides about the part; so a part is never right for another
version, epoch or generation of view counts than its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

DEFAULT_BYTES: Final = 256 << 20
_OVERHEAD: Final = 1_000
"""Bytes of memory a part takes besides its arrays: its name and its objects."""


class KeptPart(Protocol):
    """A part that can be kept: it knows its size in memory."""

    @property
    def nbytes(self) -> int:
        """Bytes of the part's arrays."""


Name: TypeAlias = tuple[int, *tuple[Hashable, ...]]
"""The number of a reader, and what tells its parts apart."""
Kind = TypeVar("Kind", bound=KeptPart)


class Kept:
    """Parts by name, ``capacity`` bytes of them at most. Any number of threads may use it at the same time."""

    def __init__(self, capacity: int = DEFAULT_BYTES) -> None:
        self._capacity = capacity
        self._parts: OrderedDict[Name, KeptPart] = OrderedDict()
        self._making: dict[Name, Future[Any]] = {}
        self._lock = threading.Lock()
        self.size = 0
        """Bytes held."""

    def __contains__(self, name: Name) -> bool:
        return name in self._parts

    def get(self, name: Name) -> KeptPart | None:
        """Return the part of this name, ``None`` where it is not kept."""
        with self._lock:
            part = self._parts.get(name)
            if part is not None:
                self._parts.move_to_end(name)
            return part

    def put(self, name: Name, part: KeptPart) -> None:
        """Keep a part, unless it alone is larger than the capacity."""
        size = part.nbytes + _OVERHEAD
        with self._lock:
            if name in self._parts or size > self._capacity:
                return
            self._parts[name] = part
            self.size += size
            while self.size > self._capacity:
                _, oldest = self._parts.popitem(last=False)
                self.size -= oldest.nbytes + _OVERHEAD

    def obtain(self, name: Name, make: Callable[[], Kind], wait: float) -> Kind:
        """Return the part of this name, made by ``make`` where it is not kept, and kept from then on.

        Of several threads that ask at once one makes it, and the others wait, for ``wait`` seconds at most: after that,
        or where the one fails, each makes its own. Raises what ``make`` raises.
        """
        known = self.get(name)
        if known is not None:
            return cast("Kind", known)
        with self._lock:
            making = self._making.get(name)
            if making is None:
                mine = self._making[name] = Future()
        if making is not None:
            try:
                return cast("Kind", making.result(wait))
            except Exception:  # of any kind, since another request failed
                part = make()
                self.put(name, part)
                return part
        try:
            part = make()
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            self.put(name, part)
            mine.set_result(part)
            return part
        finally:
            with self._lock:
                del self._making[name]

    def forget(self, reader: int) -> None:
        """Drop all parts of a reader, which is closed."""
        with self._lock:
            for name in [name for name in self._parts if name[0] == reader]:
                self.size -= self._parts.pop(name).nbytes + _OVERHEAD
