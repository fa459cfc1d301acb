"""changes.json: one hint for a whole store, which tells readers that poll it in which workspaces something has changed.

    {"write": "<id>", "workspaces": {"acme": "<id of the last change>"}}

It holds no state: whoever changes a workspace's ``current``, ``access.json`` or ``webhooks.json`` announces that
afterwards, and readers look at these themselves. A hint that was lost costs its readers the time until they look at
everything again. So a change is announced right before it is made, too, and readers look for it for a while: whoever
is killed between the change and its announcement has told of it all the same.
"""

from __future__ import annotations

from typing import Final

import msgspec

from snapshots.store.document import Document, JsonCodec
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects

CHANGES: Final = "changes.json"


class _Changes(msgspec.Struct):
    write: str
    workspaces: dict[str, str] = {}


_CODEC: Final = JsonCodec(_Changes, lambda stored: stored.workspaces, lambda workspaces: _Changes("", workspaces))


def changes_document(objects: Objects, key: str = CHANGES) -> Document[dict[str, str]]:
    """Return a hint: the ID of the last change by workspace. One that cannot be read says nothing."""
    return Document(objects, key, _CODEC, {}, expendable=True)


def announce(objects: Objects, *workspaces: str, key: str = CHANGES) -> bool:
    """Tell the readers of a store that documents of workspaces have changed, or are about to; return whether it could
    be told.

    A hint that cannot be written is none: the change itself is made, and readers find it when the workspace's turn
    comes. They look at one a minute.
    """

    def added(found: dict[str, str], write: str) -> tuple[dict[str, str], None]:
        return found | dict.fromkeys(workspaces, write), None

    try:
        changes_document(objects, key).edit(added)
    except StoreError:
        return False
    return True
