"""The systems of which exports are read: one row each, from which ``cms import`` makes its commands."""

from __future__ import annotations

from typing import Final, NamedTuple


class ImportKind(NamedTuple):
    """A system that content is imported from."""

    module: str
    """The module whose function ``read`` is its ``export.Reader``: imported for an import alone."""
    help: str
    is_folder: bool = False
    """Whether an export is a folder of files, not one file."""
    takes_api: bool = False
    """Whether an export is a table, which becomes the API that a person names, or a workbook with sheets."""


_HERE: Final = "snapshots.importers.kinds"

KINDS: Final = {
    "microcms": ImportKind(
        f"{_HERE}.microcms.export", "Import <endpoint>.schema.json and .json or .csv of each API.", True
    ),
    "wordpress": ImportKind(f"{_HERE}.wordpress.export", "Import the XML file that Tools → Export saves (WXR)."),
    "contentful": ImportKind(f"{_HERE}.contentful.export", "Import the JSON file of `contentful space export`."),
    "strapi": ImportKind(f"{_HERE}.strapi.export", "Import the archive or folder of `strapi export --no-encrypt`."),
    "sanity": ImportKind(f"{_HERE}.sanity.dataset", "Import the archive or folder of `sanity dataset export`."),
    "directus": ImportKind(f"{_HERE}.directus.template", "Import the folder of `directus-template-cli extract`.", True),
    "ghost": ImportKind(f"{_HERE}.ghost.export", "Import the JSON file of Ghost, or a folder with its images."),
    "notion": ImportKind(f"{_HERE}.notion.export", "Import an export as Markdown & CSV, a ZIP file or folder."),
    "csv": ImportKind(
        f"{_HERE}.tables.export", "Import tables of a spreadsheet: CSV files and workbooks (.xlsx).", takes_api=True
    ),
}
"""The systems by name, in the order of ``cms import --help``."""
