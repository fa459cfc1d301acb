"""The tables of an export, CSV files and sheets of workbooks: the names of their columns, and their rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import msgspec

from snapshots.importers.export import Export
from snapshots.importers.losses import Unreadable
from snapshots.importers.reading import csv_rows
from snapshots.importers.reading.csv_rows import MOST_COLUMNS
from snapshots.importers.reading.workbook import Workbook

_CSV: Final = ".csv"
WORKBOOKS: Final = (".xlsx", ".xlsm")
_OTHERS: Final = {
    ".ods": "an OpenDocument spreadsheet",
    ".xls": "a workbook of before 2007",
    ".xlsb": "a binary workbook",
    ".numbers": "a spreadsheet of Numbers",
}


class TableSource(Protocol):
    """A table whose first row names the columns."""

    name: str
    """The name that a person gave it."""
    label: str
    """Names it in a report."""
    folder: Path
    """The folder in which the pictures beside it are."""

    def columns(self) -> list[str]:
        """Return the names of the columns."""

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Return (place, cells) of every row below that has a value: as many cells as columns, or more."""


class CsvSource:
    """A CSV file."""

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.label, self.folder = path, path.stem, path.name, path.parent

    def columns(self) -> list[str]:
        return csv_rows.columns(self.path)

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        return ((f"{self.path.name}:{line}", cells) for line, cells in csv_rows.rows(self.path))


class SheetSource:
    """A sheet of a workbook, read once and kept in ``spool`` for the second time."""

    def __init__(self, name: str, label: str, folder: Path, spool: Path, names: list[str]) -> None:
        self.name, self.label, self.folder = name, label, folder
        self._spool, self._names = spool, names

    def columns(self) -> list[str]:
        return self._names

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        with self._spool.open("rb") as lines:
            for line in lines:
                number, cells = msgspec.json.decode(line, type=tuple[int, list[str]])
                yield f"{self.label}:{number}", cells + [""] * (len(self._names) - len(cells))


def sources_of(export: Export) -> list[TableSource]:
    """Return the tables of an export: a file, or all files of a folder. Raises ``Unreadable``."""
    path = export.path
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in (_CSV, *WORKBOOKS) and file.is_file())
        if not files:
            raise Unreadable(f"{path} has no file that ends in .csv or .xlsx.")
    else:
        files = [path]
    return [source for file in files for source in _sources(file, export)]


def _sources(path: Path, export: Export) -> Iterator[TableSource]:
    ending = path.suffix.lower()
    if ending in _OTHERS:
        raise Unreadable(
            f"{path.name} is {_OTHERS[ending]}, which is not read. Save it as .xlsx, or each sheet as CSV in UTF-8."
        )
    if ending not in WORKBOOKS:
        if export.sheet is not None:
            raise Unreadable(f"{path.name} is no workbook: --sheet names a sheet of one.")
        yield CsvSource(path)
        return
    workbook = Workbook(path)
    chosen = _chosen(workbook, export)
    for number, name in enumerate(chosen):
        spool = export.work / f"{path.name}.{number}.jsonl"
        names = _spooled(workbook, name, spool, export)
        if names:
            called = path.stem if len(chosen) == 1 and export.sheet is None else name
            yield SheetSource(called, f"{path.name}:{name}", path.parent, spool, names)
        elif export.sheet is not None or len(chosen) == 1:
            raise Unreadable(f"{path.name}:{name}: the first row has to name the columns, and there is none.")


def _chosen(workbook: Workbook, export: Export) -> list[str]:
    """Return the names of the sheets to read: the one that a person names, or all that are shown."""
    path, sheets = workbook.path, workbook.sheets
    if export.sheet is not None:
        if export.sheet not in [one.name for one in sheets]:
            named = ", ".join(repr(one.name) for one in sheets)
            raise Unreadable(f"{path.name} has no sheet {export.sheet!r}. It has {named}.")
        return [export.sheet]
    for one in sheets:
        if one.is_hidden:
            why = "what is hidden may not be for everybody: --sheet imports it"
            export.losses.add(f"{path.name}:{one.name}", "a hidden sheet", why)
    shown = [one.name for one in sheets if not one.is_hidden]
    if not shown:
        raise Unreadable(f"{path.name} has no sheet that is shown. --sheet names one that is hidden.")
    return shown


def _spooled(workbook: Workbook, name: str, spool: Path, export: Export) -> list[str]:
    """Write the rows of a sheet below the names of its columns to a file; return the names."""
    names: list[str] = []
    where = f"{workbook.path.name}:{name}"
    with spool.open("wb") as lines:
        for number, cells in workbook.rows(name, export.losses):
            while cells and not cells[-1]:
                cells.pop()
            if not cells:
                continue
            if len(cells) > MOST_COLUMNS:
                raise Unreadable(f"{where}:{number}: more than {MOST_COLUMNS:,} columns.")
            if not names:
                names = [" ".join(cell.split()) for cell in cells]
                continue
            lines.write(msgspec.json.encode((number, cells)) + b"\n")
    return names
