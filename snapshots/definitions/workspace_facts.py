"""The facts of a workspace that one API's definition is checked against."""

from __future__ import annotations

from dataclasses import dataclass

from snapshots.definitions.shapes import WorkspaceShape
from snapshots.model import ApiKind


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """The facts of a workspace that an API's definition is checked against."""

    workspace: WorkspaceShape
    kinds: dict[str, ApiKind]
    """The kind of every well-formed API, by endpoint."""
    uids: dict[str, str]
    """The ``uid`` of every API, by endpoint."""
    complete: bool
    """False when some definition file could not be read: an endpoint may then only seem to be missing."""
