"""``cms serve``: a store → the delivery API over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.location import STORE, NoWorkspace, nearest_workspace
from cli.options import StoreLocation, new_app

if TYPE_CHECKING:
    from snapshots.store.store import Store

Host = Annotated[
    str | None,
    typer.Option("--host", envvar="CMS_HOST", metavar="ADDRESS", help="Where to listen.  [default: 127.0.0.1]"),
]


app = new_app()


@app.command()
def serve(
    context: typer.Context,
    store: StoreLocation = None,
    host: Host = None,
    port: Annotated[
        str | None,
        typer.Option("--port", envvar="CMS_PORT", metavar="N", help="0 takes a free one.  [default: 8787]"),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option("--workers", envvar="CMS_WORKERS", metavar="N", help="Processes that answer.  [default: 1]"),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            envvar="CMS_CACHE",
            metavar="DIR",
            help="Where opened snapshots are kept.  [default: in the store]",
        ),
    ] = None,
) -> None:
    """Serve the workspaces of a store over HTTP.

    A version that becomes current is served within a second, and so is a workspace that is new to the store. SIGTERM
    and SIGINT end the server when the requests under way are answered; SIGHUP changes nothing.
    """
    from server.settings import InvalidSetting, read_settings

    place = store or str((nearest_workspace() or Path.cwd()) / STORE)
    # Values from the environment are left to the settings, whose messages then name the variable.
    flags = {
        name: value
        for name, value in {"store": place, "host": host, "port": port, "workers": workers, "cache": cache}.items()
        if name == "store" or not _is_from_environment(context, name)
    }
    try:
        settings = read_settings(flags)
    except InvalidSetting as error:
        raise typer.BadParameter(str(error)) from None
    _tell_of_an_empty_store(settings.open_store(), given=store is not None)

    from engine.making.prewarm import making_ahead
    from snapshots.store.durable import keep_from_others

    keep_from_others()
    with making_ahead(settings.open_store()):
        from server.run import run_server

        run_server(settings)


def _is_from_environment(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "ENVIRONMENT"


def _tell_of_an_empty_store(store: Store, *, given: bool) -> None:
    """Warn of a store without any version. Raises ``NoWorkspace`` when no store is named and none is in the default
    place."""
    if not given and not store.root.is_dir():
        raise NoWorkspace(
            f"There is no store to serve: {store.root} is not there. Go into a workspace, build it with "
            "`cms snapshot build`, or name a store with --store or CMS_STORE."
        )
    if not store.workspaces():
        output.warning(
            f"The store {store.root} holds nothing to serve yet: every request is answered 401 or 404 until "
            f"`cms snapshot build WORKSPACE --store {store.root}` has made a version."
        )
