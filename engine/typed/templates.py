"""Source texts that are the same for every workspace, from the folder ``source``, and the names in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "source"
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*|\"\"\".*?\"\"\"|#[^\n]*|`[^`\n]*`|\"[^\"\n]*\"", re.DOTALL)


def template(name: str) -> str:
    """Return the text of a file of the folder."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def names_in(*texts: str) -> frozenset[str]:
    """Return the capitalised names that source texts declare or use, so that no type of an API takes one of them.

    Comments and texts in quotes hold none. TypeScript's ``#name`` is taken for a comment; it has no capital.
    """
    return frozenset(name for text in texts for name in re.findall(r"\b[A-Z]\w*", _COMMENT.sub(" ", text)))
