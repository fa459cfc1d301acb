"""``cms types``: a workspace's entries and queries as types of a programming language, and a client that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli import completion
from cli.location import ChosenWorkspace, choose_workspace
from cli.options import StoreLocation, WorkspaceId, new_app
from cli.output import documents
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from snapshots.model import Workspace

app = new_app("Print types for a workspace, with or without a client.")

Client: TypeAlias = Annotated[bool, typer.Option("--client", help="Add a client that reads the workspace.")]
KeyName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help="Print only what this key (its prefix or name) can read. References to other APIs are then IDs, and "
        "those to its own never are.",
        autocompletion=completion.keys,
    ),
]


class TwoClients(ParquetryError):
    """Two clients were asked for, and a module has one."""


@app.command()
def typescript(
    client: Client = False,
    microcms: Annotated[
        bool,
        typer.Option("--microcms", help="Add a client with the calls of microCMS's SDK, instead of --client."),
    ] = False,
    key: KeyName = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Print types for TypeScript.

    One module without dependencies: entries by depth, queries, and a function that writes a query; with --client, also
    a class that reads the server with fetch, in browsers and in Node 18 and later. The module is for the current
    snapshot version or, before the first build, for the definitions.
    """
    from engine.typed.clients import microcms_client, typescript_client
    from engine.typed.typescript import typescript_types

    if client and microcms:
        raise TwoClients("--client and --microcms are two clients: choose one.")
    source = typescript_client if client else microcms_client if microcms else typescript_types
    chosen = choose_workspace(store, workspace_id)
    documents.write_source(source(_readable(chosen, key), any_key=key is None))


@app.command()
def python(
    client: Client = False, key: KeyName = None, store: StoreLocation = None, workspace_id: WorkspaceId = None
) -> None:
    """Print types for Python 3.11 and later.

    One module without dependencies: entries by depth, queries, and a function that writes a query; with --client, also
    a class that reads the server with the standard library. The module is for the current snapshot version or, before
    the first build, for the definitions.
    """
    from engine.typed.clients import python_client
    from engine.typed.python import python_types

    source = python_client if client else python_types
    chosen = choose_workspace(store, workspace_id)
    documents.write_source(source(_readable(chosen, key), any_key=key is None))


def _readable(chosen: ChosenWorkspace, key: str | None) -> Workspace:
    """Return the workspace, with the APIs that a key named by prefix or name can read. Raises ``UnknownKey``."""
    if key is None:
        return chosen.workspace()
    from engine.access.keys.access import AccessFile, find_key
    from engine.typed.names import as_read

    access = AccessFile(chosen.workspace_store).read()
    return as_read(chosen.workspace(), find_key(access.keys if access is not None else (), key).scope)
