"""``cms serve``: a store → the delivery API over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.location import STORE, nearest_workspace
from cli.options import StoreLocation, new_app

Host = Annotated[
    str | None,
    typer.Option("--host", envvar="CMS_HOST", metavar="ADDRESS", help="Where to listen.  [default: 127.0.0.1]"),
]


app = new_app()


@app.command()
def serve(
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

    location = store or str((nearest_workspace() or Path.cwd()) / STORE)
    try:
        settings = read_settings({"store": location, "host": host, "port": port, "workers": workers, "cache": cache})
    except InvalidSetting as error:
        raise typer.BadParameter(str(error)) from None

    from engine.cache.prewarm import making_ahead
    from snapshots.store.durable import keep_from_others

    keep_from_others()
    with making_ahead(settings.open_store()):
        from server.run import run_server

        run_server(settings)
