"""The style sheets, scripts and pictures of the pages, by name. Nothing comes from elsewhere."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from server.http.document import StaticDocument, static_document

_HERE: Final = Path(__file__).parent
_OWN: Final = _HERE / "assets"
_VENDORED: Final = _HERE / "vendor"
"""Files of other projects as they publish them, each with its licence beside it."""
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@cache
def _files() -> dict[str, Path]:
    return {file.name: file for folder in (_OWN, _VENDORED) for file in folder.iterdir() if file.suffix in _TYPES}


@cache
def page_file(name: str) -> StaticDocument | None:
    """Return a file by its name, ``None`` where there is none of that name."""
    file = _files().get(name)
    return None if file is None else static_document(file.read_bytes(), _TYPES[file.suffix])


@cache
def file_version(name: str) -> str:
    """Return a text that changes with a file, for its address, so that browsers may keep it for ever."""
    return sha256(_files()[name].read_bytes()).hexdigest()[:12]
