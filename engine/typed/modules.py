"""Print the module that ``cms types`` and ``_types`` give, for one workspace as one key reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from engine.typed.clients import microcms_client, python_client, typescript_client
from engine.typed.names import as_read
from engine.typed.python import python_types
from engine.typed.typescript import typescript_types
from snapshots.control_characters import CONTROL
from snapshots.model import Workspace


class Client(StrEnum):
    """The client in a module, by the values of ``client`` in a query string."""

    OWN = "true"
    NONE = "false"
    MICROCMS = "microcms"
    """One with the calls of microCMS's SDK."""


CLIENTS: Final[Mapping[str, Mapping[Client, Callable[..., str]]]] = {
    "typescript": {
        Client.OWN: typescript_client,
        Client.NONE: typescript_types,
        Client.MICROCMS: microcms_client,
    },
    "python": {Client.OWN: python_client, Client.NONE: python_types},
}
"""The printer of each module, by language and client."""


def any_key_module(workspace: Workspace, language: str, client: Client) -> str:
    """Return the source text of the module for all keys of a workspace, whatever they read."""
    return _printable(CLIENTS[language][client](workspace, any_key=True))


def key_module(workspace: Workspace, scope: frozenset[str] | None, language: str, client: Client) -> str:
    """Return the source text of the module for keys of one scope: the ``uid``s of APIs, or ``None`` for all.

    Other APIs are not named: references to them are IDs.
    """
    return _printable(CLIENTS[language][client](as_read(workspace, scope), any_key=False))


def _printable(source: str) -> str:
    """Return a source text with control characters as escapes, so that it can be shown in any terminal.

    They stand in strings and comments only, where TypeScript and Python both read the escapes.
    """
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", source)
