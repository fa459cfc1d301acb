"""The assets of a workspace in the store: files that content names, each under a name made of the file's content.

    <root>/<workspace id>/assets/<name>.<digest>.<extension>

A name never stands for other bytes, so versions share assets, and a fetched asset may be kept for ever.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from posixpath import splitext
from typing import BinaryIO, TypeAlias
from uuid import uuid4

from blake3 import blake3

from snapshots.ownership import follow_directory
from snapshots.store.durable import StoreError, make_directory, sync_directory, sync_file, writing

GRACE_SECONDS = 24 * 3600
"""The age up to which assets that no version names are kept: a build at work may be about to name them."""

Read: TypeAlias = Callable[[Path], BinaryIO]
"""Opens a file as it is delivered. Raises ``OSError``."""

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_STEM = 60
_CHUNK = 1 << 20


def asset_name(path: str, opened: BinaryIO) -> str:
    """Return the name for a file's content: the beginning of its own name, the content's digest and its extension."""
    digest = blake3()
    while data := opened.read(_CHUNK):
        digest.update(data)
    stem, extension = splitext(path.rpartition("/")[2])
    written = _NOT_OF_A_NAME.sub("-", stem).strip("-")[:_LONGEST_STEM]
    return f"{written}{'.' if written else ''}{digest.hexdigest(16)}{extension.lower()}"


def has_its_name(name: str, opened: BinaryIO) -> bool:
    """Return whether a file's content is the one that its name as an asset stands for."""
    digest = blake3()
    while data := opened.read(_CHUNK):
        digest.update(data)
    return digest.hexdigest(16) in name.split(".")


def keep_assets(directory: Path, root: Path, named: Mapping[str, str], read: Read) -> None:
    """Copy the files that are not in the directory of assets yet; ``named`` has their paths below ``root``, by name,
    and ``read`` opens one.

    Raises ``StoreError`` when the disk refuses, or the content of a file no longer matches its name.
    """
    if not named:
        return
    with writing(directory):
        make_directory(directory)
        for name, path in named.items():
            try:
                os.utime(directory / name)  # so that GRACE_SECONDS begin again
            except FileNotFoundError:
                _copy(root, path, directory, name, read)
        sync_directory(directory)


def _copy(root: Path, path: str, directory: Path, name: str, read: Read) -> None:
    copied = directory / f".{name}.{uuid4().hex}.tmp"
    try:
        with read(root / path) as source, copied.open("xb") as copy:
            follow_directory(copy.fileno(), copied.parent)
            shutil.copyfileobj(source, copy, _CHUNK)
            copy.flush()
            sync_file(copy.fileno())
        with copied.open("rb") as written:
            if asset_name(path, written) != name:
                raise StoreError(f"{path} changed while it was built. Build again.")
        copied.replace(directory / name)
    finally:
        copied.unlink(missing_ok=True)
