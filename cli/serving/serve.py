"""``cms serve``: serve a store's workspaces over HTTP."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import STORE, NoWorkspace, nearest_workspace
from cli.options import StoreLocation, new_app
from cli.output import lines

if TYPE_CHECKING:
    from snapshots.store.store import Store

Host = Annotated[
    str | None,
    typer.Option(
        "--host", envvar="CMS_HOST", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]"
    ),
]


app = new_app()


@app.command()
def serve(
    context: typer.Context,
    store: StoreLocation = None,
    host: Host = None,
    port: Annotated[
        str | None,
        typer.Option("--port", envvar="CMS_PORT", metavar="N", help="The port; 0 takes a free one.  [default: 8787]"),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers", envvar="CMS_WORKERS", metavar="N", help="Processes that answer requests.  [default: 1]"
        ),
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
    wait: Annotated[
        bool, typer.Option("--wait", help="Start although the store's directory is not there yet, and wait for it.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log the settings and the start even on a terminal.")
    ] = False,
) -> None:
    """Serve the workspaces of a store over HTTP.

    A snapshot version that becomes current is served within a second, and so is a workspace that is new to the store;
    from a bucket, such as s3://bucket/prefix, within two.

    SIGHUP reloads without losing a request: the program that is installed by then is started beside this one, with the
    settings of the start, and takes over once it is ready; if it does not get ready, nothing changes. New settings need
    a restart. SIGTERM and SIGINT end the server when the requests under way are answered.
    """
    from server.main_process.link import link_to_main_process

    link = link_to_main_process()
    if link is None:
        raise typer.Exit(_run_main_process())

    from server.settings import InvalidSetting, read_settings
    from snapshots.store.buckets.bucket_url import is_bucket

    location = store or str((nearest_workspace() or Path.cwd()) / STORE)
    # Values from the environment are left to the settings, whose messages then name the variable.
    flags = {
        name: value
        for name, value in {"store": location, "host": host, "port": port, "workers": workers, "cache": cache}.items()
        if name == "store" or not _is_from_environment(context, name)
    }
    try:
        settings = read_settings(flags)
    except InvalidSetting as error:
        raise typer.BadParameter(str(error)) from None
    opened = settings.open_store()
    if is_bucket(settings.store):
        _tell_of_an_empty_mirror(opened, settings.store)
    else:
        _tell_of_an_empty_store(opened, given=store is not None, wait=wait)
    _tell_of_addresses_without_host(opened)

    from engine.read.materialise.prewarm import making_ahead
    from snapshots.store.durable import keep_from_others

    keep_from_others()
    with making_ahead(opened):
        from server.run import run_server

        if verbose or not sys.stderr.isatty():
            run_server(settings, link=link)
        else:
            tell = partial(_tell_what_is_served, opened, settings.store)
            run_server(settings, link=link, on_listening=tell, log_start=False)


def _run_main_process() -> int:
    """Start the server in a process of its own, replace it by another at each SIGHUP, and return the exit status."""
    import logging.config

    from server.logs import log_config
    from server.main_process.handed_sockets import handed_sockets
    from server.main_process.main_process import MainProcess, installed_command, ready_seconds
    from server.main_process.service_manager import ServiceManager

    logging.config.dictConfig(log_config(os.environ.get("CMS_LOG_FORMAT", "text")))
    main = MainProcess(installed_command(), handed_sockets(), ServiceManager(), ready_seconds(os.environ))
    return main.run()


def _tell_what_is_served(store: Store, location: str, address: str) -> None:
    workspaces = store.workspaces()
    lines.message(f"Serving {', '.join(workspaces) or 'no workspace yet'} from {location}")
    name = workspaces[0] if len(workspaces) == 1 else "{workspace}"
    lines.message(f"Requests: {address}/v1/{name} (key: `cms key create NAME`)")
    lines.message(f"Reference: {address}/docs (Ctrl-C stops the server)")


def _is_from_environment(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "ENVIRONMENT"


def _tell_of_addresses_without_host(store: Store) -> None:
    """Warn of workspaces whose images and files can only be found by pages on the server's own host."""
    from snapshots.problems import ParquetryError

    without = []
    for workspace in store.workspaces():
        with suppress(ParquetryError):  # told by the server, which looks closer
            target = store.workspace(workspace)
            current = target.current()
            if current is not None and target.manifest(current.version).assets_lack_host:
                without.append(workspace)
    if without:
        lines.warning(
            f"The images and files of {', '.join(without)} have addresses without a host (/assets/…), so pages on "
            "another host do not show them. Build with CMS_PUBLIC_URL set to this server's public address, or set "
            "assets_url in workspace.yaml."
        )


def _tell_of_an_empty_mirror(mirror: Store, location: str) -> None:
    if not mirror.workspaces():
        lines.message(
            f"Nothing of {location} is on this machine yet: requests are answered 503 until the "
            "first snapshot version has been downloaded."
        )


def _tell_of_an_empty_store(store: Store, *, given: bool, wait: bool) -> None:
    """Warn of a store without any version. Raises ``NoWorkspace`` when its directory is not there, unless it is named
    and waited for."""
    if given and not store.root.is_dir() and not wait:
        raise NoWorkspace(
            f"There is no store to serve: {store.root} does not exist. Where it is mounted, see whether the mount is "
            "there; `cms snapshot build` makes a new one. With --wait, the server starts without it and waits."
        )
    if not given and not store.root.is_dir():
        raise NoWorkspace(
            f"There is no store to serve: {store.root} does not exist. Go into a workspace, build it with "
            "`cms snapshot build`, or name a store with --store or CMS_STORE."
        )
    if not store.workspaces():
        lines.warning(
            f"The store {store.root} holds nothing to serve yet: every request is answered 401 or 404 until "
            f"`cms snapshot build WORKSPACE --store {store.root}` has built a snapshot version."
        )
