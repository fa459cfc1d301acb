"""Tables as CSV files and workbooks: a file or a folder of them, each table of which becomes an API."""

from __future__ import annotations

from collections.abc import Iterator

from snapshots.importers.export import Export
from snapshots.importers.kinds.tables.sources import TableSource, sources_of
from snapshots.importers.kinds.tables.table import Table
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import endpoints
from snapshots.model import FieldType


def read(export: Export) -> Imported:
    """Return the rows of the tables of a file, or of all files in a folder, which are read twice."""
    sources = sources_of(export)
    if export.api is not None and len(sources) > 1:
        name = "a sheet with --sheet" if export.path.is_file() else "one file"
        raise Unreadable(f"{export.path} has {len(sources)} tables, and --api names one API. Name {name}.")
    names = _endpoints(sources, export)
    tables = [(source, _noted(source, names[at], export)) for at, source in enumerate(sources)]
    codes = dict.fromkeys(code for _, table in tables for code in table.languages)
    main = export.language or next(iter(codes), "en")
    languages = list(dict.fromkeys([main, *codes]))
    return Imported([table.plan for _, table in tables], _versions(tables, export), languages)


def _endpoints(sources: list[TableSource], export: Export) -> list[str]:
    """Return the endpoint of each table."""
    if export.api is not None:
        made = endpoints([export.api])[export.api]
        if made != export.api:
            raise Unreadable(f"--api: {export.api!r} is not the name of an API: write it like {made!r}.")
        return [export.api]
    called = [source.name for source in sources]
    distinct = [name if name not in called[:at] else f"{name} {at + 1}" for at, name in enumerate(called)]
    by_name = endpoints(distinct)
    return [by_name[name] for name in distinct]


def _noted(source: TableSource, endpoint: str, export: Export) -> Table:
    names = source.columns()
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        why = "it is there more than once: only the first is imported"
        export.losses.add(source.label, f"the column {name!r}", why)
    table = Table(endpoint, source.name if export.api is None else endpoint, filter(None, names), export.losses)
    for _, cells in source.rows():
        table.note(_row(names, cells))
    table.settle()
    return table


def _row(names: list[str], cells: list[str]) -> dict[str, str]:
    row: dict[str, str] = {}
    for name, cell in zip(names, cells, strict=False):
        if name:
            row.setdefault(name, cell)
    return row


def _versions(tables: list[tuple[TableSource, Table]], export: Export) -> Iterator[ImportedVersion]:
    for source, table in tables:
        names = source.columns()
        images = [field.id for field in table.plan.fields if field.type is FieldType.IMAGE]
        for where, cells in source.rows():
            unnamed = [*(cell for name, cell in zip(names, cells, strict=False) if not name), *cells[len(names) :]]
            if any(unnamed):
                export.losses.add(where, "cells of a row", "they stand in a column without a name")
            version = table.version(_row(names, cells), where)
            for field in images:
                url = version.values.get(field)
                if isinstance(url, str) and ":" not in url and not url.startswith("/"):
                    file = source.folder / url
                    version.values[field] = export.copies.address([file], source.folder, url, url, where)
            yield version
