"""The definition files of a workspace: their names and bytes. Files outside of the workspace are never read."""

# ruff: noqa: PTH110, PTH114, PTH118 - a Path takes as long as the question
from __future__ import annotations

import os
from pathlib import Path

from snapshots.problems import ParquetryError

WORKSPACE_FILE = "workspace.yaml"
API_FOLDER = "apis"
MAX_DEFINITION_BYTES = 4 * 1024 * 1024


class DefinitionUnreadable(ParquetryError):
    """A definition file cannot be read. ``kind`` and ``reason`` are kind and message of a problem of the file."""

    def __init__(self, file: str, kind: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.kind, self.reason = kind, reason


def definition_files(root: Path) -> list[str]:
    """Return the API definition files of a workspace, relative to it, in the order of their names.

    Raises ``DefinitionUnreadable`` when apis/ leads out of the workspace, or cannot be read.
    """
    directory = root / API_FOLDER
    if (reason := wrong_link(root, API_FOLDER)) is not None:
        raise DefinitionUnreadable(API_FOLDER, "link", reason)
    if not directory.is_dir():
        return []
    try:
        names = [path.name for path in directory.iterdir() if path.suffix in (".yaml", ".yml")]
    except OSError as error:
        raise DefinitionUnreadable(API_FOLDER, "unreadable", f"cannot be read: {error.strerror}") from None
    return [f"{API_FOLDER}/{name}" for name in sorted(names) if not name.startswith(".")]


def read_definition(root: Path, file: str) -> bytes:
    """Return the bytes of a definition file, which ``file`` names relative to the workspace.

    Raises ``DefinitionUnreadable``; in the kind ``no-workspace`` where there is no such file.
    """
    path = root / file
    if (reason := wrong_link(root, file)) is not None:
        raise DefinitionUnreadable(file, "link", reason)
    try:
        if not path.exists():
            reason = f"there is no {file}: 'cms init' writes a workspace to start from"
            raise DefinitionUnreadable(file, "no-workspace", reason)
        if not path.is_file() or path.stat().st_size > MAX_DEFINITION_BYTES:
            reason = f"is not a file of at most {MAX_DEFINITION_BYTES:,} bytes, so it cannot be a definition"
            raise DefinitionUnreadable(file, "definition", reason)
        return path.read_bytes()
    except OSError as error:
        raise DefinitionUnreadable(file, "unreadable", f"cannot be read: {error.strerror}") from None


def wrong_link(root: Path | str, path: str) -> str | None:
    """Return why a path relative to the workspace must not be followed, to follow its name; ``None`` if it may be.

    A link may lead to any file of the workspace that is not hidden.
    """
    root = os.path.realpath(root)
    named = os.path.join(root, path)
    target = os.path.realpath(named)
    inside = os.path.relpath(target, root)
    if inside == path and not os.path.islink(named):
        return None
    if inside.startswith(".."):
        return "is a link that leads out of the workspace: copy here what it leads to"
    if inside.startswith(".") or "/." in inside:
        return "is a link to a hidden file, which is never content: copy the file here"
    if not os.path.exists(target):
        return "is a link that leads nowhere: remove it"
    return None
