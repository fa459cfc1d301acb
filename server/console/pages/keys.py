"""The tab *API keys*: the list of a workspace's keys, and issuing, changing, disabling and deleting them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from engine.access.keys.access import AccessFile, KeyChange, KeyTaken, UnknownKey
from engine.access.keys.keys import Key, KeyState, key_label, key_state, new_key_id, scope_text
from engine.access.keys.last_use import last_uses
from engine.administration.keys import delete_key, disable_key, edit_key, enable_key, issue_key
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.key_form import (
    CHOICES,
    EDIT_CHOICES,
    KeyForm,
    empty_form,
    form_of,
    read_key_form,
)
from server.console.visit import Moved, Outcome, PageRefused, Shown, Visit

_ID = re.compile(r"key_[0-9A-Za-z]{12}")


class KeyRow(msgspec.Struct, frozen=True):
    """A key as the list shows it."""

    key: Key
    label: str
    state: str
    scope: str
    last_used: int | None
    """UTC milliseconds."""


def listed(visit: Visit) -> Shown:
    """Show all keys, the last issued first."""
    uses = last_uses(visit.context.objects, visit.workspace_store.id)
    rows = [_row(visit, key, uses.get(key.id)) for key in reversed(_keys(visit))]
    return Shown("keys/keys.html", {"rows": rows, "note": _note(visit)})


def new(visit: Visit) -> Shown:
    """Show the form for a key to be issued."""
    return _new(visit, empty_form(visit), new_key_id(), 200)


def issue(visit: Visit) -> Outcome:
    """Issue a key and show it, this once (contract 5.9). The same form sent twice issues one key."""
    settings, form = read_key_form(visit, None)
    key_id = visit.form.one("id")
    if not _ID.fullmatch(key_id):
        raise PageRefused(400, "Not issued", "The form is incomplete. Open it again.")
    if settings is None:
        return _new(visit, form, key_id, 422)
    if _find(visit, key_id) is not None:
        return Moved(_path(visit), {"done": "issued-before", "key": key_id})
    given = msgspec.structs.asdict(settings)
    try:
        key, text = issue_key(visit.administrator, visit.workspace, key_id=key_id, **given)
    except KeyTaken:
        return Moved(_path(visit), {"done": "issued-before", "key": key_id})
    return Shown("keys/key_issued.html", {"row": _row(visit, key, None), "text": text})


def edit(visit: Visit) -> Shown:
    """Show the form of a key, which the letter before its expiry leads to (contract 6.2)."""
    key = _asked(visit)
    return _edit(visit, key, form_of(key, visit), 200)


def save(visit: Visit) -> Outcome:
    """Change a key's name, scope, validity or limit."""
    key = _asked(visit)
    settings, form = read_key_form(visit, key)
    if settings is None:
        return _edit(visit, key, form, 422)
    change = KeyChange(**msgspec.structs.asdict(settings))
    _existing(lambda: edit_key(visit.administrator, visit.workspace, key.prefix, change))
    return Moved(_path(visit), {"done": "saved", "key": key.id})


def change_state(visit: Visit) -> Outcome:
    """Disable a key, or enable it again."""
    key = _asked(visit)
    disables = visit.form.one("to") == "disabled"
    _existing(lambda: (disable_key if disables else enable_key)(visit.administrator, key.prefix))
    return Moved(_path(visit), {"done": "disabled" if disables else "enabled", "key": key.id})


def delete(visit: Visit) -> Outcome:
    """Ask before a key is deleted, with the order of a rotation (contract 5.11), and delete it."""
    key = _asked(visit)
    if not visit.form.has("confirmed"):
        uses = last_uses(visit.context.objects, visit.workspace_store.id)
        return Shown("keys/key_delete.html", {"row": _row(visit, key, uses.get(key.id))})
    _existing(lambda: delete_key(visit.administrator, key.prefix))
    return Moved(_path(visit), {"done": "deleted"})


def _new(visit: Visit, form: KeyForm, key_id: str, status: int) -> Shown:
    return Shown("keys/key_new.html", {**_form_values(visit, form), "key_id": key_id}, status)


def _edit(visit: Visit, key: Key, form: KeyForm, status: int) -> Shown:
    uses = last_uses(visit.context.objects, visit.workspace_store.id)
    return Shown(
        "keys/key_edit.html",
        {**_form_values(visit, form), "choices": EDIT_CHOICES, "row": _row(visit, key, uses.get(key.id))},
        status,
    )


def _form_values(visit: Visit, form: KeyForm) -> dict[str, Any]:
    return {
        "form": form,
        "choices": CHOICES,
        "today": visit.today.isoformat(),
        "rate_limit": visit.workspace.rate_limit,
    }


def _row(visit: Visit, key: Key, last_used: int | None) -> KeyRow:
    state = key_state(key, visit.today)
    return KeyRow(key, key_label(key, visit.today), state.value, scope_text(key, visit.workspace), last_used)


def _keys(visit: Visit) -> tuple[Key, ...]:
    found = AccessFile(visit.workspace_store).read()
    return found.keys if found else ()


def _find(visit: Visit, key_id: str) -> Key | None:
    return next((key for key in _keys(visit) if key.id == key_id), None)


def _asked(visit: Visit) -> Key:
    key = _find(visit, visit.path["key"])
    if key is None:
        raise _gone()
    return key


def _existing(change: Callable[[], Key]) -> None:
    try:
        change()
    except UnknownKey:  # deleted since the page was asked for
        raise _gone() from None


def _gone() -> PageRefused:
    return PageRefused(
        404,
        "This API key was deleted",
        "There is no such key any more, so there is nothing to change. Applications that used it get an authentication "
        "error; issue a new key for those that still need one.",
    )


def _path(visit: Visit) -> tuple[str, ...]:
    return (visit.workspace.id, "settings", "api-keys")


def _note(visit: Visit) -> tuple[str, str] | None:
    """Return (kind, sentence) of what was done before the list was shown."""
    done, key = visit.query.one("done"), _find(visit, visit.query.one("key"))
    if done == "deleted":
        return "good", "The key is deleted. Applications that used it get an authentication error."
    if key is None:
        return None
    named = f"“{key.name}”"
    state = key_state(key, visit.today)
    if done == "saved" and state is KeyState.EXPIRED:
        return "warning", f"{named} is saved. Its end date is past, so it has expired: applications get 401."
    notes = {
        "saved": ("good", f"{named} is saved. Applications notice within a second; the key itself is the same."),
        "disabled": ("good", f"{named} is disabled: applications get 401 until it is enabled again."),
        "enabled": ("good", f"{named} is enabled."),
        "issued-before": (
            "warning",
            f"{named} was issued when the form was sent first, and is not shown a second time. If it was not copied, "
            "delete it and issue another.",
        ),
    }
    return notes.get(done)


_KEYS: Final = "/settings/api-keys"
_POST: Final = ("POST",)
SECTION: Final = ConsoleSection(
    "API keys",
    (
        ConsolePage(_KEYS, listed, manages=True),
        ConsolePage(f"{_KEYS}/new", new, manages=True),
        ConsolePage(f"{_KEYS}/issue", issue, manages=True, methods=_POST),
        ConsolePage(f"{_KEYS}/{{key}}/validity", edit, manages=True),
        ConsolePage(f"{_KEYS}/{{key}}/save", save, manages=True, methods=_POST),
        ConsolePage(f"{_KEYS}/{{key}}/state", change_state, manages=True, methods=_POST),
        ConsolePage(f"{_KEYS}/{{key}}/delete", delete, manages=True, methods=("GET", "HEAD", "POST")),
    ),
)
