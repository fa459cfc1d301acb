"""``cms console``: a one-time link that signs somebody in to the console of a running server."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from cli.location import NoWorkspace, nearest_workspace, server_address, store_at
from cli.options import Json, ServerUrl, StoreLocation, new_app
from cli.output import documents, lines
from snapshots.problems import ParquetryError, raise_all
from snapshots.times import format_datetime, now_ms

app = new_app()


class NoMember(ParquetryError):
    """No workspace names anybody with this address."""


@app.command()
def console(
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser of this machine.")] = False,
    member: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="EMAIL",
            help="Sign this member in. Default: you, as an owner.",
            show_default=False,
        ),
    ] = None,
    public_url: ServerUrl = None,
    store: StoreLocation = None,
    json: Json = False,
) -> None:
    """Print a link that signs in to the console.

    The link works once, for 15 minutes. The server has the console on with CMS_CONSOLE=1.
    """
    from engine.access.sign_in.people import Person, role_in
    from engine.access.sign_in.people import member as member_with
    from engine.access.sign_in.sign_ins import LINK_MS, SignIns
    from server.console.addresses import link_address
    from snapshots.whoami import whoami

    target = store_at(store, nearest_workspace())
    workspaces = []
    damaged: list[ParquetryError] = []
    for workspace_store in map(target.workspace, target.workspaces()):
        try:
            current = workspace_store.current()
            if current is not None:
                workspaces.append(workspace_store.manifest(current.version).workspace)
        except ParquetryError as error:  # people may come into the others
            damaged.append(error)
            lines.warning(f"{workspace_store.id}: {error}")
    if not workspaces:
        raise_all(damaged)
        raise NoWorkspace(
            f"The store {target.location} has no workspace to sign in to. Build one: `cms snapshot build`."
        )
    person = Person(whoami(), is_operator=True) if member is None else member_with(member)
    if all(role_in(workspace, person) is None for workspace in workspaces):
        raise NoMember(
            f"No workspace of the store has a member with the address {person.address}. Members are listed "
            "in workspace.yaml, and take effect with the next build."
        )
    now = now_ms()
    link = link_address(f"{server_address(public_url, target)}/console", SignIns(target.objects).new_link(person, now))
    if json:
        documents.write_json({"url": link, "as": person.address, "expiresAt": format_datetime(now + LINK_MS)})
        return
    lines.message(f"This link signs in {person.address}, once and within 15 minutes:")
    lines.copied(link)
    if open_ and not webbrowser.open(link):
        lines.warning("No browser could be started here. Open the link yourself.")
