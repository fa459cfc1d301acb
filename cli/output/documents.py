"""One JSON document on standard output, for programs; and other text that is printed as it is."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from cli.output.streams import flush, write, writing
from snapshots.control_characters import CONTROL


@dataclass
class _Document:
    """The state of a command's one JSON document."""

    begun: bool = False


_document = _Document()


def begin_command() -> None:
    """Forget the document of an earlier command of this process."""
    _document.begun = False


def write_json(document: object) -> None:
    """Print one JSON document on standard output."""
    import json

    write_json_text(json.dumps(document, ensure_ascii=False, indent=2))


def write_error_document(text: str) -> None:
    """Print the reason of a failure as the command's JSON document, unless another one has been begun."""
    if not _document.begun:
        write_json({"error": text})


def write_json_text(text: str) -> None:
    """Print a JSON document given as text, in UTF-8 whatever the terminal's encoding is."""
    write_json_parts((text,))


def write_json_parts(parts: Iterable[str]) -> None:
    """Print one JSON document that comes in parts, so that it can be larger than memory."""
    _document.begun = True
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    for part in parts:
        write(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", part))
    write("\n")
    flush()


def write_source(text: str) -> None:
    """Print the source text of a program on standard output, in UTF-8, with control characters as escapes.

    Control characters stand in strings only, where TypeScript and Python both read the escapes.
    """
    write_json_text(text.removesuffix("\n"))


def write_text(text: str) -> None:
    """Print a file's text on standard output as it is, in UTF-8 whatever the terminal's encoding is."""
    write_text_parts((text,))


def write_text_parts(parts: Iterable[str]) -> None:
    """Print a file's text that comes in parts, so that it can be larger than memory, as ``write_text`` does."""
    with writing(stderr=False):
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.flush()
            sys.stdout.reconfigure(encoding="utf-8", newline="")
    for part in parts:
        write(part)
    flush()
