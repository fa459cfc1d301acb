"""The person who changes a workspace: every change made in the person's name is recorded in the audit log."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

import msgspec

from engine.access.audit.log import AuditLog, Author, Entry, Via
from snapshots.store.store import WorkspaceStore
from snapshots.whoami import whoami

OPERATOR: Final = "operator"
"""The role of somebody who runs commands on the store."""


class Administrator(msgspec.Struct, frozen=True):
    """An author of changes, the workspace that they change, and the instant at which they do."""

    workspace_store: WorkspaceStore
    author: Author
    now: int
    """UTC milliseconds."""

    def recorded(self, action: str, sentence: str, *, takes_away: bool = False) -> AbstractContextManager[None]:
        """Note a change in the audit log and make it in the block. Raises ``StoreError`` where it cannot be noted,
        unless the change only ``takes_away`` rights."""
        log = AuditLog(self.workspace_store.objects, self.workspace_store.id)
        return log.recorded(Entry(self.now, self.author, action, sentence), takes_away=takes_away)


def operator(workspace_store: WorkspaceStore, now: int) -> Administrator:
    """Return the user of this program, who works on the store with commands at ``now`` (UTC milliseconds)."""
    return Administrator(workspace_store, Author(whoami(), OPERATOR, Via.COMMAND_LINE), now)
