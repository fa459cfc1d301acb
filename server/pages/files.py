"""The style sheets, scripts and pictures of the pages, by name. Nothing comes from elsewhere."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from server.http.document import Document, static_document

_HERE: Final = Path(__file__).parent
_OWN: Final = _HERE / "assets"
_VENDORED: Final = _HERE / "vendor"
"""Files of other projects as they publish them, each with its licence beside it."""
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@cache
def _places() -> dict[str, Path]:
    return {place.name: place for folder in (_OWN, _VENDORED) for place in folder.iterdir() if place.suffix in _TYPES}


@cache
def page_file(name: str) -> Document | None:
    """Return a file by its name, ``None`` where there is none of that name."""
    place = _places().get(name)
    return None if place is None else static_document(place.read_bytes(), _TYPES[place.suffix])


@cache
def file_version(name: str) -> str:
    """Return a text that changes with a file, for its address, so that browsers may keep it for ever."""
    return sha256(_places()[name].read_bytes()).hexdigest()[:12]
