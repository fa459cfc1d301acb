"""A site's files, read before there are definitions: what cannot be read is left to the first check to report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from snapshots.documents.document import ContentDocument, Format, RawValue, format_of
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

MAX_BYTES = 1 << 20
"""The size of the largest file that is looked into."""
_FRONT = 8_192


def documents_of(root: Path, file: str, collection: str | None = None) -> Iterator[ContentDocument]:
    """Return the documents of a content file, those at ``collection`` (``$.items``) if it is given."""
    data = bytes_of(root, file)
    if data is not None:
        yield from documents_in(file, data, collection)


def documents_in(file: str, data: bytes, collection: str | None = None) -> Iterator[ContentDocument]:
    """Return the documents in the bytes of a content file, as ``documents_of`` does."""
    kind = format_of(file.rpartition(".")[2])
    steps = None if collection is None else tuple(collection.split(".")[1:])
    if kind is not None and len(data) <= MAX_BYTES:
        yield from read_documents(file, kind, data, Problems(), steps)


def bytes_of(root: Path, file: str) -> bytes | None:
    """Return a file as far as it is looked into, and a byte more where it goes on; ``None`` for one that cannot be
    read."""
    try:
        with open(f"{root}/{file}", "rb") as opened:  # noqa: PTH123 - a Path of each of many files costs as much
            return opened.read(MAX_BYTES + 1)
    except OSError:
        return None


def beginning_of(path: Path) -> str:
    """Return the first characters of a file, in which its front matter stands; none where it cannot be read."""
    try:
        with path.open("rb") as opened:
            return opened.read(_FRONT).decode(errors="replace")
    except OSError:
        return ""


def configuration(root: Path, *names: str) -> Mapping[str, RawValue] | None:
    """Return the first of these files that is there, read; ``None`` without one."""
    for name in names:
        path = root / name
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            kind = format_of(path.suffix[1:]) or Format.YAML
            documents = list(read_documents(name, kind, path.read_bytes(), Problems()))
            return documents[0].values if documents else {}
    return None
