"""Turn links to content files in rich texts into the addresses of their pages, and note the entries, to be checked.

The entry's ID is taken from the file's path alone, so that a text never depends on another file's content. Whether
there is such an entry is checked once all entries are known. What follows ``@/`` is the name of a page, by which its
file is looked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from urllib.parse import quote, unquote, urlsplit

from snapshots.aliases.reading import NOTHING_RENAMED, Renamed
from snapshots.compile.entry_ids import id_maker
from snapshots.compile.plain_html import ID_PREFIX
from snapshots.definitions.model import Definitions
from snapshots.documents.document import format_of
from snapshots.ids import ID_FORM, valid_id
from snapshots.model import ApiKind
from snapshots.sources.listing import Paths
from snapshots.sources.page_files import Named, PageFiles

NAMED = "@/"
"""Stands before the name of a page in a link."""
_NAMED = re.compile(rf"(?:[^?#:]*?|[^?#]*?[^?#/]){NAMED}([^?#]*)(\?[^#]*)?(#.+)?#?")
"""Anything, such as the address of the site, and the name of a page, query, and fragment; but no address of another
site that has a folder ``@``, as in ``https://site.example/@/name``."""
_HREF = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:|//)([^?#]+)(\?[^#]*)?(#.+)?#?")
"""A path without scheme and host, query, and fragment."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a page of the workspace."""

    href: str
    """The address to deliver."""
    api: int
    """The position of the entry's API in the workspace."""
    entry_id: str
    old_id: str | None = None
    """The old ID by which the link leads there, if it does."""


class InvalidLink(ValueError):
    """A link to a content file leads to no page. The message names the reason, not the place."""


class NoPageUrl(InvalidLink):
    """A link leads to an entry of an API that has no pages: told once, however many such links there are."""


class Links:
    """Resolves links to the pages of the APIs that have a ``page_url``."""

    def __init__(self, definitions: Definitions, named: Named) -> None:
        self._definitions = definitions
        self._has_pages = any(source.page_url for source in definitions.sources.values())
        self._paths = Paths(definitions)
        self._files = PageFiles(definitions, named)
        languages = definitions.workspace.languages
        self.renamed: Renamed = NOTHING_RENAMED
        """The entries that old IDs lead to, for the caller to set."""
        self._by_address: list[tuple[int, re.Pattern[str], list[bool]]] = []
        for number, api in enumerate(definitions.workspace.apis):
            page_url = definitions.sources[api.uid].page_url
            if page_url is not None:
                known = {"id": f"(?P<id>{ID_FORM})", "lang": f"({'|'.join(map(re.escape, languages))})"}
                pattern = ""
                steps = re.split(r"\{(id|lang)\}", urlsplit(page_url).path.rstrip("/"))
                for at, step in enumerate(steps):
                    pattern += known[step] if at % 2 else f"({re.escape(step)})"
                    known["id"] = "((?P=id))" if "?P<id>" in pattern else known["id"]
                is_id = [at % 2 == 1 and step == "id" for at, step in enumerate(steps)]
                self._by_address.append((number, re.compile(f"{pattern}(/?)"), [*is_id, False]))

    def resolved(self, file: str, href: str) -> Link | None:
        """Return the page that a link in a content file leads to; ``None`` for any other link.

        Raises ``InvalidLink`` for a link to a content file that has no page.
        """
        named = _NAMED.fullmatch(href) if NAMED in href else None
        if not self._has_pages and named is None:
            return None
        found = named or _HREF.fullmatch(href)
        if found is None:
            return None
        path, query, fragment = unquote(found[1]), found[2] or "", found[3] or ""
        # Delivered texts have prefixed IDs.
        if fragment and not fragment.startswith(f"#{ID_PREFIX}"):
            fragment = f"#{ID_PREFIX}{fragment[1:]}"
        if named is not None:
            address, number, entry_id, old = self._named_page(file, path)
            return Link(_joined(address, query) + fragment, number, entry_id, old)
        if path.startswith("/"):
            for number, pattern, is_id in self._by_address:
                page = pattern.fullmatch(path)
                if page is not None and "id" in page.groupdict():
                    new = self._new_id(number, page["id"])
                    if new is None:
                        return Link(found[1] + query + fragment, number, page["id"])
                    path = "".join(new if one else part for one, part in zip(is_id, page.groups(), strict=True))
                    path = path if unquote(found[1]) == found[1] else quote(path)
                    return Link(path + query + fragment, number, new, page["id"])
            return None
        if format_of(path.rpartition(".")[2]) is None:
            return None
        address, number, entry_id, old = self._page(file, normpath(join(dirname(file), path)))
        return Link(_joined(address, query) + fragment, number, entry_id, old)

    def _new_id(self, number: int, entry_id: str) -> str | None:
        """Return the ID that an entry of an API, given by its position, has now, where ``entry_id`` is an old one."""
        names = self.renamed.get((self._definitions.workspace.apis[number].uid,))
        new = None if names is None else names.get(entry_id)
        return None if new is None else new.entry_id

    def _named_page(self, file: str, name: str) -> tuple[str, int, str, str | None]:
        """Return what ``_page`` does for the page that a name means."""
        if not self._has_pages:
            raise NoPageUrl("leads to a page, and no API has a 'page_url'")
        if not name:
            return self._page(file, file)
        lang = next((said.lang for _, said, _ in self._paths.read(file) if said.lang is not None), None)
        wrong = InvalidLink("leads to no content file: write its path from the folder of this file or of the content")
        none_so_far = True
        for path in self._files.named(name, file, lang or self._definitions.workspace.main_language):
            try:
                return self._page(file, path)
            except InvalidLink as error:
                wrong, none_so_far = error if none_so_far else wrong, False
        raise wrong

    def _page(self, file: str, path: str) -> tuple[str, int, str, str | None]:
        """Return the address of the page that a content file holds, its API's position, its ID, and the old ID by which
        the file is named, if it is."""
        if path.startswith("../"):
            raise InvalidLink("leads out of the workspace")
        feeds = self._paths.read(path)
        workspace = self._definitions.workspace
        for uid, name, _ in feeds:
            source = self._definitions.sources[uid]
            if source.page_url is None:
                continue
            number, api = next((at, api) for at, api in enumerate(workspace.apis) if api.uid == uid)
            lang = name.lang or workspace.main_language
            if api.kind is ApiKind.OBJECT:
                entry_id: str | None = api.endpoint
            else:
                entry_id = id_maker(source, lang)(name.parts, name.name)
            if entry_id is None or not valid_id(entry_id):
                raise InvalidLink(f"leads to {path}, whose ID does not follow from its path: write its page's address")
            new = self._new_id(number, entry_id)
            address = page_address(source.page_url, new or entry_id, lang)
            return address, number, new or entry_id, None if new is None else entry_id
        if feeds:
            endpoint = next(api.endpoint for api in workspace.apis if api.uid == feeds[0][0])
            raise NoPageUrl(f"leads to an entry of {endpoint}, which has no 'page_url'")
        where = "itself" if path == file else path
        raise InvalidLink(f"leads to {where}, which does not belong to any API")


def page_address(page_url: str, entry_id: str, lang: str) -> str:
    """Return the address of an entry's page in a language."""
    return page_url.replace("{id}", quote(entry_id)).replace("{lang}", quote(lang))


def _joined(address: str, query: str) -> str:
    return address + (f"&{query[1:]}" if query and "?" in address else query)
