"""The names in a materialised snapshot: what ``materialise`` makes and ``sql`` reads.

Each API has one table, named by its endpoint, with the versions of all its languages: the main language's first, then
the others in workspace order, each in default order (``publishedAt`` descending, ``id`` ascending). A row's position is
its ``rowid``. ``@`` stands in no endpoint, field ID or language code, so a name with it never meets one of those.
"""

from __future__ import annotations

from typing import Final

from snapshots.model import Api, Field

ROW: Final = "_rn"
"""The row's position, which equals ``rowid``."""
LANG: Final = "_lang"
"""The version's language, as its index in the workspace's languages."""
ENTRY: Final = "_entry"
"""The entry's number, by which references lead to it: a position in ``entries_table``, or where the API has only one
language, of the row itself."""
DOC: Final = "_doc"
"""The version as JSON, UTF-8 bytes: ``id``, the three dates, then the fields in definition order, references as IDs."""
FACTS: Final = "@snapshot"
"""The table with one row that tells which manifest and which layout the file was made from."""


def quoted(name: str) -> str:
    """An identifier of the manifest in SQL; quoting keeps its case and any character."""
    return '"' + name.replace('"', '""') + '"'


def rows_table(api: Api) -> str:
    return quoted(api.endpoint)


def entries_table(api: Api) -> str:
    """For an API of several languages that references lead to: by entry number, one column a language with the
    position of that version."""
    return quoted(f"{api.endpoint}@entries")


def entry_numbers_column(field: Field) -> str:
    """The column with the numbers of the entries a reference field names, without those that do not exist."""
    return quoted(f"{field.id}@entry")
