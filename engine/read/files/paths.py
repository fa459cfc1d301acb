"""The paths of a workspace's files in the cache (design section 4):

<cache>/<workspace>/making.lock                                held while files are made or dropped
<cache>/<workspace>/layout-<n>/parts/<part>/bodies             entries as JSON, and the arrays about rows by position
<cache>/<workspace>/layout-<n>/parts/<part>/search             the search index
<cache>/<workspace>/layout-<n>/tables/<tables>/tables.duckdb   the narrow columns that statements read, of an API
<cache>/<workspace>/layout-<n>/tables/<tables>/rows            where the body of each of their rows is
<cache>/<workspace>/layout-<n>/tables/<tables>/vocabulary      the words of all its texts, and the parts that have them
<cache>/<workspace>/layout-<n>/versions/<version>              the names of a version's parts and tables, one a line
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

LAYOUT: Final = 13
"""Raised whenever the content of the files changes, so that files of another layout are made again."""
LAYOUTS: Final = "layout-"
"""The beginning of the name of each layout's directory."""


class CachePaths(msgspec.Struct, frozen=True):
    """The paths of one workspace."""

    workspace: Path
    """``<cache>/<workspace>``."""

    @property
    def layout(self) -> Path:
        """The directory of all files of this layout."""
        return self.workspace / f"{LAYOUTS}{LAYOUT}"

    @property
    def lock(self) -> Path:
        """The lock file of those who make or drop files."""
        return self.workspace / "making.lock"

    @property
    def parts(self) -> Path:
        """The directory of all parts."""
        return self.layout / "parts"

    @property
    def all_tables(self) -> Path:
        """The directory of all tables."""
        return self.layout / "tables"

    @property
    def versions(self) -> Path:
        """The directory of the lists of what versions are made of."""
        return self.layout / "versions"

    def part(self, name: str) -> Path:
        """The directory of a part."""
        return self.parts / name

    def tables(self, name: str) -> Path:
        """The directory of an API's tables."""
        return self.all_tables / name

    def version(self, version: str) -> Path:
        """The list of a version's parts and tables."""
        return self.versions / version


def cache_paths(cache_dir: Path, workspace: str) -> CachePaths:
    """Return the paths of a workspace."""
    return CachePaths(cache_dir / workspace)


def tables_file(tables: Path) -> Path:
    """The DuckDB file in the directory of an API's tables."""
    return tables / "tables.duckdb"


def rows_file(tables: Path) -> Path:
    """The file with the places of rows in the directory of an API's tables."""
    return tables / "rows"


def vocabulary_file(tables: Path) -> Path:
    """The file with the words of all texts in the directory of an API's tables, where it has several parts."""
    return tables / "vocabulary"


def bodies_file(part: Path) -> Path:
    """The file with the bodies in a part's directory."""
    return part / "bodies"


def search_file(part: Path) -> Path:
    """The search file in a part's directory."""
    return part / "search"
