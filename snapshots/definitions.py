"""workspace.yaml and apis/*.yaml → the workspace's definitions, or every problem in them (workspace-format)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snapshots.model import Workspace
from snapshots.problems import Problems


@dataclass(frozen=True, slots=True)
class ApiSource:
    """Where an API's versions come from: files, and where in them each value is read."""

    patterns: tuple[str, ...]
    """``source``; empty means the default sources."""
    id: str | None
    """The template an ID is built from, such as ``{platform}-{name}``."""
    meta: tuple[tuple[str, str], ...]
    """(``createdAt``, ``publishStart``, …; the expression it is read from)."""
    lang_map: dict[str, str]
    """A language as files spell it → as the workspace does; the workspace's and the API's together."""
    fields: dict[str, str]
    """Field ID → the expression its value is read from: a key, ``$body``, ``$name``, ``$path``, a named part
    (``$section``), a path inside a mapping (``bio.en``, ``bio.{lang}``) or a template (``{year}-{month}``)."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything a workspace defines, without its content."""

    workspace: Workspace
    sources: dict[str, ApiSource]
    """By the API's ``uid``."""
    files: dict[str, str]
    """An API's ``uid`` → its definition file, relative to the workspace."""
    read: tuple[str, ...]
    """Every definition file, the broken ones too: what ``definitions`` depends on."""


def load_workspace(root: Path, problems: Problems) -> Definitions | None:
    """The definitions of the workspace at ``root``; ``None`` when workspace.yaml itself cannot be used.

    APIs with errors are reported and left out, so that the others can still be checked.
    """
    raise ImportError("being written")
