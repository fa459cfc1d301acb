"""Data files of a snapshot as SQL: their rows, and from them the values of a table's columns (``tables``)."""

# ruff: noqa: S608 - identifiers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

from msgspec import UNSET

from engine.identifiers import quoted
from engine.read.files.tables import TableColumn, columns_of
from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, OWN, REFERENCE_ID, FileKind, own_member
from snapshots.model import KEPT_AS_FLAG, TEXT_TYPES, Api, FieldType, ValueKind
from snapshots.store.manifest import SEGMENTS_SINCE, Manifest

TITLE = quoted("@title")
"""The column of ``files_as_table`` with the value of the API's first text field."""
DRAFT_KEY = quoted("@draft_key")
"""The column of ``files_as_table`` with the draft key that the content file gives."""
JSON = quoted("@json")
"""The column of ``files_as_table`` with all fields, as JSON."""


def files_as_table(paths: Sequence[Path], api: Api, kind: FileKind, manifest: Manifest) -> str:
    """Return data files of a version, which are of one API, language and kind, as a table with the columns of one whose
    texts are not indexed, and the three above. They are read where they are, at each statement, and of their columns
    only those that the statement names."""
    columns = columns_of(api, (), is_indexed=False)
    values = {column.name: value_in_file(column, frozenset(), manifest) for column in columns}
    title = next((f"file.{quoted(field.id)}" for field in api.fields if field.type in TEXT_TYPES), "NULL::VARCHAR")
    key = own_in_file(DRAFT_KEY_COLUMN, manifest) if kind is FileKind.DRAFTS else "NULL::VARCHAR"
    values |= {TITLE: title, DRAFT_KEY: key, JSON: own_in_file(JSON_COLUMN, manifest)}
    named = ", ".join(f"{value} AS {name}" for name, value in values.items())
    return f"(SELECT {named} FROM {rows_of_files(paths)})"


def rows_of_files(paths: Sequence[Path]) -> str:
    """Return the rows of some files. ``file_index`` says of each in which it is, and ``file_row_number`` at which
    position there."""
    listed = ", ".join(map(path_text, paths))
    return f"read_parquet([{listed}], file_row_number=true, hive_partitioning=false) AS file"


def own_in_file(name: str, manifest: Manifest) -> str:
    """Return a column that only readers need, from a row of a version's file."""
    if manifest.format < SEGMENTS_SINCE:
        return f"file.{quoted(name)}"
    return f"file.{quoted(OWN)}.{quoted(own_member(name))}"


def value_in_file(column: TableColumn, filled: Set[str], manifest: Manifest) -> str:
    """Return the value of a table's column from a row of a version's file. ``filled``: fields of which every row has a
    visible text."""
    field = column.field
    if field is None:
        name = f"file.{column.name}" if column.own is None else own_in_file(column.own, manifest)
        return f"epoch_ms({name})" if column.type == "BIGINT" else name
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
