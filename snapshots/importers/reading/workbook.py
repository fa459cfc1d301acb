"""Read the sheets of a workbook (.xlsx) row by row, and tell what of them is hidden, merged or never computed.

A workbook comes from elsewhere, so nothing in it is trusted: an archive that grows far beyond its size, document types
and entities, and rows or columns beyond what a sheet can have are refused before its cells are read.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

import msgspec

from snapshots.importers.losses import Losses, Unreadable
from snapshots.importers.reading.csv_rows import MOST_COLUMNS

EXTRA: Final = "parquetry[spreadsheet]"
_LEAST_LIMIT: Final = 1 << 28
_MAX_GROWTH: Final = 100
"""Bytes that a workbook may hold for each byte of its own, above ``_LEAST_LIMIT``."""
_MOST_MEMBERS: Final = 10_000
_MOST_ROWS: Final = 1 << 20
"""Rows that a sheet can have."""
_MOST_CELLS: Final = 20_000_000
"""Cells of a sheet, empty ones between others included."""
_CHUNK: Final = 1 << 18
_ZIP: Final = b"PK\x03\x04"
_COMPOUND: Final = b"\xd0\xcf\x11\xe0"
_ONLY_ZEROS: Final = re.compile(r"0{2,15}")
_REFERENCE: Final = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_OTHERS: Final = (
    ("mimetype", "an OpenDocument spreadsheet (.ods) or another document"),
    ("xl/workbook.bin", "a binary workbook (.xlsb)"),
    ("Index/Document.iwa", "a spreadsheet of Numbers"),
)
"""Members by which archives that are no such workbook are told."""


class Sheet(msgspec.Struct, frozen=True):
    """A sheet of a workbook."""

    name: str
    is_hidden: bool


class _Shape(msgspec.Struct):
    """What the XML of a sheet says besides the values of its cells."""

    hidden_rows: set[int] = msgspec.field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = msgspec.field(default_factory=list)
    merged: list[str] = msgspec.field(default_factory=list)
    formulas: int = 0
    links: int = 0
    pictures: int = 0
    spanned: int = 0

    def hides(self, column: int) -> bool:
        """Return whether a column, counted from 1, is hidden."""
        return any(first <= column <= last for first, last in self.hidden_columns)


class Workbook:
    """A workbook that was looked through, and may be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _refuse_others(path)
        try:
            with zipfile.ZipFile(path) as archive:
                self._shapes = _looked_through(path, archive)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise Unreadable(f"{path.name}: the workbook cannot be read: {error}. Save it again.") from None
        self._values = self._opened(values=True)
        self._places = {sheet.title: sheet._worksheet_path for sheet in self._values.worksheets}

    @property
    def sheets(self) -> list[Sheet]:
        """Its sheets of cells, in their order."""
        return [Sheet(one.title, one.sheet_state != "visible") for one in self._values.worksheets]

    def rows(self, name: str, losses: Losses) -> Iterator[tuple[int, list[str]]]:
        """Return (row, cells) of every row of a sheet that is shown, without hidden columns, as texts that a CSV file
        would have; what is left out is added to ``losses``."""
        shape = self._shapes.get(self._places[name].lstrip("/"), _Shape())
        where = f"{self.path.name}:{name}"
        _tell(shape, where, losses)
        formulas = self._opened(values=False)[name] if shape.formulas else None
        sheet = self._values[name]
        for one in (sheet, *([] if formulas is None else [formulas])):
            one.reset_dimensions()
        written = formulas.iter_rows() if formulas is not None else None
        for number, row in enumerate(sheet.iter_rows(), 1):
            beside = next(written, ()) if written is not None else ()
            if number in shape.hidden_rows:
                continue
            cells = []
            for at, cell in enumerate(row):
                if shape.hides(at + 1):
                    continue
                text = _text(cell, f"{where}:{number}", losses)
                if cell.value is None and at < len(beside) and beside[at].data_type == "f":
                    why = "the workbook does not have its value: open it in a spreadsheet program, and save it"
                    losses.add(f"{where}:{number}", "the value of a formula", why)
                cells.append(text)
            yield number, cells

    def _opened(self, *, values: bool) -> Any:
        try:
            from openpyxl import load_workbook  # noqa: PLC0415 - an extra
        except ImportError:
            raise Unreadable(
                f"{self.path.name} is a workbook, and the package that reads them is not installed. "
                f"Install it: pip install '{EXTRA}'. Or save the sheet as CSV in UTF-8."
            ) from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it does not read either, such as validations
            try:
                return load_workbook(self.path, read_only=True, data_only=values, keep_links=False)
            except Exception as error:
                raise Unreadable(f"{self.path.name}: the workbook cannot be read: {error}. Save it again.") from None


def _refuse_others(path: Path) -> None:
    with path.open("rb") as opened:
        head = opened.read(4)
    if head == _COMPOUND:
        raise Unreadable(f"{path.name} has a password, or is an .xls workbook: save it as .xlsx without a password.")
    if head != _ZIP:
        raise Unreadable(f"{path.name} is no workbook (.xlsx). Save it as .xlsx, or as CSV in UTF-8.")


def _looked_through(path: Path, archive: zipfile.ZipFile) -> dict[str, _Shape]:
    """Return the shapes of the sheets by their paths in an archive that is fit to be read."""
    members = archive.infolist()
    names = {member.filename for member in members}
    other = next((what for name, what in _OTHERS if name in names), None)
    if "xl/workbook.xml" not in names:
        what = f"is {other}" if other is not None else "is an archive, and no workbook (.xlsx)"
        raise Unreadable(f"{path.name} {what}. Save it as .xlsx, or each sheet as CSV in UTF-8.")
    if len(members) > _MOST_MEMBERS:
        raise Unreadable(f"{path.name}: more than {_MOST_MEMBERS:,} members, which no workbook has.")
    if sum(member.file_size for member in members) > max(_LEAST_LIMIT, _MAX_GROWTH * path.stat().st_size):
        raise Unreadable(
            f"{path.name}: the workbook holds far more than its own size. If that is right, save each sheet as CSV."
        )
    found: dict[str, _Shape] = {}
    for member in members:
        if member.filename.lower().endswith((".xml", ".rels")):
            shape = _look_through(path, archive, member)
            if member.filename.startswith("xl/worksheets/"):
                found[member.filename] = shape
    return found


def _look_through(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Shape:
    reader = _ShapeReader(f"{path.name}:{member.filename}")
    with archive.open(member) as opened:
        while data := opened.read(_CHUNK):
            reader.feed(data)
    reader.feed(b"", is_end=True)
    return reader.shape


class _ShapeReader:
    """Reads XML without documents types, and what a sheet says besides values."""

    def __init__(self, name: str) -> None:
        self.shape = _Shape()
        self._name = name
        self._row = self._column = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start

    def feed(self, data: bytes, *, is_end: bool = False) -> None:
        try:
            self._parser.Parse(data, is_end)
        except expat.ExpatError as error:
            raise Unreadable(f"{self._name}: broken XML: {expat.ErrorString(error.code)}. Save it again.") from None

    def _refuse(self, *_declared: object) -> None:
        raise Unreadable(f"{self._name}: it declares a document type, which no workbook does, so it is not read.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        shape = self.shape
        match name.rpartition(" ")[2]:
            case "row":
                self._row = self._number(attributes.get("r"), self._row + 1, _MOST_ROWS, "row")
                self._column = 0
                if attributes.get("hidden") in ("1", "true"):
                    shape.hidden_rows.add(self._row)
            case "c":
                self._cell(attributes.get("r"))
            case "f":
                shape.formulas += 1
            case "col" if attributes.get("hidden") in ("1", "true"):
                first = self._number(attributes.get("min"), 1, 1 << 14, "column")
                last = self._number(attributes.get("max"), first, 1 << 14, "column")
                shape.hidden_columns.append((first, last))
            case "mergeCell":
                shape.merged.append(attributes.get("ref", ""))
            case "hyperlink":
                shape.links += 1
            case "drawing" | "picture":
                shape.pictures += 1

    def _cell(self, reference: str | None) -> None:
        column = self._column + 1
        if reference is not None:
            found = _REFERENCE.fullmatch(reference)
            if found is None or int(found[2]) != self._row:
                raise Unreadable(f"{self._name}: the cell {reference[:20]!r} is in no row. Save the workbook again.")
            column = 0
            for letter in found[1]:
                column = column * 26 + ord(letter) - 64
        if column <= self._column:
            raise Unreadable(f"{self._name}: the cells of row {self._row} are not in order. Save the workbook again.")
        self.shape.spanned += column - self._column
        self._column = column
        if self.shape.spanned > _MOST_CELLS:
            raise Unreadable(f"{self._name}: more than {_MOST_CELLS:,} cells. Save the sheet as CSV in UTF-8.")

    def _number(self, text: str | None, otherwise: int, most: int, what: str) -> int:
        if text is None:
            return otherwise
        number = int(text) if text.isdecimal() and len(text) < 12 else 0
        if not (1 <= number <= most) or (what == "row" and number <= self._row):
            raise Unreadable(f"{self._name}: {text[:20]!r} is no {what} that a sheet can have, or is out of order.")
        return number


def _tell(shape: _Shape, where: str, losses: Losses) -> None:
    """Add what is left out of a whole sheet to the losses."""
    if shape.hidden_rows:
        why = "what is hidden, by hand or by a filter, may not be for everybody: show the rows to import them"
        losses.add(f"{where}:{min(shape.hidden_rows)}", "a hidden row", why, count=len(shape.hidden_rows))
    if shape.hidden_columns:
        why = "what is hidden may not be for everybody: show the columns to import them"
        count = sum(
            min(last, MOST_COLUMNS) - first + 1 for first, last in shape.hidden_columns if first <= MOST_COLUMNS
        )
        losses.add(where, "a hidden column", why, count=max(count, 1))
    if shape.merged:
        why = "only the first cell has the value: where each row is to have it, unmerge them and fill them in"
        losses.add(f"{where}:{shape.merged[0]}", "merged cells", why, count=len(shape.merged))
    if shape.links:
        losses.add(where, "the address of a link", "only the text of its cell is imported", count=shape.links)
    if shape.pictures:
        losses.add(where, "pictures and charts", "only cells are imported", count=shape.pictures)


def _text(cell: Any, where: str, losses: Losses) -> str:
    """Return a cell as a CSV file has it."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        losses.add(where, f"a cell with the error {value}", "its formula has no value")
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        rounded = value.replace(microsecond=0) + timedelta(seconds=round(value.microsecond / 1_000_000))
        return rounded.date().isoformat() if rounded.time() == time() else rounded.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, str(getattr(cell, "number_format", "")))
    return str(value)


def _number(value: float, form: str) -> str:
    """Return a number with the 15 digits of spreadsheets, and the zeros before it that its format shows."""
    plain = format(Decimal(f"{value:.15g}"), "f") if isfinite(value) else ""
    if _ONLY_ZEROS.fullmatch(form) and plain.isdecimal():
        return plain.zfill(len(form))
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
