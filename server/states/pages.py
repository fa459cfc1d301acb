"""What the processes of a machine tell each other of their troubles: a page of each in the cache directory.

A page has a fixed size and is overwritten in place, so that it can be written on a full disk too. A process that
hangs or is gone is known by the age of its page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from server.processes.living import is_alive
from server.states.states import States, Trouble
from server.states.table import ROWS
from snapshots.store.durable import allocate, make_directory, writing
from snapshots.store.store import Store

FOLDER: Final = "states"
PAGE: Final = 1 << 15
MOST: Final = 200
"""Troubles that a page has place for."""
WRITE_MS: Final = 2_000
"""Milliseconds between two writings of what has not changed."""
LOST_MS: Final = 30_000
"""Milliseconds after which the page of a process that says nothing any more does not count."""


class Page(msgspec.Struct, frozen=True):
    """What a process wrote."""

    written_at: int
    """Milliseconds of ``steady_ms``."""
    troubles: tuple[Trouble, ...]


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(Page)


class StatesPage:
    """The page of one process, written by one thread."""

    def __init__(self, store: Store, states: States, steady: Callable[[], int]) -> None:
        self._root = store.root
        self._path = page_of(store, states)
        self._states = states
        self._steady = steady
        self._written: Page | None = None

    def write(self) -> None:
        """Write what is wrong, where it has changed or was written long ago. Raises ``StoreError``."""
        now, troubles = self._steady(), tuple(self._states.troubles()[:MOST])
        written = self._written
        if written is not None and written.troubles == troubles and 0 <= now - written.written_at < WRITE_MS:
            return
        if not self._root.is_dir():  # moved or unmounted: nobody would look for anything in its old place
            return
        page = Page(now, troubles)
        with writing(self._path):
            make_directory(self._path.parent)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
            try:
                if os.fstat(file).st_size != PAGE:
                    os.ftruncate(file, 0)
                    allocate(file, 0, PAGE)
                os.pwrite(file, msgspec.json.encode(page).ljust(PAGE), 0)
            finally:
                os.close(file)
        self._written = page

    def take_back(self) -> None:
        """Delete the page: the process ends."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def page_of(store: Store, states: States) -> Path:
    """Return the path of a process's page."""
    return store.cache / FOLDER / f"{states.name}.json"


class MachineStates:
    """The troubles of all processes of a machine. Any number of threads may use it."""

    def __init__(self, store: Store, own: States, steady: Callable[[], int]) -> None:
        """``own`` are those of this process, which need no page to be known here."""
        self._folder = store.cache / FOLDER
        self._own = own
        self._own_page = page_of(store, own)
        self._steady = steady

    def troubles(self) -> list[Trouble]:
        """Return all that is wrong: of what several processes know, the one that has lasted the longest."""
        now = self._steady()
        found: dict[tuple[str, str], Trouble] = {}
        told = (trouble for page in self._pages(now) for trouble in page.troubles)
        # During a reload, the other processes may be of a version whose table has more rows.
        for one in [*self._own.troubles(), *(trouble for trouble in told if trouble.what in ROWS)]:
            known = found.get((one.what, one.workspace))
            if known is None or one.since < known.since:
                found[one.what, one.workspace] = one
        return [one for _, one in sorted(found.items())]

    def _pages(self, now: int) -> list[Page]:
        pages = []
        for path in self._folder.glob("*-[0-9]*.json"):
            if path == self._own_page:
                continue
            page = None
            with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):  # torn: it is being written
                page = _decoder.decode(path.read_bytes())
            if page is not None and abs(now - page.written_at) < LOST_MS:
                if is_alive(int(path.stem.rpartition("-")[2])):  # one that was killed knows nothing any more
                    pages.append(page)
            elif page is not None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return pages
