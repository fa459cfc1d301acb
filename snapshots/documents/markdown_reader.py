"""Parse a Markdown file into a document: its front matter (YAML, TOML or JSON) and its body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snapshots.documents.document import ContentDocument, LineTree, Markdown, Plain, RawValue, decode
from snapshots.documents.json_reader import read_json_object
from snapshots.documents.slips import closing_slip, front_matter_slip, open_fence, scalar_slip
from snapshots.documents.toml_reader import InvalidToml, parse_toml
from snapshots.documents.yaml_reader import InvalidYaml, YamlReader, describe
from snapshots.problems import Problems

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\r?(?:\n|\Z)")
_OPENING_JSON = re.compile(r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.)*\"\s*:)")
_CLOSING_TOML = re.compile(r"^\+\+\+[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANKS = re.compile(r"[ \t]*\r?\n")
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0C, 0x0D})
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_markdown(file: str, data: bytes, problems: Problems) -> Iterator[ContentDocument]:
    """Return the one document of a Markdown file.

    YAML front matter begins when the first line is ``---`` and ends before the next line that is ``---`` or
    ``...``, blanks at the end allowed; TOML stands between lines of ``+++``; JSON is an object that begins with
    the file. A file without front matter is all body. Line ends in the body become ``\\n``. ``line_of("$body")``
    is the line on which the body begins.
    """
    text = decode(file, data, problems)
    if text is None:
        return
    values: dict[str, RawValue] = {}
    lines, start, broken = LineTree(1, {}), 0, False
    opening = _OPENING.match(text)
    if opening is not None:
        is_toml = opening[1] == "+++"
        closing = (_CLOSING_TOML if is_toml else _CLOSING).search(text, opening.end())
        if closing is None:
            never = 1, f"the front matter that begins here is never closed: end it with a line of {opening[1]}"
            line, message = (None if is_toml else closing_slip(text, opening.end())) or never
            problems.error(file, line, "front-matter", message, in_version=True)
            return
        start = closing.end()
        within = text[opening.end() : closing.start()]
        read = _toml(file, within, problems) if is_toml else _front_matter(file, within, problems)
        if read is None:
            return
        values, lines, broken = read
    elif text.startswith("{") and _OPENING_JSON.match(text):
        found = read_json_object(file, text, problems)
        if found is None:
            return
        document, start = found
        values, broken = document.values, document.broken
        found_lines = document.lines() if callable(document.lines) else document.lines
        lines = LineTree(1, {}) if found_lines is None else found_lines
        start = _rest_of_line(text, start)
    elif (slip := front_matter_slip(text)) is not None:
        problems.error(file, slip[0], "front-matter", slip[1], in_version=True)
        return
    first_line = 1 + text.count("\n", 0, start)
    if len(data.translate(None, _CONTROL_BYTES)) != len(data):
        _warn_of_control(file, text, start, problems)
    if lines.inside is not None:
        lines.inside.setdefault("$body", LineTree(first_line))
    body = Markdown(text[start:].replace("\r\n", "\n"))
    fence = open_fence(body)
    if fence is not None:
        message = "the code fence that begins here is never closed, so all that follows is code: close it"
        problems.warning(file, first_line + fence - 1, "open-fence", message)
    yield ContentDocument(values, 1, body, None, broken, lines)


def _front_matter(file: str, text: str, problems: Problems) -> tuple[dict[str, RawValue], LineTree, bool] | None:
    """Return the values, their lines, and whether a problem was reported; ``None`` if the values cannot be used."""
    reader = YamlReader(text, first_line=2)
    try:
        value, lines = reader.root()
    except InvalidYaml as error:
        reader.report_end(file, problems, error, in_version=True)
        return None
    broken = bool(reader.complaints)
    reader.report(file, problems)
    if isinstance(value, Plain) and value in ("", "~", "null"):
        return {}, LineTree(1, {}), broken
    if not isinstance(value, dict):
        slip = scalar_slip(text) if isinstance(value, Plain) else None
        message = (
            f"the front matter must be a mapping (key: value), but is {describe(value)}" if slip is None else slip[1]
        )
        problems.error(file, lines.line, "no-mapping", message, in_version=True)
        return None
    return value, lines, broken


def _toml(file: str, text: str, problems: Problems) -> tuple[dict[str, RawValue], LineTree, bool] | None:
    """Return the values of TOML front matter and their lines; ``None``, and a problem, if they cannot be used."""
    try:
        return *parse_toml(text, first_line=2), False
    except InvalidToml as error:
        problems.error(file, error.line, error.kind, str(error), in_version=True)
        return None


def _rest_of_line(text: str, start: int) -> int:
    """Return where the body begins: after the line end behind the front matter, if nothing else stands there."""
    found = _BLANKS.match(text, start)
    return found.end() if found is not None else start


def _warn_of_control(file: str, text: str, start: int, problems: Problems) -> None:
    for match in _CONTROL.finditer(text, start):
        at = match.start()
        column = at - text.rfind("\n", 0, at)
        message = f"control character U+{ord(match.group()):04X} at column {column}: remove it"
        problems.warning(file, 1 + text.count("\n", 0, at), "control-character", message)
