"""The key of ``cms dev``: the same in every session on a store, so that an application's settings stay right."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path
from typing import Final

from engine.access.keys.access import AccessFile, delete_key, issue_key
from engine.access.keys.keys import KeyState, key_hash, key_state, local_date
from snapshots.store.durable import locked, replace_durably, replace_file, writing
from snapshots.store.store import WorkspaceStore
from snapshots.times import now_ms

KEY_NAME: Final = "cms dev"
KEY_FILE: Final = "key"
"""The file beside the builds of ``cms dev`` that holds the whole key, for its owner alone."""
RATE_LIMIT: Final = 1_000_000
"""Requests a minute, which nobody who tries things out should reach."""


def session_key(workspace_store: WorkspaceStore, zone: tzinfo) -> str:
    """Return the key of the sessions on a workspace's part of the store of ``cms dev``; issue it if it is missing.

    It has no end: it opens builds that only this machine is served. Without its file it is exchanged for another one.
    Raises ``StoreError``.
    """
    directory = workspace_store.directory
    with writing(directory), locked(directory / f"{KEY_FILE}.lock"):
        access = AccessFile(directory)
        found = _kept(directory / KEY_FILE, access, zone)
        if found is not None:
            return found
        _forget_earlier(access)
        _, text = issue_key(
            access, name=KEY_NAME, scope=None, now=now_ms(), zone=zone, validity="none", rate_limit=RATE_LIMIT
        )
        replace_file(directory / ".gitignore", b"*\n")
        replace_durably(directory / KEY_FILE, f"{text}\n".encode(), mode=0o600)
        return text


def _kept(file: Path, access: AccessFile, zone: tzinfo) -> str | None:
    """Return the key in a file, if it opens the workspace today."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    file.chmod(0o600)
    listed = access.read()
    hashed = key_hash(text.encode("ascii"))
    today = local_date(now_ms(), zone)
    for key in listed.keys if listed is not None else ():
        if key.hash == hashed and key_state(key, today) is KeyState.VALID:
            return text
    return None


def _forget_earlier(access: AccessFile) -> None:
    """Delete the keys whose text nobody has any more: the file was deleted, or an earlier release kept none."""
    listed = access.read()
    for key in listed.keys if listed is not None else ():
        if key.name == KEY_NAME:
            delete_key(access, key.prefix)
