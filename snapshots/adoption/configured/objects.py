"""Find objects that are written out in programs (JavaScript, TypeScript): their text, and the values of their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_PIECE: Final = re.compile(
    r"(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`"
    r"|[^/'\"`{}()\[\]]+|."
)
_OPENING: Final = "{(["
_CLOSING: Final = "})]"
_NAMED: Final = re.compile(r"\$\{\s*([A-Za-z_$][\w$]*)\s*\}")


def plain_program(text: str) -> str:
    """Return a program without its comments, and with texts filled in: ``a${B}`` where ``B`` is written out."""
    plain = "".join(" " if piece["comment"] else piece[0] for piece in _PIECE.finditer(text))

    def value_of(found: re.Match[str]) -> str:
        written = re.search(
            rf"\b(?:const|let|var)\s+{re.escape(found[1])}\s*(?::\s*string\s*)?=\s*([\"'`])([^\"'`$]*)\1", plain
        )
        return written[2] if written else found[0]

    return _NAMED.sub(value_of, plain)


def objects_after(program: str, expression: str) -> Iterator[tuple[re.Match[str], str]]:
    """Return what stands in the braces or brackets after each match of an expression, with the match."""
    for found in re.finditer(rf"(?:{expression})\s*(?=[{{\[])", program):
        yield found, inside(program, found.end())


def inside(program: str, start: int) -> str:
    """Return what stands between the bracket at a place and the one that closes it, or to the end."""
    depth = 0
    for piece in _PIECE.finditer(program, start):
        if piece[0] in _OPENING:
            depth += 1
        elif piece[0] in _CLOSING:
            depth -= 1
            if depth == 0:
                return program[start + 1 : piece.start()]
    return program[start + 1 :]


def without_inner(text: str) -> str:
    """Return the text of an object without what stands in the braces inside."""
    kept, depth = list[str](), 0
    for piece in _PIECE.finditer(text):
        if piece[0] == "}":
            depth -= 1
        if depth == 0:
            kept.append(piece[0])
        if piece[0] == "{":
            depth += 1
    return "".join(kept)
