"""The page views of one workspace as they were at one instant: counts, rows in files, and segments still on their way.

``counts/today.parquet`` alone says what is counted and has rows in files. So an instant is a span of time in which that
document stays as it is: of the segments, those that it does not hold, and of the files of rows, those up to the number
in it. In a directory, the writer is kept away meanwhile; in a bucket, it is looked again until nobody has written.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from engine.backup.layout import segment_key
from engine.views.collecting.spool import SPOOL, VIEWS
from engine.views.collecting.targets import day_of
from engine.views.counting.count_files import NO_DIGEST, CountState, held
from engine.views.counting.count_rows import CountsDamaged, damaged
from engine.views.gathering import analysts_file
from engine.views.gathering.analysts_file import FILE, FileBusy, FileDamaged
from engine.views.gathering.layout import SPOOL as SENT
from engine.views.gathering.layout import counts_key, day_and_number, today_key
from engine.views.gathering.pulled_counts import opened
from engine.views.gathering.repair import ViewFiles
from snapshots.store.durable import StoreError, reading
from snapshots.store.objects import UNCHANGED, ListedObject, MissingObject, Objects
from snapshots.store.store import WorkspaceStore

_LOOKS: Final = 20


class SavedViews(msgspec.Struct, frozen=True):
    """The page views of a workspace at one instant."""

    documents: dict[str, Path]
    """By key in a backup, files with the content: counts, segments, and the analysts' file where it alone has rows."""
    rows: list[ListedObject]
    """The files of rows."""
    complaint: str | None = None
    """What is wrong with the counts."""


def saved_views(workspace_store: WorkspaceStore, folder: Path) -> SavedViews:
    """Copy the views of a workspace, without the files of rows, into an empty ``folder``.

    Raises ``StoreError``, in a bucket also where others went on writing.
    """
    files = ViewFiles.of(workspace_store)
    if files.views is not None and not files.views.is_dir():
        return SavedViews({}, [])
    with files.held():
        for look in range(_LOOKS):
            into = folder / str(look)
            into.mkdir(parents=True)
            with suppress(MissingObject):
                found = _Look(files, into).views()
                if found is not None:
                    return found
    raise StoreError(
        f"{workspace_store.objects.location}/{workspace_store.id}/{VIEWS} was changed again and again while it was "
        "copied. Run the command again."
    )


class _Look:
    """One look at the views, which holds if the counts stay as they are meanwhile."""

    def __init__(self, files: ViewFiles, folder: Path) -> None:
        self._files, self._objects, self._folder = files, files.objects, folder
        self._documents: dict[str, Path] = {}

    def views(self) -> SavedViews | None:
        """Return the views; ``None`` where the counts have changed. Raises ``MissingObject`` where a part is gone."""
        workspace, key = self._files.workspace, today_key(self._files.workspace)
        today = self._objects.read(key)
        state: CountState | None = CountState()
        complaint = None
        if today is not None:
            try:
                state = opened(today.data, f"{self._objects.location}/{key}")
            except CountsDamaged as error:
                state, complaint = None, str(error)
            self._put(key, today.data)
        if state is not None and state.base is not None:
            base = self._objects.read(counts_key(workspace, state.base))
            if base is not None:
                self._put(counts_key(workspace, state.base), base.data)
            else:  # gone with counts that were replaced; if these were not, it is missing
                complaint = str(
                    damaged(Path(f"{self._objects.location}/{counts_key(workspace, state.base)}"), "missing")
                )
        for sender, number, read in self._segments():
            if state is None or number > held(state, sender):
                self._put(segment_key(workspace, sender, number), read())
        # Counts without a seal are those of an older program, which does not know of files of rows.
        is_known = today is not None and state is not None and state.sha256 != NO_DIGEST
        rows = self._rows(state.filing.number if is_known and state is not None else None)
        self._keep_old_rows(state if is_known else None)
        if today is None:
            return None if self._objects.read(key) is not None else SavedViews(self._documents, rows)
        is_same = self._objects.read_if_changed(key, today.tag) is UNCHANGED
        return SavedViews(self._documents, rows, complaint) if is_same else None

    def _put(self, key: str, data: bytes) -> None:
        path = self._folder / str(len(self._documents))
        path.write_bytes(data)
        self._documents[key] = path

    def _segments(self) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        """The segments that are there, as (sender, number, what reads it)."""
        if self._files.views is None:
            for one in self._objects.names(f"{SENT}/{self._files.workspace}"):
                *_, sender, name = one.key.split("/")
                stem = name.removesuffix(".ndjson")
                if stem != name and stem.isascii() and stem.isdigit():
                    yield sender, int(stem), _reading(self._objects, one.key)
            return
        for path in sorted((self._files.views / SPOOL).glob("[!.]*/*.ndjson")):
            state, _, number = path.stem.partition("-")
            if state in {"open", "sealed"} and number.isascii() and number.isdigit():
                yield path.parent.name, int(number), _reading_file(path)

    def _rows(self, last: int | None) -> list[ListedObject]:
        listed = self._objects.names(f"{self._files.workspace}/{VIEWS}")
        found = []
        for one in listed:
            at = day_and_number(one.key)
            if at is not None and (last is None or at[1] <= last):
                found.append(one)
        return found

    def _keep_old_rows(self, state: CountState | None) -> None:
        """Copy the analysts' file of a directory where it may have rows of days of which no file has all: an older
        program filed none. The writer, which alone changes it, is kept away. ``state`` is ``None`` where it is not
        known which rows are in files."""
        if self._files.views is None or not (self._files.views / FILE).exists():
            return
        if state is not None and not state.filing.kept_from:
            return
        with suppress(FileBusy, FileDamaged):
            with analysts_file.opened(self._files.views) as connection:
                kept_from = analysts_file.kept_from(connection)
            if state is not None and kept_from is not None and kept_from >= day_of(state.filing.kept_from):
                return
        for path in sorted(self._files.views.glob(f"{FILE}*")):
            if path.name in {FILE, f"{FILE}.wal"}:
                copied = self._folder / path.name
                with reading(path):
                    shutil.copyfile(path, copied)
                self._documents[f"{self._files.workspace}/{VIEWS}/{path.name}"] = copied


def _reading(objects: Objects, key: str) -> Callable[[], bytes]:
    def read() -> bytes:
        found = objects.read(key)
        if found is None:
            raise MissingObject(f"{key} is gone.")
        return found.data

    return read


def _reading_file(path: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        sealed = path.with_name(path.name.replace("open-", "sealed-"))
        for name in (path, sealed):  # it may be sealed meanwhile
            with reading(name), suppress(FileNotFoundError):
                data = name.read_bytes()
                return data[: data.rfind(b"\n") + 1]  # a line without an end was never acknowledged
        raise MissingObject(f"{path} is gone.")

    return read
