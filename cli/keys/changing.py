"""``cms key edit``, ``disable``, ``enable`` and ``delete``: another state of a key."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.keys.arguments import Apis, From, NewValidity, Prefix, Until, given_date
from cli.keys.chosen_keys import open_keys, report_key
from cli.options import Json, StoreLocation, WorkspaceId, Yes
from cli.output import documents, lines
from cli.prompts import NotConfirmed, confirmed


def edit(
    prefix: Prefix,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Rename the key.", show_default=False)
    ] = None,
    api: Apis = None,
    all_apis: Annotated[bool, typer.Option("--all-apis", help="Allow all APIs, including those added later.")] = False,
    validity: NewValidity = None,
    from_: From = None,
    until: Until = None,
    rate_limit: Annotated[
        int | None, typer.Option("--rate-limit", metavar="N", help="Requests per minute.", show_default=False)
    ] = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Change a key's name, scope, validity or limit.

    The key itself and all settings that are not given stay the same. A period that covers today makes an expired key
    valid again.
    """
    from engine.access.keys.access import KEEP, KeyChange
    from engine.access.keys.keys import KeyState, key_state, scope_of
    from engine.administration.keys import edit_key

    if api and all_apis:
        raise typer.BadParameter("--api and --all-apis contradict each other: choose one.")
    if not all_apis and all(option is None for option in (name, api, validity, from_, until, rate_limit)):
        raise typer.BadParameter("Nothing to change: give at least one of the options.")
    chosen = open_keys(store, workspace_id)
    change = KeyChange(
        name=name,
        scope=None if all_apis else scope_of(chosen.workspace, api) if api else KEEP,
        validity=validity,
        start=given_date(from_),
        end=given_date(until),
        rate_limit=KEEP if rate_limit is None else rate_limit,
    )
    key = edit_key(chosen.operator, chosen.workspace, prefix, change)
    if key_state(key, chosen.today) is KeyState.EXPIRED:
        lines.warning(f"The end date {key.period.end} is past: the key has expired, and applications using it get 401.")
    report_key(chosen, key, f"Key {key.prefix} changed.", json=json)


def disable(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Refuse a key until it is enabled again."""
    from engine.administration.keys import disable_key

    chosen = open_keys(store, workspace_id)
    key = disable_key(chosen.operator, prefix)
    report_key(chosen, key, f"Key {key.prefix} is disabled: applications using it get 401.", json=json)


def enable(prefix: Prefix, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Accept a disabled key again."""
    from engine.administration.keys import enable_key

    chosen = open_keys(store, workspace_id)
    key = enable_key(chosen.operator, prefix)
    report_key(chosen, key, f"Key {key.prefix} is enabled.", json=json)


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
    from engine.access.keys.access import find_key
    from engine.access.keys.keys import scope_text
    from engine.administration.keys import delete_key

    chosen = open_keys(store, workspace_id)
    key = find_key(chosen.all(), prefix)
    described = f'{key.prefix} ("{key.name}", {scope_text(key, chosen.workspace)})'
    if not yes and not confirmed(f"Delete key {described}? Applications using it get 401 at once."):
        raise NotConfirmed("Nothing is deleted.")
    document = chosen.document(key)
    delete_key(chosen.operator, key.prefix)
    if json:
        documents.write_json(document)
    else:
        lines.answer(f'Key {key.prefix} ("{key.name}") is deleted: applications using it get 401.')
