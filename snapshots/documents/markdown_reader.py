"""A Markdown file → one document: its YAML front matter as values, the text after it as the body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snapshots.documents.document import Document, LineTree, Markdown, Plain, RawValue, decode
from snapshots.documents.yaml_reader import InvalidYaml, YamlReader, describe
from snapshots.problems import Problems

_OPENING = re.compile(r"---[ \t]*\r?(?:\n|\Z)")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0C, 0x0D})
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_markdown(file: str, data: bytes, problems: Problems) -> Iterator[Document]:
    """Return the one document of a Markdown file.

    Front matter begins when the first line is ``---`` and ends before the next line that is ``---`` or
    ``...``, blanks at the end allowed. A file without it is all body. Line ends in the body become
    ``\\n``. ``line_of("$body")`` is the line on which the body begins.
    """
    text = decode(file, data, problems)
    if text is None:
        return
    values: dict[str, RawValue] = {}
    lines, start, broken = LineTree(1, {}), 0, False
    opening = _OPENING.match(text)
    if opening is not None:
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            message = "the front matter that begins here is never closed: end it with a line of ---"
            problems.error(file, 1, "front-matter", message, in_version=True)
            return
        start = closing.end()
        read = _front_matter(file, text[opening.end() : closing.start()], problems)
        if read is None:
            return
        values, lines, broken = read
    elif text.startswith("+++\n") or text.startswith("+++\r\n"):
        problems.warning(
            file, 1, "front-matter", "TOML front matter is not read: write it as YAML between lines of ---"
        )
    first_line = 1 + text.count("\n", 0, start)
    if len(data.translate(None, _CONTROL_BYTES)) != len(data):
        _warn_of_control(file, text, start, problems)
    if lines.inside is not None:
        lines.inside.setdefault("$body", LineTree(first_line))
    body = Markdown(text[start:].replace("\r\n", "\n"))
    yield Document(values, 1, body, None, broken, lines)


def _front_matter(file: str, text: str, problems: Problems) -> tuple[dict[str, RawValue], LineTree, bool] | None:
    """Return the values, their lines, and whether a problem was reported; ``None`` if the values cannot be used."""
    reader = YamlReader(text, first_line=2)
    try:
        value, lines = reader.root()
    except InvalidYaml as error:
        reader.report(file, problems)
        problems.error(file, error.line, error.kind, str(error), in_version=True)
        return None
    broken = bool(reader.complaints)
    reader.report(file, problems)
    if isinstance(value, Plain) and value in ("", "~", "null"):
        return {}, LineTree(1, {}), broken
    if not isinstance(value, dict):
        message = f"the front matter must be a mapping (key: value), but is {describe(value)}"
        problems.error(file, lines.line, "no-mapping", message, in_version=True)
        return None
    return value, lines, broken


def _warn_of_control(file: str, text: str, start: int, problems: Problems) -> None:
    for match in _CONTROL.finditer(text, start):
        at = match.start()
        column = at - text.rfind("\n", 0, at)
        message = f"control character U+{ord(match.group()):04X} at column {column}: remove it"
        problems.warning(file, 1 + text.count("\n", 0, at), "control-character", message)
