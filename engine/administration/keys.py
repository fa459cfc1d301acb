"""Changes of API keys: each is noted in the audit log, then made in access.json.

What only takes rights away is made even where the log cannot be written (decision 78).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from zoneinfo import ZoneInfo

from engine.access.keys import access
from engine.access.keys.access import AccessFile, KeyChange, find_key
from engine.access.keys.keys import (
    Key,
    Period,
    checked_name,
    checked_rate_limit,
    checked_scope,
    local_date,
    new_period,
    only_takes_away,
    scope_text,
)
from engine.administration.administrator import Administrator
from snapshots.model import Workspace


def issue_key(
    by: Administrator,
    workspace: Workspace,
    *,
    name: str,
    scope: frozenset[str] | None,
    validity: str | None = None,
    start: date | None = None,
    end: date | None = None,
    rate_limit: int | None = None,
    key_id: str | None = None,
) -> tuple[Key, str]:
    """Issue a key of a workspace, as ``access.issue_key`` does: (the key, its whole text).

    Raises ``InvalidKeySettings``, ``KeyTaken``, ``DamagedDocument`` or ``StoreError``.
    """
    zone = ZoneInfo(workspace.timezone)
    # What cannot be issued is no change.
    name, scope, rate_limit = checked_name(name), checked_scope(scope), checked_rate_limit(rate_limit)
    period = new_period(validity, start, end, local_date(by.now, zone))
    with by.recorded("key_issued", f"Issued the key “{name}”, valid {_days(period)}."):
        return access.issue_key(
            AccessFile(by.workspace_store),
            name=name,
            scope=scope,
            now=by.now,
            zone=zone,
            validity=validity,
            start=start,
            end=end,
            rate_limit=rate_limit,
            key_id=key_id,
        )


def edit_key(by: Administrator, workspace: Workspace, named: str, change: KeyChange) -> Key:
    """Change a key's name, scope, period or limit, as ``access.edit_key`` does.

    Raises ``UnknownKey``, ``InvalidKeySettings``, ``DamagedDocument`` or ``StoreError``.
    """
    zone = ZoneInfo(workspace.timezone)
    key = _find(by, named)
    after = change.applied(key, local_date(by.now, zone))
    takes_away = only_takes_away(key, after)
    with by.recorded("key_changed", _difference(key, after, workspace), takes_away=takes_away):
        return access.edit_key(
            AccessFile(by.workspace_store), key.prefix, change, now=by.now, zone=zone, takes_away=takes_away
        )


def disable_key(by: Administrator, named: str) -> Key:
    """Make a key be refused until it is enabled again. Raises ``UnknownKey``, ``DamagedDocument`` or ``StoreError``."""
    return _changed(by, named, "key_disabled", "Disabled", access.disable_key, takes_away=True)


def enable_key(by: Administrator, named: str) -> Key:
    """Take a key out of the disabled state. Raises ``UnknownKey``, ``DamagedDocument`` or ``StoreError``."""
    return _changed(by, named, "key_enabled", "Enabled", access.enable_key)


def delete_key(by: Administrator, named: str) -> Key:
    """Remove a key for good; return what it was. Raises ``UnknownKey``, ``DamagedDocument`` or ``StoreError``."""
    return _changed(by, named, "key_deleted", "Deleted", access.delete_key, takes_away=True)


def exchange_draft_secret(by: Administrator) -> None:
    """Change every derived draft key. Raises ``DamagedDocument`` or ``StoreError``."""
    with by.recorded("draft_keys_changed", "Changed every derived draft key."):
        access.new_draft_secret(AccessFile(by.workspace_store))


def _changed(
    by: Administrator,
    named: str,
    action: str,
    done: str,
    change: Callable[[AccessFile, str], Key],
    *,
    takes_away: bool = False,
) -> Key:
    key = _find(by, named)
    with by.recorded(action, f"{done} the key “{key.name}” ({key.prefix}).", takes_away=takes_away):
        return change(AccessFile(by.workspace_store), key.prefix)


def _find(by: Administrator, named: str) -> Key:
    found = AccessFile(by.workspace_store).read()
    return find_key(found.keys if found is not None else (), named)


def _difference(key: Key, after: Key, workspace: Workspace) -> str:
    """Return the sentence about what an edit changes."""
    parts = []
    if after.name != key.name:
        parts.append(f"called “{after.name}” now")
    if after.scope != key.scope:
        parts.append(f"for {scope_text(after, workspace)}")
    if after.period != key.period:
        parts.append(f"valid {_days(after.period)}")
    if after.rate_limit != key.rate_limit:
        parts.append(f"{after.rate_limit:,} requests a minute" if after.rate_limit else "the workspace's rate limit")
    return f"Changed the key “{key.name}” ({key.prefix}): {'; '.join(parts) or 'nothing'}."


def _days(period: Period) -> str:
    return f"from {period.start} {f'to {period.end}' if period.end else 'without end'}"
