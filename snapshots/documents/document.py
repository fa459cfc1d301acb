"""Documents: the raw values of a content file with their lines, before any field's type is known.

All formats give the same shape, so that the compiler does not know them. Quoted YAML
scalars and JSON strings are plain ``str``; an unquoted YAML scalar stays as written, since only the
field's type can tell whether ``1.10`` is a number or a text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from snapshots.model import META_DATES
from snapshots.problems import Problems

MAX_DEPTH = 64
"""The deepest nesting of mappings and lists: content has no use for more, and parsers break on it."""

SYSTEM_KEYS = frozenset({"id", "lang", "status", "draft", "draftKey", "publishStart", "publishEnd", *META_DATES})
"""The keys of a document that identify a version, its state and its dates (workspace-format, "A language version")."""


class Format(StrEnum):
    """The formats of content files."""

    MARKDOWN = "md"
    YAML = "yaml"
    JSON = "json"
    JSONL = "jsonl"
    TOML = "toml"


FORMATS: Final = {
    "md": Format.MARKDOWN,
    "yaml": Format.YAML,
    "yml": Format.YAML,
    "json": Format.JSON,
    "jsonl": Format.JSONL,
    "toml": Format.TOML,
    "markdown": Format.MARKDOWN,
    "mdx": Format.MARKDOWN,
}
"""The formats of content files, by extension in lower case. Files with other extensions are no content."""


def format_of(extension: str) -> Format | None:
    """Return the format of files with an extension, in whatever case; ``None`` if they are no content."""
    return FORMATS.get(extension) or FORMATS.get(extension.lower())


class Plain(str):
    """An unquoted YAML scalar as written; the field's type decides what it means."""

    __slots__ = ()


class Markdown(str):
    """The text after a file's front matter: CommonMark."""

    __slots__ = ()


RawValue: TypeAlias = "str | Plain | Markdown | bool | int | float | list[RawValue] | dict[str, RawValue] | None"

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def is_null(raw: RawValue) -> bool:
    """Return whether a raw value is null: null, YAML's unquoted null forms, or the blank text of a Markdown file."""
    if type(raw) is Plain:
        return raw in _NULLS
    return raw is None or (type(raw) is Markdown and not raw.strip())


def is_missing(raw: RawValue) -> bool:
    """Return whether a raw value is none wherever an empty text means nothing: null, or a text without a character."""
    return raw == "" or is_null(raw)


@dataclass(slots=True)
class LineTree:
    """The line of a value (its key's line, if it has a key) and of everything inside it."""

    line: int
    inside: dict[str | int, LineTree] | None = None


class ContentDocument(msgspec.Struct):
    """One language version as its file gives it."""

    values: dict[str, RawValue]
    line: int
    """1-based line on which this record begins."""
    body: Markdown | None = None
    """The text after the front matter; ``None`` in every format but Markdown."""
    item: int | None = None
    """Position in the file's list, from 0; ``None`` where the file is one document. Only then can the file's name
    give an ID."""
    broken: bool = False
    """True for a document with a reported problem: its values are checked like others, but not delivered."""
    lines: LineTree | Callable[[], LineTree | None] | None = None
    """The lines of the values, or the function that finds them; ``None`` where all stand on ``line``."""
    key: str | None = None
    """The key under which the document stands in a mapping of many."""
    value: RawValue = None
    """The whole item of a collection, also where it is no mapping."""
    kept_back_by: tuple[str, ...] = ()
    """The keys around the collection whose values plainly say that it is not for everybody."""
    lang: str | None = None
    """The language as the key around the collection names it, where one does."""

    def says_nothing(self) -> bool:
        """Return whether a file without a key and without text is the document."""
        return not self.values and not (self.body or "").strip() and self.item is None and self.key is None

    def line_of(self, *path: str | int) -> int:
        """Return the line of a key (``"title"``) or of a value inside it (``"tags", 2``).

        A path that leads nowhere has the line of its last step that exists.
        """
        if callable(self.lines):
            self.lines = self.lines()
        here, line = self.lines, self.line
        for step in path:
            here = here.inside.get(step) if here is not None and here.inside is not None else None
            if here is None:
                break
            line = here.line
        return line


_SHOWN = 60


def item_name(position: int | None, key: str | None = None, entry_id: str | None = None) -> str:
    """Return the words by which problems name an item of a file of many; none for a file that is one document.

    An item of a mapping is named by its key, one of a list by its position, from 1, and its ID where that is known.
    """
    if key is not None:
        return f"item {_cut(key)!r}"
    if position is None:
        return ""
    return f"item {position + 1}" + (f" ({_cut(entry_id)!r})" if entry_id else "")


def _cut(text: str) -> str:
    return str(text) if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def decode(
    file: str,
    data: bytes,
    problems: Problems,
    *,
    first_line: int = 1,
    in_version: bool = True,
    has_mark: bool = True,
) -> str | None:
    """Return UTF-8 bytes as text; ``None``, and a problem at its line, for other bytes.

    A byte order mark at the beginning is left out, unless ``has_mark`` is false: none is allowed there then.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        column = error.start - data.rfind(b"\n", 0, error.start)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            message = "the file is UTF-16: save it as UTF-8"
        elif b"\0" in data[:8192]:
            message = "the file is binary, not text: remove it from the API's sources"
        else:
            message = (
                f"not valid UTF-8: byte 0x{data[error.start]:02x} at byte {column} of the line; save the file as UTF-8"
            )
        problems.error(file, line, "encoding", message, in_version=in_version)
        return None
    return text[1:] if has_mark and text.startswith("\ufeff") else text
