"""``cms key``: issue, list, change, disable and delete API keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli import completion, output
from cli.location import begin_store, find_place
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from cli.prompts import confirmed, has_reader
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path
    from zoneinfo import ZoneInfo

    from engine.keys.access import AccessFile
    from engine.keys.keys import Key
    from snapshots.model import Workspace
    from snapshots.store.store import Store

app = new_app("Issue API keys, look at them, change them, take them away.")

Prefix: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="The key's prefix, an unambiguous beginning of it, or its name.", autocompletion=completion.keys
    ),
]
Apis: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--api",
        metavar="ENDPOINT",
        help="Allow this API only; repeat it for several.",
        show_default=False,
        autocompletion=completion.endpoints,
    ),
]
Validity: TypeAlias = Annotated[
    str | None,
    typer.Option("--validity", metavar="30d|90d|1y|none", help="How long the key is valid.", show_default=False),
]
From: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATE", help="The first valid day, in the workspace's time zone.", show_default=False
    ),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option("--until", metavar="DATE", help="The last valid day; at most 5 years from today.", show_default=False),
]
NewValidity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--validity",
        metavar="30d|90d|1y|none",
        help="How long, from today.  [default: Do not change]",
        show_default=False,
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")]


class NotConfirmed(ParquetryError):
    """The person at the terminal did not answer yes."""


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """The keys of one workspace, and the facts by which keys are judged and shown."""

    file: AccessFile
    workspace: Workspace
    now: int
    """UTC milliseconds."""
    store: Store
    directory: Path
    """The workspace's part of the store."""

    @property
    def zone(self) -> ZoneInfo:
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.workspace.timezone)

    @property
    def today(self) -> date:
        from engine.keys.keys import local_date

        return local_date(self.now, self.zone)

    def all(self) -> tuple[Key, ...]:
        found = self.file.read()
        return found.keys if found else ()

    def documents(self, *keys: Key) -> list[dict[str, object]]:
        """Return keys as ``--json`` prints them, each with the last use that servers have written down so far."""
        from engine.keys.keys import key_document
        from engine.keys.last_use import last_uses

        uses = last_uses(self.directory)
        return [key_document(key, self.workspace, self.today, uses.get(key.id)) for key in keys]

    def document(self, key: Key) -> dict[str, object]:
        return self.documents(key)[0]


def _open(store: str | None, workspace_id: str | None) -> KeyPlace:
    from engine.keys.access import AccessFile

    place = find_place(store, workspace_id)
    return KeyPlace(
        AccessFile(place.inside.directory), place.workspace(), now_ms(), place.store, place.inside.directory
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What will use the key, for example “Website, production”.")],
    api: Apis = None,
    validity: Validity = None,
    from_: From = None,
    until: Until = None,
    rate_limit: Annotated[
        int | None,
        typer.Option(
            "--rate-limit", metavar="N", help="Requests a minute. Default: the workspace's.", show_default=False
        ),
    ] = None,
    yes: Yes = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Issue a key and print it, this one time.

    Without --validity or --until it is valid for 90 days. On a terminal the command ends when the key is copied;
    --yes, --json and a pipe do not wait.
    """
    from engine.keys.access import issue_key
    from engine.keys.keys import key_label, scope_of

    place = _open(store, workspace_id)
    begin_store(place.store)
    key, text = issue_key(
        place.file,
        name=name,
        scope=scope_of(place.workspace, api) if api else None,
        now=place.now,
        zone=place.zone,
        validity=validity,
        start=_date(from_),
        end=_date(until),
        rate_limit=rate_limit,
    )
    if json:
        output.write_json({**place.document(key), "key": text})
        return
    output.message(
        f'Key "{key.name}" for {_scope(key, place.workspace)} of workspace "{place.workspace.id}" '
        f"({key_label(key, place.today)})."
    )
    output.message("It is shown this once only:")
    output.answer(text, style="bold")
    if not yes and has_reader():
        _wait_until_copied(key)


@app.command("list")
def list_keys(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """List the keys with their scope, state and last use."""
    from engine.keys.keys import local_date

    place = _open(store, workspace_id)
    keys = place.all()
    documents = place.documents(*keys)
    if json:
        output.write_json(documents)
    elif keys:
        rows = [
            (
                key.prefix,
                key.name,
                _scope(key, place.workspace),
                str(document["label"]),
                str(local_date(key.created_at, place.zone)),
                _last_use(document),
            )
            for key, document in zip(keys, documents, strict=True)
        ]
        output.table(
            ("PREFIX", "NAME", "SCOPE", "STATE", "CREATED", "LAST USED"),
            rows,
            whole=("PREFIX", "STATE", "CREATED", "LAST USED"),
            spare=("CREATED", "LAST USED"),
        )
    else:
        output.message(f'Workspace "{place.workspace.id}" has no keys yet. `cms key create NAME` issues one.')


@app.command()
def show(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Show one key, but for its text, which is not kept."""
    from engine.keys.access import find_key

    place = _open(store, workspace_id)
    _report(place, find_key(place.all(), prefix), None, json=json)


@app.command("prefix")
def prefix_of(
    name: Annotated[str, typer.Argument(help="The key's whole name.")],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Print the prefix of the key with this name.

    Where several have it, one a line.
    """
    place = _open(store, workspace_id)
    found = [key for key in place.all() if key.name == name]
    if json:
        output.write_json([{"name": key.name, "prefix": key.prefix} for key in found])
    for key in found if not json else ():
        output.answer(key.prefix)
    if not found:
        output.failure(f'No key has the name "{name}". `cms key list` shows the names.')
        raise typer.Exit(1)


@app.command()
def edit(
    prefix: Prefix,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Rename the key.", show_default=False)
    ] = None,
    api: Apis = None,
    all_apis: Annotated[bool, typer.Option("--all-apis", help="Allow all APIs, those added later too.")] = False,
    validity: NewValidity = None,
    from_: From = None,
    until: Until = None,
    rate_limit: Annotated[
        int | None, typer.Option("--rate-limit", metavar="N", help="Requests a minute.", show_default=False)
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Change a key's name, scope, validity or limit.

    The key's text stays the same, and so does what is not given. A period that covers today makes an expired key
    valid again.
    """
    from engine.keys.access import KEEP, edit_key
    from engine.keys.keys import KeyState, key_state, scope_of

    if api and all_apis:
        raise typer.BadParameter("--api and --all-apis contradict each other: choose one.")
    if not all_apis and all(option is None for option in (name, api, validity, from_, until, rate_limit)):
        raise typer.BadParameter("Nothing to change: give at least one of the options.")
    place = _open(store, workspace_id)
    key = edit_key(
        place.file,
        prefix,
        now=place.now,
        zone=place.zone,
        name=name,
        scope=None if all_apis else scope_of(place.workspace, api) if api else KEEP,
        validity=validity,
        start=_date(from_),
        end=_date(until),
        rate_limit=KEEP if rate_limit is None else rate_limit,
    )
    if key_state(key, place.today) is KeyState.EXPIRED:
        output.warning(
            f"The end date {key.period.end} is past: the key has expired, and applications using it get 401."
        )
    _report(place, key, f"Key {key.prefix} changed.", json=json)


@app.command()
def disable(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Have a key refused until it is enabled again."""
    from engine.keys.access import disable_key

    place = _open(store, workspace_id)
    key = disable_key(place.file, prefix)
    _report(place, key, f"Key {key.prefix} is disabled: applications using it get 401.", json=json)


@app.command()
def enable(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Take a key out of the disabled state."""
    from engine.keys.access import enable_key

    place = _open(store, workspace_id)
    key = enable_key(place.file, prefix)
    _report(place, key, f"Key {key.prefix} is enabled.", json=json)


@app.command()
def notify(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the e-mails that are due.")] = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Send the expiry e-mails that are due.

    Every owner and maintainer is told seven days before a key expires. A running server does this once an hour; with
    cron, once a day is enough. CMS_SMTP_URL names the mail server. Without -w and outside a workspace, all
    workspaces of the store have their turn.
    """
    from cli.key_notices import notify as send

    send(store, workspace_id, dry_run=dry_run, json=json)


@app.command()
def delete(
    prefix: Prefix,
    yes: Yes = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Remove a key for good.

    Asks first on a terminal.
    """
    from engine.keys.access import delete_key, find_key

    place = _open(store, workspace_id)
    key = find_key(place.all(), prefix)
    described = f'{key.prefix} ("{key.name}", {_scope(key, place.workspace)})'
    if not yes and not confirmed(f"Delete key {described}? Applications using it get 401 at once."):
        raise NotConfirmed("Nothing is deleted.")
    document = place.document(key)
    delete_key(place.file, key.prefix)
    if json:
        output.write_json(document)
    else:
        output.answer(f'Key {key.prefix} ("{key.name}") is deleted: applications using it get 401.')


def _wait_until_copied(key: Key) -> None:
    """Ask until the user has copied the key (contract 5.9). Raises ``EOFError`` at the end of input."""
    try:
        while not confirmed("Have you copied it?"):
            output.message("Copy it now: nothing can show it again.")
    except (KeyboardInterrupt, EOFError):
        output.message(f"\nThe key stays issued. If it is not copied, delete it: `cms key delete {key.prefix}`.")
        raise


def _report(place: KeyPlace, key: Key, sentence: str | None, *, json: bool) -> None:
    document = place.document(key)
    if json:
        output.write_json(document)
        return
    if sentence:
        output.message(sentence)
    limit = key.rate_limit or place.workspace.rate_limit
    output.facts(
        [
            ("Prefix", key.prefix),
            ("Name", key.name),
            ("Workspace", place.workspace.id),
            ("Scope", _scope(key, place.workspace)),
            ("State", str(document["label"])),
            ("Valid", f"{key.period.start} to {key.period.end or 'no end date'} ({place.workspace.timezone})"),
            ("Rate limit", f"{limit:,} requests a minute{'' if key.rate_limit else ' (the workspace’s)'}"),
            ("Created", output.instant(key.created_at)),
            ("Last used", _last_use(document)),
        ]
    )


def _scope(key: Key, workspace: Workspace) -> str:
    if key.scope is None:
        return "all APIs"
    return ", ".join(api.endpoint for api in workspace.apis if api.uid in key.scope) or "none (its APIs are gone)"


def _last_use(document: dict[str, object]) -> str:
    moment = document["lastUsedAt"]
    return f"{str(moment)[:16].replace('T', ' ')} UTC" if moment else "-"


def _date(text: str | None) -> date | None:
    from engine.keys.keys import parse_date

    return None if text is None else parse_date(text)
