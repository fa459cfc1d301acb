"""``cms mcp``: find the content, and serve it to one agent on standard input and output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import completion
from cli.location import choose_workspace, workspace_directory
from cli.options import StoreLocation, WorkspaceDirectory, WorkspaceId, new_app
from cli.remote.server import KEY_VARIABLE, NoKey
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from cli.mcp.content import ContentSource

app = new_app()

_PACKAGES: Final = {"mcp": "mcp", "markdownify": "markdownify", "bs4": "markdownify"}
"""The packages of the extra, by the names of their modules."""


class NotInstalled(ParquetryError):
    """The package of the protocol is not there."""


@app.command()
def mcp(
    workspace: WorkspaceDirectory = None,
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
            help="Read only what this key of the store (its prefix or name) can read. Default: what its owner can.",
            autocompletion=completion.keys,
        ),
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Let an agent find, read and compare content.

    The command speaks the Model Context Protocol on standard input and output, so agents start it themselves. It only
    reads, and reads no drafts. Without --key and --url it also tells what is scheduled and viewed, and the problems of
    the workspace's files. It needs the extra: pip install "parquetry[mcp]".
    """
    try:
        from cli.mcp.tools import serve
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _PACKAGES:
            raise
        raise NotInstalled(
            f'The package "{_PACKAGES[missing]}" is not installed. Install it: pip install "parquetry[mcp]".'
        ) from None
    serve(_content(url, key, store, workspace_id, workspace))


def _content(
    url: str | None, key: str | None, store: str | None, workspace_id: str | None, workspace: Path | None
) -> ContentSource:
    if url is not None:
        from cli.mcp.remote import ServedContent
        from cli.remote.server import Server

        if key is not None:
            raise typer.BadParameter(f"--key names a key of a store. With --url, {KEY_VARIABLE} has the whole key.")
        whole = os.environ.get(KEY_VARIABLE)
        if not whole:
            raise NoKey(f"Set {KEY_VARIABLE} to an API key of {url}.")
        return ServedContent(Server(url, whole, strict=True))
    from cli.mcp.stored import StoredContent

    directory = None if workspace is None else workspace_directory(workspace)
    return StoredContent(choose_workspace(store, workspace_id, directory), key)
