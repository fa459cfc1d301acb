"""Resolve references written as paths or URLs of the site to IDs, by the rules that give an API's entries their IDs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote, urlsplit

from snapshots.definitions.model import ApiSource
from snapshots.definitions.patterns import Pattern, alternatives, parse_pattern
from snapshots.documents.document import format_of

_OF_PAGES = frozenset({"html", "htm", "php"})
_INDEX = re.compile(r"(?:^|/)_?index(?:\.\{lang\})?$")
_LITERAL = re.compile(r"[^*?\[\]{}]*|\{lang\??\}")

_MAX_PATH = 4_096
"""Characters of a path or URL; the time of matching a pattern grows with their square."""

MakeId = Callable[[dict[str, str], str], str | None]
"""Returns the ID that the API makes of the named parts of a path and its last name; ``None`` if it makes none."""


class SitePaths:
    """Finds the entries of one API by their paths, without a look at the files."""

    def __init__(
        self, endpoint: str, source: ApiSource, languages: Sequence[str], domains: Sequence[str], make_id: MakeId
    ) -> None:
        """``domains`` are those of the site in ``workspace.yaml``; without any, the host of a URL does not count."""
        spellings = [*languages, *source.lang_map]
        texts = source.patterns or (
            f"content/{endpoint}/**/{{name}}.{{lang}}.md",
            f"content/{endpoint}/**/{{name}}.md",
        )
        found: list[tuple[int, Pattern]] = []
        for text in texts:
            for form in alternatives(text):
                stem = _stem(form)
                segments = stem.split("/")
                for dropped in range(len(segments)):
                    found.append((dropped, parse_pattern("/".join(segments[dropped:]), spellings)))
                    if not _LITERAL.fullmatch(segments[dropped]):
                        break
        self._patterns = [pattern for _, pattern in sorted(found, key=lambda pair: pair[0])]
        self._domains, self._make_id = domains, make_id

    def entry_id(self, written: str, file: str) -> str | None:
        """Return the ID that a path or URL, written in ``file``, leads to; ``None`` if it is no path of this API.

        A path that begins with ``./`` or ``../`` starts at the file's folder, any other at the root of the site or of
        the workspace. Folders before the changing parts of ``source`` may be left out, as sites do in URLs.
        """
        if len(written) > _MAX_PATH:
            return None
        try:
            parts = urlsplit(written.strip())
        except ValueError:
            return None
        if parts.scheme not in ("", "http", "https"):
            return None
        if parts.netloc and self._domains and not self._is_of_site(parts.hostname or ""):
            return None
        path = unquote(parts.path)
        if path.startswith(("./", "../")):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
            if path.startswith("../"):
                return None
        path = _stem(path.strip("/"))
        if not path:
            return None
        for pattern in self._patterns:
            named = pattern.parts(path)
            if named is not None:
                named.pop("lang", None)
                return self._make_id(named, path.rpartition("/")[2])
        return None

    def _is_of_site(self, host: str) -> bool:
        return any(host.endswith(domain[1:]) if domain.startswith("*.") else host == domain for domain in self._domains)


def _stem(path: str) -> str:
    """Return a path or pattern without the extension of a page, and without ``index`` as its last name."""
    before, dot, extension = path.rpartition(".")
    is_page = format_of(extension) is not None or extension.lower() in _OF_PAGES
    if dot and "/" not in extension and (is_page or extension == "*"):
        path = before
    return _INDEX.sub("", path) or path
