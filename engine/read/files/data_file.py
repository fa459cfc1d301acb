"""A data file of a snapshot as SQL: its rows, and from them the values of a table's columns (``tables``)."""

# ruff: noqa: S608 - identifiers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

from msgspec import UNSET

from engine.identifiers import quoted
from engine.read.files.tables import ROW, TableColumn, columns_of
from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, REFERENCE_ID, FileKind
from snapshots.model import KEPT_AS_FLAG, TEXT_TYPES, Api, FieldType, ValueKind

TITLE = quoted("@title")
"""The column of ``file_as_table`` with the value of the API's first text field."""
DRAFT_KEY = quoted("@draft_key")
"""The column of ``file_as_table`` with the draft key that the content file gives."""
JSON = quoted("@json")
"""The column of ``file_as_table`` with all fields, as JSON."""


def file_as_table(path: Path, api: Api, kind: FileKind, windows: Sequence[str] = ()) -> str:
    """Return a data file as a table with the columns of one whose texts are not indexed, and the three above; with the
    windows in some languages, which it has. It is read where it is, at each statement, and of its columns only those
    that the statement names."""
    values = {column.name: value_in_file(column, frozenset()) for column in columns_of(api, windows, is_indexed=False)}
    title = next((f"file.{quoted(field.id)}" for field in api.fields if field.type in TEXT_TYPES), "NULL::VARCHAR")
    key = f"file.{quoted(DRAFT_KEY_COLUMN)}" if kind is FileKind.DRAFTS else "NULL::VARCHAR"
    values |= {TITLE: title, DRAFT_KEY: key, JSON: f"file.{quoted(JSON_COLUMN)}"}
    named = ", ".join(f"{value} AS {name}" for name, value in values.items())
    return f"(SELECT {named} FROM {rows_of_file(path)})"


def rows_of_file(path: Path) -> str:
    """Return the rows of a file; the position in the file is ``file_row_number``."""
    return f"read_parquet({path_text(path)}, file_row_number=true, hive_partitioning=false) AS file"


def value_in_file(column: TableColumn, filled: Set[str]) -> str:
    """Return the value of a table's column from a row of the file. ``filled``: fields of which every row has a visible
    text."""
    field = column.field
    if column.name == ROW:
        return "file.file_row_number"
    if field is None:
        return f"epoch_ms(file.{column.name})" if column.type == "BIGINT" else f"file.{column.name}"
    name = f"file.{quoted(field.id)}"
    if field.type is FieldType.RICHTEXT:
        # What has visible text is not empty. Reading a million bodies only to see that takes as long as all the rest.
        return "true" if field.id in filled else f"coalesce({name} <> '', false)"
    if field.type in KEPT_AS_FLAG:
        return f"len({name}) > 0" if field.type.facts.is_array else f"{name} IS NOT NULL"
    if field.targets is not UNSET:
        return f"list_transform({name}, lambda _one: _one.{quoted(REFERENCE_ID)})"
    return f"epoch_ms({name})" if field.type.facts.kind is ValueKind.INSTANT else name


def path_text(path: Path) -> str:
    """Return a path as a text in SQL."""
    return "'" + str(path).replace("'", "''") + "'"
