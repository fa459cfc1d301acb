"""Tell of files in an API's folder that look like content and are not read, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from snapshots.documents.document import format_of

_DOCUMENTS: Final = frozenset({"doc", "docx", "odt", "pages", "rtf"})
_TABLES: Final = frozenset({"csv", "numbers", "ods", "tsv", "xls", "xlsx"})
_MARKUP: Final = frozenset({"adoc", "asciidoc", "htm", "html", "ipynb", "markdoc", "mdoc", "org", "qmd", "rmd", "rst"})
_TEXTS: Final = frozenset({"text", "textile", "txt"}) | _MARKUP
STRAYS: Final = _DOCUMENTS | _TABLES | _TEXTS
"""Extensions, in lower case, of files that people take for content, and nothing reads."""
OF_REPOSITORIES: Final = frozenset({"README", "LICENSE", "LICENCE", "CHANGELOG", "CONTRIBUTING", "AGENTS", "CLAUDE"})
"""The names, in upper case and without extension, of files that repositories have besides their content."""


class Stray(NamedTuple):
    """A file in an API's folder that looks like content and is not read, unless a text names it."""

    path: str
    message: str
    is_slip: bool
    """Whether its name can only be a slip, so that it matters also where the files that texts name are not known."""


def names_of_content(path: str) -> Iterator[str]:
    """Return the paths that a file of one of ``STRAYS`` could have if it were content."""
    stem = path.rpartition(".")[0]
    if _is_slip(stem):
        yield stem
    else:
        yield from (f"{stem}.{usual}" for usual in ("md", "yaml", "json"))


def stray(path: str) -> Stray:
    """Return a file of one of ``STRAYS`` with what to do about it."""
    stem, _, extension = path.rpartition(".")
    extension, name = extension.lower(), stem.rpartition("/")[2]
    if _is_slip(stem):
        return Stray(path, f"is not read: name it {name}", is_slip=True)
    if extension in _TABLES:
        message = f"a table (.{extension}) is not read: write its rows as YAML, or as JSON, one a line, in a .jsonl"
    elif extension in _DOCUMENTS:
        message = f"a document (.{extension}) is not read: write its text as Markdown, in a file that ends with .md"
    else:
        message = f"a .{extension} file is not read: write its text as Markdown, in a file that ends with .md"
    return Stray(path, f"{message}; if it is no content, leave it out with an 'exclude'", is_slip=False)


def _is_slip(stem: str) -> bool:
    return format_of(stem.rpartition(".")[2]) is not None
