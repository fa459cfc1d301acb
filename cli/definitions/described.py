"""The workspace that a command describes for programs: in a store or its definitions, or behind a server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from cli import completion
from cli.location import choose_workspace
from cli.remote.server import KEY_VARIABLE, NoKey, Server, ServerRefused
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.typed.modules import Client
    from snapshots.model import Workspace

ServerUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        show_default=False,
        help="Ask a server instead of a store: the workspace's address, such as https://cms.example.com/v1/acme.",
    ),
]
ReadingKey: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        show_default=False,
        help="Describe only what this key can read: the prefix or name of a key in the store; with --url the whole "
        f"key, by default that in {KEY_VARIABLE}. References to other APIs are then IDs, and those to its own never "
        "are.",
        autocompletion=completion.keys,
    ),
]
_TOO_OLD: Final = 404
_PATIENCE: Final = 60.0
"""Seconds for which a server may ask to be asked again later: a check in CI must not fail for a moment's load."""


class NoDescription(ParquetryError):
    """The server does not describe workspaces: it is older than this command."""


@dataclass(frozen=True, slots=True)
class Described:
    """A workspace, as one key or all keys read it."""

    url: str | None
    key: str | None
    store: str | None
    workspace_id: str | None

    def __post_init__(self) -> None:
        """Raise ``BadParameter`` for a workspace that is named twice."""
        if self.url is not None and self.workspace_id is not None:
            raise typer.BadParameter("--url names the workspace too: leave --workspace-id out.")

    def module(self, language: str, client: Client) -> str:
        """Return the source text of its typed module. Raises ``UnknownKey``, ``NoKey`` and ``ServerRefused``."""
        from engine.typed.modules import any_key_module, key_module

        if self.url is not None:
            return _asked(self._server(self.url), f"_types/{language}?client={client.value}").decode()
        workspace = self._workspace()
        if self.key is None:
            return any_key_module(workspace, language, client)
        return key_module(workspace, self._scope(self.key), language, client)

    def document(self, public_url: str) -> dict[str, object]:
        """Return its OpenAPI document, for a server at ``public_url`` where it is in a store. Raises as ``module``."""
        from engine.typed.names import as_read
        from server.reference.workspace_document import workspace_document

        if self.url is not None:
            return _served_document(self._server(self.url))
        workspace = self._workspace()
        if self.key is not None:
            workspace = as_read(workspace, self._scope(self.key))
        return workspace_document(workspace, public_url)

    def _workspace(self) -> Workspace:
        return choose_workspace(self.store, self.workspace_id).workspace()

    def _scope(self, key: str) -> frozenset[str] | None:
        from engine.access.keys.access import AccessFile, find_key

        access = AccessFile(choose_workspace(self.store, self.workspace_id).workspace_store).read()
        return find_key(access.keys if access is not None else (), key).scope

    def _server(self, url: str) -> Server:
        key = self.key or os.environ.get(KEY_VARIABLE)
        if not key:
            raise NoKey(f"Set {KEY_VARIABLE} to an API key of {url}, or write the key behind --key.")
        return Server(url, key, patience=_PATIENCE)


def _asked(server: Server, target: str) -> bytes:
    try:
        return server.ask(target).body
    except ServerRefused as refused:
        if refused.status != _TOO_OLD:
            raise
        raise NoDescription(
            f"{server.url} has no {target.partition('?')[0]}: the server is older than this command. Upgrade it, or "
            "run the command on its store."
        ) from None


def _served_document(server: Server) -> dict[str, object]:
    """Return a server's document of a workspace, with the whole address of the server in it."""
    import msgspec

    found: dict[str, object] = msgspec.json.decode(_asked(server, "_openapi"))
    if found.get("servers") == [{"url": "/"}]:  # relative to the address that it came from
        found["servers"] = [{"url": server.url.removesuffix(f"/v1/{server.workspace}")}]
    return found
