"""The most paths and entries that a workspace tells apart: views of others are counted together (decision 65).

The limit is needed because senders can make up keys, and a key that was counted is never forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from engine.views.collecting.spool import View
from engine.views.collecting.targets import OTHERS, Kind
from engine.views.counting.count_files import CountState, queried, rows

Key: TypeAlias = "tuple[Kind, str]"

_MEMORY: Final = "256MB"


def keys_beyond(views: Path, state: CountState, sent: Iterable[View], most: int) -> frozenset[Key]:
    """The keys in ``sent`` that are new to the counts files and beyond ``most``; the first new ones get the room there
    is. Raises ``CountsDamaged``.
    """
    keys = list(dict.fromkeys((view.kind, view.key) for view in sent if view.kind is not Kind.OTHER))
    counted = rows(views, state)
    if counted + len(keys) <= most:
        return frozenset()
    if not counted:
        return frozenset(keys[most:])
    import pyarrow as pa

    with queried(views, state, memory_limit=_MEMORY, threads="1") as connection:
        table = {"kind": [kind.value for kind, _ in keys], "key": [key for _, key in keys], "place": range(len(keys))}
        connection.register("sent", pa.table(table))
        unknown = connection.execute(
            "SELECT place FROM sent ANTI JOIN counts USING (kind, key) ORDER BY place"
        ).fetchnumpy()["place"]
        if not len(unknown):
            return frozenset()
        # Hashes are joined, since a million long keys would not fit into the memory.
        [(told_apart,)] = connection.execute(
            "SELECT count(DISTINCT md5_number(kind || ' ' || key)) FROM counts WHERE kind <> $other",
            {"other": Kind.OTHER.value},
        ).fetchall()
    room = max(0, most - told_apart)
    return frozenset(keys[position] for position in unknown[room:].tolist())


def counted_together(views: Iterable[View], keys: frozenset[Key]) -> list[View]:
    """Views, of which those of ``keys`` count for the key of all others."""
    return [view._replace(kind=Kind.OTHER, key=OTHERS) if (view.kind, view.key) in keys else view for view in views]
