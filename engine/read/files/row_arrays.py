"""The arrays beside the bodies, facts about a part's rows by position; and those beside an API's tables (design
section 4).

Written when a part is made, by ``engine.read.materialise.part_rows``, and read by ``opened_part``. A row is named by
its position in the part, an entry by its number (``snapshots.data_files.segments``).
"""

from __future__ import annotations

from typing import Final

BODIES: Final = "bodies"
"""The bytes of all bodies."""
BODY_STARTS: Final = "body starts"
"""The position in the file at which each row's body begins, and after them that at which the last ends."""
CHECKS: Final = "checks"
"""The CRC-32 of each row's body."""
LIVE_FROM: Final = "live_from"
LIVE_UNTIL: Final = "live_until"
"""The live window of each row, UTC milliseconds."""
ENTRIES: Final = "entries"
"""The number of each row's entry, ascending."""
ENTRY_ROWS: Final = "entry rows"
"""The row of each number in ``ENTRIES``."""
ENTRY_STARTS: Final = "entry starts"
"""A power of two of buckets, by the first bits of a number after those that all of the segment share: where each begins
in ``ENTRIES``, and at last where they end."""
UNNAMED: Final = ""
"""Stands for the endpoint where a reference to one of several APIs names none."""


def references_array(path: str) -> str:
    """The name of an array: the numbers of the entries that a field names, row after row, existing or not."""
    return f"references {path}"


def reference_apis(path: str) -> str:
    """The name of an array beside ``references_array``, of references to one of several APIs: the numbers of their
    endpoints, made as those of entries' IDs; where the content names none, the number of ``UNNAMED``."""
    return f"reference APIs {path}"


def reference_starts(path: str) -> str:
    """The name of an array: the index in ``references_array`` at which each row begins, and the end of the last."""
    return f"reference starts {path}"


PARTS: Final = "parts"
"""Beside the tables: the number of the part that each row of the API is in."""
POSITIONS: Final = "positions"
"""Beside the tables: the position of each row in its part."""
ROWS: Final = "rows"
"""Beside the tables: the row of each position in a part, part after part."""
