"""CSV: a table, or a folder of them, each of which becomes an API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snapshots.importers.export import Export
from snapshots.importers.kinds.tables.table import Table
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import endpoints
from snapshots.importers.reading.csv_rows import columns, rows
from snapshots.model import FieldType


def read(export: Export) -> Imported:
    """Return the rows of a CSV file, or of all in a folder, which are read twice."""
    files = sorted(export.path.glob("*.csv")) if export.path.is_dir() else [export.path]
    if not files:
        raise Unreadable(f"{export.path} has no file that ends in .csv.")
    if export.api is not None and len(files) > 1:
        raise Unreadable(f"{export.path} has {len(files)} tables, and --api names one API. Name one file.")
    names = endpoints([export.api] if export.api is not None else [path.stem for path in files])
    if export.api is not None and names[export.api] != export.api:
        raise Unreadable(f"--api: {export.api!r} is not the name of an API: write it like {names[export.api]!r}.")
    tables = {
        path: _noted(path, endpoint, export) for path, endpoint in zip(files, names.values(), strict=True)
    }  # as many: two files of one folder have two names
    codes = dict.fromkeys(code for table in tables.values() for code in table.languages)
    main = export.language or next(iter(codes), "en")
    languages = list(dict.fromkeys([main, *codes]))
    return Imported([table.plan for table in tables.values()], _versions(tables, export), languages)


def _noted(path: Path, endpoint: str, export: Export) -> Table:
    names = columns(path)
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        export.losses.add(path.name, f"the column {name!r}", "it is there more than once: only the first is imported")
    table = Table(endpoint, path.stem if export.api is None else endpoint, filter(None, names), export.losses)
    for _, cells in rows(path):
        table.note(_row(names, cells))
    table.settle()
    return table


def _row(names: list[str], cells: list[str]) -> dict[str, str]:
    row: dict[str, str] = {}
    for name, cell in zip(names, cells, strict=False):
        if name:
            row.setdefault(name, cell)
    return row


def _versions(tables: dict[Path, Table], export: Export) -> Iterator[ImportedVersion]:
    for path, table in tables.items():
        names = columns(path)
        images = [field.id for field in table.plan.fields if field.type is FieldType.IMAGE]
        for line, cells in rows(path):
            where = f"{path.name}:{line}"
            unnamed = [*(cell for name, cell in zip(names, cells, strict=False) if not name), *cells[len(names) :]]
            if any(unnamed):
                export.losses.add(where, "cells of a row", "they stand in a column without a name")
            version = table.version(_row(names, cells), where)
            for field in images:
                url = version.values.get(field)
                if isinstance(url, str) and ":" not in url and not url.startswith("/"):
                    source = path.parent / url
                    version.values[field] = export.copies.address([source], path.parent, url, url, where)
            yield version
