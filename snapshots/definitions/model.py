"""The definitions of a workspace: the workspace itself, and the sources of each API's versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from snapshots.documents.document import ContentDocument
from snapshots.model import Workspace

# Pydantic takes a while to import, and is not needed by a build in which no definition changed.
if TYPE_CHECKING:
    from snapshots.definitions.shapes import ApiShape


class HiddenKey(msgspec.Struct, frozen=True):
    """A key by which versions are left out, unless its value plainly says that everybody may see them."""

    key: str
    unless: tuple[str, ...] = ()
    """Other values with which everybody may see them."""


class ApiSource(msgspec.Struct, frozen=True):
    """The sources of an API's versions: files, and the places in them where each value is read."""

    patterns: tuple[str, ...]
    """``source``; empty means the default sources."""
    id: str | None
    """The template an ID is built from, such as ``{platform}-{name}``."""
    meta: tuple[tuple[str, str], ...]
    """(``createdAt``, ``publishStart``, …; the expression it is read from)."""
    lang_map: dict[str, str]
    """The workspace's spelling of each language, by the files' spelling; from the maps of workspace and API."""
    id_map: dict[str, str]
    """The ID to use instead of a result of the ``id`` template, by that result as written."""
    fields: dict[str, str]
    """The expression from which a field's value is read, by field ID: a key, ``$body``, ``$name``, ``$path``, a named
    part (``$section``), a path inside a mapping (``bio.en``, ``bio.{lang}``) or a template (``{year}-{month}``)."""
    exclude: tuple[str, ...] = ()
    """Patterns of files that are none of the API's, whatever ``patterns`` say."""
    implied_id: bool = False
    """True where ``id`` is the default of patterns with ``{path}``, which holds for files of one document only, or of
    ``collection``, which holds for mappings."""
    collection: tuple[str, ...] | None = None
    """``from``: the keys that lead to the collection in a file; none for the whole file. ``None``: no collection."""
    by_path: tuple[str, ...] = ()
    """Reference fields that are written as paths or URLs of the site."""
    page_url: str | None = None
    """The address of an entry's page on the site, with ``{id}`` and ``{lang}``; links to its file lead there."""
    hidden: tuple[HiddenKey, ...] = ()
    """The keys by which versions are left out."""


class Shortcode(msgspec.Struct, frozen=True):
    """The replacement of a shortcode."""

    action: Literal["leave", "drop", "replace"]
    template: str = ""
    """The text in its place, with ``{name}`` for its parameters and ``{inner}`` for the text it encloses."""


class RichTextSettings(msgspec.Struct, frozen=True):
    """A workspace's settings for its rich texts."""

    iframe_hosts: tuple[str, ...] = ()
    """The hosts, or ``*.`` and a domain, whose pages may stand in frames."""
    classes: tuple[str, ...] = ()
    """The classes that elements may have, besides those that Markdown itself gives."""
    shortcodes: dict[str, Shortcode] = {}
    """By name, as in ``note``, or by name and first parameter, as in ``include figure.html``."""
    assets_url: str | None = ""
    """The beginning of the addresses of assets: on the server itself, or in another place they are copied to.
    ``None``: the site has its own, so addresses are delivered as written and never checked."""
    strips_assets: bool = False
    """Whether pictures are delivered without their metadata."""
    assets_folders: tuple[str, ...] = ()
    """The folders whose files the site has at its root, where files are looked for that a page names by addresses
    relative to its own."""
    allows_missing_assets: bool = False
    """Whether a text may name a file that is not there: told, and delivered as written."""
    image_widths: tuple[int, ...] = ()
    """The widths in pixels that rich texts offer of each picture, so that browsers can choose."""


class Definitions(msgspec.Struct, frozen=True):
    """Everything a workspace defines, without its content."""

    workspace: Workspace
    sources: dict[str, ApiSource]
    """By the API's ``uid``."""
    files: dict[str, str]
    """The definition file of each API, relative to the workspace, by ``uid``."""
    read: tuple[str, ...]
    """Every definition file, broken ones included."""
    whole: bool = True
    """False where a definition has errors: its API is missing, and references may lead to it."""
    rich_text: RichTextSettings = RichTextSettings()
    launches: dict[str, int] = {}
    """The instant of each launch, UTC milliseconds, by name. Launches are no part of what is published: a version that
    joins one has its instant."""
    strict: tuple[str, ...] = ()
    """The ``WARNING_CLASSES`` whose warnings are errors."""

    @property
    def page_urls(self) -> dict[str, str]:
        """The ``page_url`` of each API whose definition has one, by endpoint."""
        pages = {api.endpoint: self.sources[api.uid].page_url for api in self.workspace.apis}
        return {endpoint: page for endpoint, page in pages.items() if page is not None}

    def served_at(self, public_url: str | None) -> Definitions:
        """Return these definitions with addresses of assets that begin with the server's own, ``public_url``.

        Where that is ``None``, or the workspace names another place for its assets, they are the same.
        """
        path = self.rich_text.assets_url
        if public_url is None or path is None or not path.startswith("/"):
            return self
        rich_text = msgspec.structs.replace(self.rich_text, assets_url=public_url + path)
        return msgspec.structs.replace(self, rich_text=rich_text)


class WellFormed(msgspec.Struct, frozen=True):
    """An API's definition whose file has the right shape."""

    file: str
    document: ContentDocument
    shape: ApiShape
