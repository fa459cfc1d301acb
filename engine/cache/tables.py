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
PLACE: Final = "_place"
"""The version's position in the default order of all languages together, which a list with a fallback is sorted by."""
ENTRY: Final = "_entry"
"""The number by which references lead to the entry; where nothing refers to the API, the row's own position."""
FACTS: Final = "@snapshot"
"""The table with one row that tells which manifest and which layout the file was made from, and which bodies file
belongs to it."""
BODIES: Final = "@bodies"
"""The table with a row an API: its ``uid``, and where in the bodies file its offsets are."""
ARRAYS: Final = "@arrays"
"""The table with a row an array: the ``uid`` of its API, its name, what its items are, and where it is in the bodies
file."""


VIEWS_DATABASE: Final = '"@views"'
"""The database in memory beside the file, as SQL."""
VIEW_TOTALS: Final = f"{VIEWS_DATABASE}.totals"
"""The table there with all-time counts: ``id``, ``total``; replaced when the counts change."""


def quoted(name: str) -> str:
    """An identifier of the manifest in SQL; quoting keeps its case and any character."""
    return '"' + name.replace('"', '""') + '"'


def rows_table(api: Api) -> str:
    return quoted(api.endpoint)


def enum_type(api: Api, field: Field) -> str:
    """The name of the type of a select field's column."""
    return f"{api.endpoint}@{field.id}"


def value_column(field_id: str) -> str:
    """The column with a field's value, or a meta field's; for richtext and images, whether there is one."""
    # A column of that name would hide what DuckDB itself calls so, whatever its case.
    return quoted(f"{field_id}@" if field_id.lower() == "rowid" else field_id)
