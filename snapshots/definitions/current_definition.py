"""Find the line of a definition's key, in the file as it is now."""

from __future__ import annotations

from pathlib import Path

from snapshots.definitions.files import DefinitionUnreadable, read_definition
from snapshots.documents.document import ContentDocument, Format
from snapshots.documents.read import read_documents
from snapshots.problems import Problems


def definition_document(root: Path, file: str) -> ContentDocument | None:
    """Return a definition file as it is now; ``None`` if it was removed or broken since it was read."""
    try:
        data = read_definition(root, file)
    except DefinitionUnreadable:
        return None
    return next(iter(read_documents(file, Format.YAML, data, Problems())), None)
