"""Add a ``uid`` to API definitions that have none (``cms check --fix``), and change nothing else in their files."""

from __future__ import annotations

import os
import secrets
import string
import tempfile
from pathlib import Path
from typing import Any

import yaml

from snapshots.definitions.files import DefinitionUnreadable, definition_files, read_definition

_ALPHABET = string.ascii_letters + string.digits


def new_uid() -> str:
    """Return a new identity of an API: ``api_`` and 12 letters or digits."""
    return "api_" + "".join(secrets.choice(_ALPHABET) for _ in range(12))


def fix_uids(root: Path) -> list[str]:
    """Write a ``uid`` into every API definition of the workspace that lacks one.

    Comments, order and line ends stay as they are. Returns the files changed, relative to ``root``; files
    that cannot be read as one mapping are left to ``load_workspace`` to report. Raises OSError when a file
    cannot be written.
    """
    changed: list[str] = []
    try:
        files = definition_files(root)
    except DefinitionUnreadable:
        return changed
    for file in files:
        try:
            text = read_definition(root, file).decode()
        except (DefinitionUnreadable, UnicodeDecodeError):
            continue
        fixed = with_uid(text, new_uid())
        if fixed is not None:
            _replace(root / file, fixed.encode())
            changed.append(file)
    return changed


def with_uid(text: str, uid: str) -> str | None:
    """Return a definition's text with ``uid`` as its first key; ``None`` if it has one, or is no mapping."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    try:
        events = _top_level(body)
    except (yaml.YAMLError, ValueError):
        return None
    if not events:
        return None
    opening, keys = events
    for key, value in keys:
        if getattr(key, "value", None) == "uid":
            if getattr(value, "style", None) != "" or value.value not in ("", "~", "null"):
                return None
            at = key.end_mark.index + body[key.end_mark.index :].index(":") + 1
            end = max(at, value.end_mark.index if value.value else at)
            return f"{mark}{body[:at]} {uid}{body[end:]}"
    if opening.flow_style:
        at = opening.end_mark.index
        separator = ", " if keys else ""
        return f"{mark}{body[:at]}uid: {uid}{separator}{body[at:]}"
    at = keys[0][0].start_mark.index
    line_end = "\r\n" if "\r\n" in body else "\n"
    indent = " " * keys[0][0].start_mark.column
    return f"{mark}{body[:at]}uid: {uid}{line_end}{indent}{body[at:]}"


def _top_level(text: str) -> tuple[Any, list[tuple[Any, Any]]] | None:
    """Return the event that opens the root mapping, and the first events of its keys and values."""
    opening: Any = None
    depth = 0
    firsts: list[Any] = []
    for event in yaml.parse(text, yaml.CBaseLoader):
        if depth == 1 and not isinstance(event, yaml.MappingEndEvent):
            firsts.append(event)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if opening is None:
                if not isinstance(event, yaml.MappingStartEvent):
                    return None
                opening = event
            depth += 1
            if depth > 64:
                return None
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        elif depth == 0 and isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
            return None
    if opening is None:
        return None
    return opening, list(zip(firsts[::2], firsts[1::2], strict=True))


def _replace(path: Path, data: bytes) -> None:
    """Replace a file's content in one step, keeping its permissions."""
    mode = path.stat().st_mode & 0o7777
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
