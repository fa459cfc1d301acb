"""The arrays beside the bodies, facts about a part's rows by position; and those beside an API's tables (design
section 4).

Written when a part is made, by ``engine.read.materialise.part_rows``, and read by ``opened_part``. A row is named by
its position in the part, an entry by its number (``snapshots.data_files.segments``).
"""

from __future__ import annotations

from typing import Final

BODIES: Final = "bodies"
"""The bytes of all bodies."""
RECORDS: Final = "records"
"""Row after row so many numbers, so that what a request takes of a row lies together; and a last one for no row, which
says where the body and the references of the last row end."""
BODY_AT: Final = 0
"""In a record: the position in the file at which the row's body begins."""
CHECK: Final = 1
"""In a record: the CRC-32 of the row's body."""
LIVE_FROM: Final = 2
LIVE_UNTIL: Final = 3
"""In a record: the row's live window, UTC milliseconds."""
REFERENCES_AT: Final = 4
"""In a record, from here on: for each reference field of the API where the row's references begin in ``REFERENCES``."""
REFERENCES: Final = "references"
"""The numbers of the entries that rows name, row after row and in each field after field, whether they exist or not.
References to one of several APIs have two numbers each: the first is that of the endpoint, made as those of entries'
IDs, or of ``UNNAMED`` where the content names none."""
ENTRIES: Final = "entries"
"""The number of each row's entry, ascending."""
ENTRY_ROWS: Final = "entry rows"
"""The row of each number in ``ENTRIES``."""
ENTRY_STARTS: Final = "entry starts"
"""A power of two of buckets, by the first bits of a number after those that all of the segment share: where each begins
in ``ENTRIES``, and at last where they end."""
UNNAMED: Final = ""
"""Stands for the endpoint where a reference to one of several APIs names none."""
PARTS: Final = "parts"
"""Beside the tables: the number of the part that each row of the API is in."""
POSITIONS: Final = "positions"
"""Beside the tables: the position of each row in its part."""
ROWS: Final = "rows"
"""Beside the tables: the row of each position in a part, part after part."""
