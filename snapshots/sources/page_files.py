"""The content files that a name in a link can mean, as Hugo's ``ref`` and Jekyll's ``link`` look for them.

A name is a path without or with an extension. It is looked for beside the file that links, and in the folders that
the sources of the APIs begin with: ``blog/hello`` is ``content/blog/hello.md``, and in a German text ``hello.de.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath

from snapshots.definitions.model import Definitions
from snapshots.definitions.patterns import alternatives
from snapshots.documents.document import format_of

Named = Callable[[str, str], list[str]]
"""Given a folder in the workspace and a beginning, returns the folder's names that are the beginning or continue it
after a dot."""
_LITERAL = re.compile(r"[^*?\[\]{}]+")
_LANG = "{lang}"
_INDEXES = ("index", "_index")
_DRAFT = ".draft"


class PageFiles:
    """Finds content files by name."""

    def __init__(self, definitions: Definitions, named: Named) -> None:
        self._named = named
        workspace = definitions.workspace
        maps = [source.lang_map for source in definitions.sources.values()]
        self._spellings: dict[str, list[str]] = {
            lang: list(dict.fromkeys([lang, *(one for names in maps for one, said in names.items() if said == lang)]))
            for lang in workspace.languages
        }
        self._languages = {one: lang for lang, spellings in self._spellings.items() for one in spellings}
        texts = [
            text
            for api in workspace.apis
            for text in definitions.sources[api.uid].patterns or (f"content/{api.endpoint}/*", "content/*")
        ]
        self._starts = sorted({"", *(start for text in texts for start in _starts(text))}, key=_depth)

    def named(self, name: str, file: str, lang: str) -> Iterator[str]:
        """Return the files that a name in a file in a language can mean, the likeliest first.

        A name that begins with ``/`` is not looked for beside the file, one that begins with ``.`` only there.
        """
        folders: list[str] = []
        if not name.startswith("/"):
            folders.append(dirname(file))
            # What is beside a page with a folder of its own is, to Hugo, beside that folder.
            if file.rpartition("/")[2].partition(".")[0] in _INDEXES:
                folders.append(dirname(dirname(file)))
        if not name.startswith("."):
            for start in self._starts:
                spellings = self._spellings.get(lang, []) if _LANG in start else [""]
                folders += [start.replace(_LANG, spelling) for spelling in spellings]
        for folder in dict.fromkeys(folders):
            path = normpath(join(folder, name.strip("/")))
            if not path.startswith("."):
                yield from self._at(path, lang)

    def _at(self, path: str, lang: str) -> Iterator[str]:
        folder, _, name = path.rpartition("/")
        stem, dot, extension = name.rpartition(".")
        yield from self._with_stem(folder, stem if dot and format_of(extension) is not None else name, lang)
        if name in self._named(folder, name):
            for index in _INDEXES:
                yield from self._with_stem(path, index, lang)

    def _with_stem(self, folder: str, stem: str, lang: str) -> Iterator[str]:
        """Return the files in a folder with a name, those in the language first, then those in none."""
        found = []
        for name in self._named(folder, stem):
            before, _, extension = name.rpartition(".")
            if len(before) < len(stem) or format_of(extension) is None:
                continue
            rest = before[len(stem) :].removesuffix(_DRAFT)
            if not rest or rest[1:] in self._languages:
                written = self._languages[rest[1:]] if rest else None
                found.append((written != lang, written is not None, name))
        for _, _, name in sorted(found):
            yield join(folder, name)


def _starts(pattern: str) -> Iterator[str]:
    """Return the folders that a pattern begins with: ``content`` and ``content/blog`` of ``content/blog/{path}.md``."""
    for form in alternatives(pattern):
        folders = form.split("/")[:-1]
        for number, folder in enumerate(folders, start=1):
            if folder != _LANG and _LITERAL.fullmatch(folder) is None:
                break
            yield "/".join(folders[:number])


def _depth(start: str) -> tuple[int, str]:
    return len(start) and start.count("/") + 1, start
