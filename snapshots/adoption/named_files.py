"""The pictures and files beside a site's content that its texts name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from snapshots.adoption.reading import MAX_BYTES
from snapshots.compile.assets import TYPES, is_relative_asset
from snapshots.definitions.files import wrong_link

_ENDING = re.compile(rf"\.(?:{'|'.join(TYPES)})\b", re.IGNORECASE)
_AROUND = "\n\"'`<>()[]{}"
"""Characters around an address; between some of them it may have spaces."""
_AROUND_WORDS = f"{_AROUND} \t\r,|="
_LONGEST = 1_000


def named_files(root: Path, files: Iterable[str]) -> list[str]:
    """Return the files of a site to which relative addresses in its content files lead, each once."""
    return sorted({path for file in files for path in _named_in(root, file)})


def _named_in(root: Path, file: str) -> Iterator[str]:
    try:
        with (root / file).open("rb") as opened:
            text = opened.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return
    for found in _ENDING.finditer(text):
        before = text[max(0, found.end() - _LONGEST) : found.end()]
        for marks in (_AROUND, _AROUND_WORDS):
            url = before[max(map(before.rfind, marks)) + 1 :]
            path = normpath(join(dirname(file), unquote(url)))
            if is_relative_asset(url) and not path.startswith(".") and "/." not in path and _is_file(root, path):
                yield path


def _is_file(root: Path, path: str) -> bool:
    try:
        return (root / path).is_file() and wrong_link(root, path) is None
    except (OSError, ValueError):  # a name that no system takes
        return False
