"""``cms mcp``: find the content, and serve it to one agent on standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion
from cli.location import choose_workspace
from cli.options import StoreLocation, WorkspaceId, new_app
from cli.remote.server import KEY_VARIABLE, NoKey
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from cli.mcp.content import ContentSource

app = new_app()


class NotInstalled(ParquetryError):
    """The package of the protocol is not there."""


@app.command()
def mcp(
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            show_default=False,
            help=f"Ask a server instead, such as https://cms.example.com/v1/acme; {KEY_VARIABLE} has the key.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            show_default=False,
            help="Read only what this key of the store (its prefix or name) can read. Default: everything published.",
            autocompletion=completion.keys,
        ),
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Let an agent find, read and compare content.

    The command speaks the Model Context Protocol on standard input and output, so agents start it themselves. It only
    reads, and reads no drafts. It needs the extra: pip install "parquetry[mcp]".
    """
    try:
        from cli.mcp.tools import serve
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise NotInstalled('The package "mcp" is not installed. Install it: pip install "parquetry[mcp]".') from None
    serve(_content(url, key, store, workspace_id))


def _content(url: str | None, key: str | None, store: str | None, workspace_id: str | None) -> ContentSource:
    if url is not None:
        from cli.mcp.remote import ServedContent
        from cli.remote.server import Server

        if key is not None:
            raise typer.BadParameter(f"--key names a key of a store. With --url, {KEY_VARIABLE} has the whole key.")
        whole = os.environ.get(KEY_VARIABLE)
        if not whole:
            raise NoKey(f"Set {KEY_VARIABLE} to an API key of {url}.")
        return ServedContent(Server(url, whole))
    from cli.mcp.stored import StoredContent

    return StoredContent(choose_workspace(store, workspace_id), key)
