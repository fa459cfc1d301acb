"""Imported content: the APIs and language versions that an export holds, before they are written as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from snapshots.model import ApiKind, FieldType, Status, ValueKind

ASSET_BASE = "https://asset.invalid/"
"""Begins the address of a file that is copied into the workspace; its path there follows. It is never delivered."""


class GroupPlan(msgspec.Struct):
    """One kind of group of a field to define. The ``id`` is empty where the field has one kind only."""

    id: str
    name: str
    fields: list[FieldPlan]


class FieldPlan(msgspec.Struct):
    """A field to define. Content may change it: options it uses are added, what it lacks is not required."""

    id: str
    type: FieldType
    name: str = ""
    required: bool = False
    options: list[str] | None = None
    apis: list[str] = []
    """The endpoints that a reference may lead to; several for ``references`` only."""
    groups: list[GroupPlan] = []
    """The kinds of a group."""
    markdown: bool = False
    """Whether the export has the rich texts as Markdown."""

    @property
    def is_group(self) -> bool:
        return self.type.facts.kind is ValueKind.GROUP

    @property
    def is_reference(self) -> bool:
        return self.type.facts.kind is ValueKind.ENTRY


class ApiPlan(msgspec.Struct):
    """An API to define."""

    endpoint: str
    name: str
    fields: list[FieldPlan]
    kind: ApiKind = ApiKind.LIST
    multilingual: bool = False
    hidden: list[str] = []
    """The keys of fields by which published versions say that they may not be for everybody: those are left out."""


class ImportedVersion(msgspec.Struct):
    """One language version.

    ``values`` has, by field ID, what the field's type takes, as JSON: rich texts are HTML, or Markdown where the field
    says so, date-times are text or UTC milliseconds, references are entry IDs or ``{api, id}``, images and files are
    mappings with a ``url``, groups are mappings, with ``fieldId`` where there are several kinds. Wrong values are
    repaired or left out when they are written, and reported.
    """

    endpoint: str
    id: str
    values: dict[str, Any]
    lang: str | None = None
    """``None``: the main language."""
    is_draft: bool = False
    """Whether these are the unpublished changes of a version."""
    status: Status = Status.PUBLISHED
    created: Any = None
    """Dates, as text or UTC milliseconds; ``None`` where the export has none."""
    updated: Any = None
    published: Any = None
    publish_start: Any = None
    publish_end: Any = None
    draft_key: str | None = None
    where: str = ""
    """The place in the export, for the report."""


class Imported(msgspec.Struct):
    """The content of an export. ``versions`` are read while they are taken; the definitions are right only then."""

    apis: list[ApiPlan]
    versions: Iterator[ImportedVersion]
    languages: list[str]
    """The main language first."""
    name: str = ""
    exported: Any = None
    """The time of the export, for versions without any date."""
    address: Callable[[str], str | None] = lambda _url: None
    """Returns the address to write in place of one in a rich text; ``None`` leaves it unchanged."""
    has_empty_texts: bool = False
    """Whether an empty text is a value of its own in the source, and not the same as none."""
    classes: frozenset[str] = frozenset()
    """Classes in rich texts that are kept, and allowed in ``workspace.yaml`` where they are in use."""
