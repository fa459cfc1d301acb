"""One SQL statement with its values, and the statements a reader runs for itself."""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

import msgspec

from engine.cache.tables import rows_table
from engine.visibility import Visibility, epoch
from snapshots.model import Api, Workspace

Parameters = dict[str, object]


class Statement(msgspec.Struct, frozen=True):
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters


def epoch_statement(api: Api, visibility: Visibility, workspace: Workspace, now: int) -> Statement:
    """The last flip until ``now`` and the first after it, among the rows a request of this visibility may get."""
    parameters: Parameters = {"now": now}
    since, until, of_languages = epoch(visibility, workspace, parameters)
    return Statement(f"SELECT {since}, {until} FROM {rows_table(api)} WHERE {of_languages}", parameters)


def ids_statement(api: Api) -> Statement:
    """The IDs of all entries that have a version which is or was to be published."""
    return Statement(f'SELECT DISTINCT "id" FROM {rows_table(api)}', {})
