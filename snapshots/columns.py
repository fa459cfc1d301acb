"""The names and types of the columns in a snapshot's Parquet files, for an API and its languages (design section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from snapshots.model import GROUP_KIND, META_DATES, TEXT_TYPES, Api, Field, ValueKind, Workspace

OWN: Final = "_"
"""The last column of a data file, since format 5: a struct of all that only readers need. What it holds was in columns
of their own before, and is named here as it was then: ``own_member`` has the name in the struct."""
JSON_COLUMN = "_json"
"""The fields (not the meta fields) as one compiled JSON object, references as IDs."""
DRAFT_KEY_COLUMN = "draft_key"
"""In files of drafts only: the draft key as the content file gives it, NULL where it is derived."""


REFERENCE_API: Final = "api"
REFERENCE_ID: Final = "id"
"""The members of a reference to one of several APIs: the endpoint, null where the content names none, and the ID."""

DIGEST_COLUMN: Final = "_digest"
"""Of published versions, since format 4: a digest of what the row's version says, 64 bits. Rows of two files
with equal ones say the same, dates and ID included; their live windows are not in it."""

SEARCH_COLUMNS: Final = ("field", "first", "token", "rows")
"""The columns of a search index (``search/index.py``)."""


ALL: Final = "all"
"""The name of the segment of an API that has only one."""
SEGMENT_ENTRIES: Final = 8192
"""The most entries of a segment."""


class FileKind(StrEnum):
    """The kinds of data files. Each has a row for a version in its segment, or one for a token and block of rows."""

    PUBLISHED = "published"
    """Published and scheduled versions: ``<lang>/<endpoint>/<segment>.parquet``."""
    DRAFTS = "drafts"
    """Unpublished changes: ``_drafts/<lang>/<endpoint>/<segment>.parquet``; nothing but a preview opens these."""
    SEARCH = "search"
    """The search index of the published rows: ``_search/<lang>/<endpoint>/<segment>.parquet``."""


_FOLDERS: Final = {FileKind.PUBLISHED: "", FileKind.DRAFTS: "_drafts/", FileKind.SEARCH: "_search/"}
"""No language is called as these."""


def file_path(kind: FileKind, lang: str, endpoint: str, segment: str) -> str:
    """Return the path of a data file in its version. What ``<lang>/<endpoint>/*.parquet`` matches are the published
    rows of an API in a language, all of them and nothing else."""
    return f"{_FOLDERS[kind]}{lang}/{endpoint}/{segment}.parquet"


class ColumnType(StrEnum):
    TEXT = "text"
    DOUBLE = "double"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    """UTC milliseconds."""
    STRUCT = "struct"
    """The columns of ``Column.inside``."""


class Column(msgspec.Struct, frozen=True):
    name: str
    type: ColumnType
    nullable: bool = True
    is_list: bool = False
    """A list of such values, never NULL: no value is an empty list."""
    inside: tuple[Column, ...] = ()


_TYPES = {
    ValueKind.TEXT: ColumnType.TEXT,
    ValueKind.NUMBER: ColumnType.DOUBLE,
    ValueKind.INSTANT: ColumnType.TIMESTAMP,
    ValueKind.BOOLEAN: ColumnType.BOOLEAN,
    ValueKind.OPTION: ColumnType.TEXT,
    ValueKind.ENTRY: ColumnType.TEXT,
    ValueKind.JSON: ColumnType.TEXT,
}


def indexed_fields(api: Api) -> list[str]:
    """Return the fields that the index of an API's files covers: all that are searched."""
    return [field.id for field in api.fields if field.type in TEXT_TYPES]


def search_column(field_id: str) -> str:
    """Return the column with a text field's visible text, NFC and lower-cased (decisions 14 and 37)."""
    return f"{field_id}__search"


def window_columns(lang: str) -> tuple[str, str]:
    """Return the two columns with the live window of the entry's version in ``lang``; NULL without such a version."""
    return f"_{lang}_from", f"_{lang}_until"


def field_column(field: Field) -> Column:
    """Return the typed column of a field."""
    facts = field.type.facts
    inside = tuple(_inside(field))
    kind = ColumnType.STRUCT if inside else _TYPES[facts.kind]
    return Column(field.id, kind, not facts.is_array, facts.is_array, inside)


def stored_form(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return fields as they decide what files hold of the same values, and what readers make of those files: without
    their names and descriptions, and without what only decides which values are allowed.

    What is made from fields is named by this, so that it takes in whatever a field comes to have.
    """
    return tuple(
        replace(
            field,
            name="",
            required=False,
            options=None,
            description=UNSET,
            renamed_from=UNSET,
            fields=UNSET if field.fields is UNSET else stored_form(field.fields),
            groups=UNSET
            if field.groups is UNSET
            else tuple(replace(group, name="", fields=stored_form(group.fields)) for group in field.groups),
        )
        for field in fields
    )


def _inside(field: Field) -> Iterator[Column]:
    """Return the columns of one value that is an object."""
    record = field.type.facts.record
    if record is not None:
        for member in record.members:
            yield Column(member.name, ColumnType.TEXT if member.unit is None else ColumnType.INTEGER)
    if field.targets is not UNSET:
        yield Column(REFERENCE_API, ColumnType.TEXT)
        yield Column(REFERENCE_ID, ColumnType.TEXT)
    if field.groups is not UNSET:
        yield Column(GROUP_KIND, ColumnType.TEXT)
    for kind in field.kinds:
        members = tuple(map(field_column, kind.fields))
        if not kind.id:
            yield from members
        elif members:  # no Parquet file holds a struct without members; the kind's name says all there is to say
            yield Column(kind.id, ColumnType.STRUCT, inside=members)


def own_member(name: str) -> str:
    """Return the name that a column of ours has in the struct ``OWN``."""
    return name.removeprefix("_")


def windows_of(workspace: Workspace, api: Api, lang: str, kind: FileKind) -> tuple[str, ...]:
    """Return the languages whose live windows a file's rows hold: in the main language, to which requests fall back,
    the API's others."""
    if lang != workspace.main_language or kind is not FileKind.PUBLISHED:
        return ()
    return tuple(other for other in workspace.languages_of(api) if other != lang)


def own_columns(workspace: Workspace, api: Api, lang: str, kind: FileKind) -> Iterator[Column]:
    """Return the columns of a data file that only readers need, in order."""
    for other in windows_of(workspace, api, lang, kind):
        for name in window_columns(other):
            yield Column(name, ColumnType.TIMESTAMP)
    if kind is FileKind.DRAFTS:
        yield Column(DRAFT_KEY_COLUMN, ColumnType.TEXT)
    else:
        yield Column(DIGEST_COLUMN, ColumnType.INTEGER, nullable=False)
    for field in api.fields:
        if field.type in TEXT_TYPES:
            yield Column(search_column(field.id), ColumnType.TEXT)
    yield Column(JSON_COLUMN, ColumnType.TEXT, nullable=False)


def own_column(own: Iterable[Column]) -> Column:
    """Return the column of a data file that has what only readers need."""
    inside = tuple(replace(column, name=own_member(column.name)) for column in own)
    return Column(OWN, ColumnType.STRUCT, nullable=False, inside=inside)


def public_columns(api: Api) -> Iterator[Column]:
    """Return the columns of a data file that say something to everybody, in order."""
    yield Column("id", ColumnType.TEXT, nullable=False)
    for name in (*META_DATES, "live_from", "live_until"):
        yield Column(name, ColumnType.TIMESTAMP, nullable=False)
    yield from map(field_column, api.fields)


def columns(workspace: Workspace, api: Api, lang: str, kind: FileKind) -> Iterator[Column]:
    """Return the columns of one data file of the newest format, in order."""
    yield from public_columns(api)
    yield own_column(own_columns(workspace, api, lang, kind))


def columns_before_segments(
    workspace: Workspace, api: Api, lang: str, kind: FileKind, *, has_digests: bool
) -> Iterator[str]:
    """Return the names of the columns of a data file of an older format, in order."""
    yield from ("id", *META_DATES, "live_from", "live_until")
    for other in workspace.languages_of(api):
        if other != lang or kind is FileKind.DRAFTS:
            yield from window_columns(other)
    if kind is FileKind.DRAFTS:
        yield DRAFT_KEY_COLUMN
    elif has_digests:
        yield DIGEST_COLUMN
    for field in api.fields:
        yield field.id
        if field.type in TEXT_TYPES:
            yield search_column(field.id)
    yield JSON_COLUMN
