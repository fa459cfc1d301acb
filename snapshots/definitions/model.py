"""What a workspace defines besides its content: the workspace, and where each API's versions come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from snapshots.documents.document import Document
from snapshots.model import Workspace

# Pydantic takes a while to import, and a build in which no definition changed needs none of it.
if TYPE_CHECKING:
    from snapshots.definitions.shapes import ApiShape


class ApiSource(msgspec.Struct, frozen=True):
    """Where an API's versions come from: files, and where in them each value is read."""

    patterns: tuple[str, ...]
    """``source``; empty means the default sources."""
    id: str | None
    """The template an ID is built from, such as ``{platform}-{name}``."""
    meta: tuple[tuple[str, str], ...]
    """(``createdAt``, ``publishStart``, …; the expression it is read from)."""
    lang_map: dict[str, str]
    """A language as files spell it → as the workspace does; the workspace's and the API's together."""
    id_map: dict[str, str]
    """What the ``id`` template gives, as written → the ID to use instead."""
    fields: dict[str, str]
    """Field ID → the expression its value is read from: a key, ``$body``, ``$name``, ``$path``, a named part
    (``$section``), a path inside a mapping (``bio.en``, ``bio.{lang}``) or a template (``{year}-{month}``)."""


class Definitions(msgspec.Struct, frozen=True):
    """Everything a workspace defines, without its content."""

    workspace: Workspace
    sources: dict[str, ApiSource]
    """By the API's ``uid``."""
    files: dict[str, str]
    """An API's ``uid`` → its definition file, relative to the workspace."""
    read: tuple[str, ...]
    """Every definition file, the broken ones too: what these definitions depend on."""


class WellFormed(msgspec.Struct, frozen=True):
    """An API's definition whose file has the right shape."""

    file: str
    document: Document
    shape: ApiShape
