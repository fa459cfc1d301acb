"""Read the rows of CSV as spreadsheets and exports write it: with commas, semicolons or tabs, in UTF-8 or UTF-16."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from snapshots.importers.losses import Unreadable
from snapshots.importers.reading.json_items import MAX_ITEM

MOST_COLUMNS: Final = 2_000
"""Columns of a table."""

_DELIMITERS: Final = ",;\t"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
"""The marks with which UTF-16 begins."""
_WORKBOOK: Final = b"PK\x03\x04"


def columns(path: Path) -> list[str]:
    """Return the names of the columns, which the first row has, without white space around them.

    Raises ``Unreadable``, as ``rows`` does.
    """
    names = next(_read(path), None)
    if names is None:
        raise Unreadable(f"{path.name}:1: the first row has to name the columns, and there is none.")
    return names[1]


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return (line, cells) of every row below the first one that has a cell with a value: as many cells as there are
    columns, or more where a row is longer.

    Raises ``Unreadable``, with file and line.
    """
    read = _read(path)
    width = len(next(read, (1, []))[1])
    for line, cells in read:
        if any(cells):
            yield line, cells + [""] * (width - len(cells))


def _read(path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(MAX_ITEM)
    with path.open("rb") as opened:
        head = opened.read(4)
    if head == _WORKBOOK:
        raise Unreadable(
            f"{path.name} is a workbook or an archive: end its name with .xlsx, or save each sheet as CSV in UTF-8."
        )
    encoding = "utf-16" if head[:2] in _WIDE else "utf-8-sig"
    line = 1
    try:
        with path.open(encoding=encoding, newline="") as file:
            first = file.readline(MAX_ITEM)
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=first.count), strict=True)
            for row in reader:
                cells = row if line > 1 else _names(row, path.name)
                if len(cells) > MOST_COLUMNS:
                    raise Unreadable(f"{path.name}:{line}: more than {MOST_COLUMNS:,} columns.")
                yield line, cells
                line = reader.line_num + 1
    except csv.Error as error:
        raise Unreadable(f"{path.name}:{line}: broken CSV: {error}. Save it again.") from None
    except UnicodeError:
        raise Unreadable(f"{path.name}:{line}: not valid UTF-8. Save it as CSV in UTF-8.") from None


def _names(row: list[str], name: str) -> list[str]:
    names = [" ".join(cell.split()) for cell in row]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise Unreadable(f"{name}:1: the first row has to name the columns.")
    return names
