"""A hint for all machines: the workspaces whose counts in the bucket have changed. It holds no state.

So a machine asks for one small object, whatever the number of workspaces. The machine that writes tells again what it
could not tell; what nobody tells is found when the workspace's turn comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from engine.views.gathering.layout import HINT
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects


class _Hint(msgspec.Struct):
    write: str
    workspaces: dict[str, str] = {}


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(_Hint)


def announce_counts(objects: Objects, workspaces: Iterable[str]) -> bool:
    """Tell the machines that the counts of some workspaces have changed; return whether that could be done."""
    changed = list(workspaces)

    def add(data: bytes | None, write: str) -> tuple[bytes, None]:
        return msgspec.json.encode(_Hint(write, changed_counts(data) | dict.fromkeys(changed, write))) + b"\n", None

    try:
        objects.edit(HINT, add)
    except StoreError:
        return False
    return True


def changed_counts(data: bytes | None) -> dict[str, str]:
    """The content of the hint → a mark by workspace, another one after each change; empty for one nobody can read."""
    try:
        return {} if data is None else _decoder.decode(data).workspaces
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
