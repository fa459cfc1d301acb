"""Print who went back from the content of a version, which no build makes current again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshots.times import format_datetime

if TYPE_CHECKING:
    from snapshots.store.holds.holds import Hold


def held_document(held: Hold) -> dict[str, object]:
    """Return a hold as ``--json`` prints it."""
    return {"version": held.version, "by": held.by, "at": format_datetime(held.at)}
