"""changes.json: one hint for a whole store, which tells readers that poll it in which workspaces something has changed.

    {"write": "<id>", "workspaces": {"acme": "<id of the last change>"}}

It holds no state: whoever changes a workspace's ``current``, ``access.json`` or ``webhooks.json`` announces that
afterwards, and readers look at these themselves. A hint that was lost costs its readers the time until they look at
everything again. So a change of ``current`` or ``access.json`` is announced right before it is made, too, and readers
look for it for a while: whoever is killed between the change and its announcement has told of it all the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects

CHANGES: Final = "changes.json"


class _Changes(msgspec.Struct):
    write: str
    workspaces: dict[str, str]


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(_Changes)


def announce(objects: Objects, workspace: str) -> None:
    """Tell the readers of a store that a document of a workspace has changed, or is about to.

    A hint that cannot be written is none: the change itself is made, and readers find it when the workspace's turn
    comes. They look at one a minute.
    """

    def add(data: bytes | None, write: str) -> tuple[bytes, None]:
        return msgspec.json.encode(_Changes(write, {**decode_changes(data or b""), workspace: write})) + b"\n", None

    with suppress(StoreError):
        objects.edit(CHANGES, add)


def decode_changes(data: bytes) -> dict[str, str]:
    """Return the ID of the last change by workspace; empty for a hint that cannot be read."""
    try:
        return _decoder.decode(data).workspaces
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
