"""``cms types``: a workspace's entries and queries as types of a programming language, and a client that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.definitions.described import Described, ReadingKey, ServerUrl
from cli.options import StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.typed.modules import Client

app = new_app("Print types for a workspace, with or without a client.")

WithClient: TypeAlias = Annotated[bool, typer.Option("--client", help="Add a client that reads the workspace.")]
Check: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--check",
        metavar="FILE",
        show_default=False,
        help="Print nothing, and exit with status 1 unless the file holds just what would be printed.",
    ),
]


class TwoClients(ParquetryError):
    """Two clients were asked for, and a module has one."""


class OutOfDate(ParquetryError):
    """The checked file does not hold what would be printed."""


@app.command()
def typescript(
    client: WithClient = False,
    microcms: Annotated[
        bool,
        typer.Option("--microcms", help="Add a client with the calls of microCMS's SDK, instead of --client."),
    ] = False,
    url: ServerUrl = None,
    key: ReadingKey = None,
    check: Check = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Print types for TypeScript.

    One module without dependencies: entries by depth, queries, and a function that writes a query; with --client, also
    a class that reads the server with fetch, in browsers and in Node 18 and later. The module is for the current
    snapshot version or, before the first build, for the definitions.
    """
    from engine.typed.modules import Client

    if client and microcms:
        raise TwoClients("--client and --microcms are two clients: choose one.")
    chosen = Client.OWN if client else Client.MICROCMS if microcms else Client.NONE
    _print(Described(url, key, store, workspace_id), "typescript", chosen, check)


@app.command()
def python(
    client: WithClient = False,
    url: ServerUrl = None,
    key: ReadingKey = None,
    check: Check = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Print types for Python 3.11 and later.

    One module without dependencies: entries by depth, queries, and a function that writes a query; with --client, also
    a class that reads the server with the standard library. The module is for the current snapshot version or, before
    the first build, for the definitions.
    """
    from engine.typed.modules import Client

    _print(Described(url, key, store, workspace_id), "python", Client.OWN if client else Client.NONE, check)


def _print(described: Described, language: str, client: Client, check: Path | None) -> None:
    """Print a module, or compare a file with it. Raises ``OutOfDate``."""
    source = described.module(language, client)
    if check is None:
        documents.write_source(source)
        return
    held = _text_of(check)
    # Git may have checked the file out with the line ends of another system.
    if held is None or held.replace("\r\n", "\n") != source:
        what = "There is no file" if held is None else "The definitions have changed since, or somebody edited"
        raise OutOfDate(f"{what} {check}. Write it again: run the same command without --check, and > {check}.")
    lines.message(f"{check} is up to date.")


def _text_of(file: Path) -> str | None:
    """Return the text of a file, ``None`` where there is none; bytes that are no UTF-8 make it another text."""
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutOfDate(f"{file} cannot be read: {error.strerror}.") from None
