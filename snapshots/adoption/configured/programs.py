"""Read lists of texts out of programs (JavaScript, TypeScript, Python) as far as they are written out: none is run."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*[\s\S]*?\*/|#[^\n]*"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`"
    r"|[\[\](),]|\s+|[A-Za-z_$][\w$.]*|."
)
_QUOTES: Final = "'\"`"
_ESCAPE: Final = re.compile(r"\\(.)")
_STEPS: Final = 3
"""Names that lead to a list by way of others."""


def texts_after(program: str, key: str, part: str | None = None) -> tuple[list[str], bool]:
    """Return the texts of each list or text that follows a key or is assigned to a name, and whether these are all.

    ``a: ['x', 'y']``, ``a = ("x",)``, ``a: [...others, 'z']`` with ``const others = ['u']``. The key is looked up in
    ``part`` of the program where that is given.
    """
    return _texts_of(program, key, _STEPS, program if part is None else part)


def _texts_of(program: str, key: str, steps: int, part: str) -> tuple[list[str], bool]:
    found, is_whole = list[str](), True
    named = rf"(?<![\w$.])[\"']?{re.escape(key)}[\"']?\s*"
    for place in re.finditer(rf"{named}(?::[\w<>|\[\] ]+=|[:=])(?!=)\s*", part):
        texts, names, is_clear = _value(part, place.end())
        found += texts
        is_whole = is_whole and is_clear
        for name in names:
            more, is_known = _texts_of(program, name, steps - 1, program) if steps else ([], False)
            found += more
            is_whole = is_whole and is_known and bool(more)
    return found, is_whole


def _value(program: str, start: int) -> tuple[list[str], list[str], bool]:
    """Return the texts of the value at a place, the names that it takes others from, and whether that is all of it."""
    texts, names, depth, is_clear = list[str](), list[str](), 0, True
    for token in _TOKEN.finditer(program, start):
        text = token[0]
        if text[0] in _QUOTES and len(text) > 1:
            inside = _ESCAPE.sub(r"\1", text[1:-1])
            texts += [inside] if "${" not in inside else []
            is_clear = is_clear and "${" not in inside
        elif text in ("[", "("):
            depth += 1
        elif text in ("]", ")"):
            depth -= 1
        elif re.match(r"[A-Za-z_$]", text):
            if text in ("null", "undefined", "None", "false", "False"):
                pass
            elif depth or not texts:
                names.append(text)
        elif not (text.isspace() or text in (",", ".") or text.startswith(("//", "/*", "#"))):
            is_clear = False
        if depth <= 0 and not text.isspace() and not text.startswith(("//", "/*", "#")):
            break
    return texts, names, is_clear
