"""The arrays beside the bodies: what follows from a part's rows by position alone (design section 4).

Written when a part is made, by ``engine.making.part_rows``, and read by ``engine.cache.opened_part``. A row is told by
its position in the part. Entries are told by their numbers (``engine.cache.entry_number``).
"""

from __future__ import annotations

from typing import Final

BODIES: Final = "bodies"
"""The bytes of all bodies."""
BODY_STARTS: Final = "body starts"
"""Where each row's body begins in the file, and at last where they end."""
CHECKS: Final = "checks"
"""The CRC-32 of each row's body."""
LIVE_FROM: Final = "live_from"
LIVE_UNTIL: Final = "live_until"
"""One a row each, UTC milliseconds."""
ENTRIES: Final = "entries"
"""The number of each row's entry, ascending."""
ENTRY_ROWS: Final = "entry rows"
"""The rows those belong to."""
ENTRY_STARTS: Final = "entry starts"
"""A power of two of buckets, by the first bits of a number: where each begins in ``ENTRIES``, and at last where they
end."""


def references_array(path: str) -> str:
    """The numbers of the entries that a field names, row after row, whether there are such entries or not."""
    return f"references {path}"


def reference_apis(path: str) -> str:
    """Of references to one of several APIs, beside ``references_array``: the number of the endpoint, made as that of an
    entry's ID; where the content names none, of ``UNNAMED``."""
    return f"reference APIs {path}"


def reference_starts(path: str) -> str:
    """Where each row's begin in ``references_array``, and at last where they end."""
    return f"reference starts {path}"
