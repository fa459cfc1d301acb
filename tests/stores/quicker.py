"""Somebody who changes a document between the moment at which an edit reads it and the one at which it writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import Expected


@contextmanager
def quicker(name: str, change: Callable[[], object]) -> Iterator[None]:
    """Make ``change`` once in the block, right before a document of this name in a directory is replaced.

    The edit under way loses its first try in earnest: what it read is not there any more.
    """
    replace, made = DirectoryObjects.replace, []

    def overtaken(
        objects: DirectoryObjects, key: str, data: bytes, expected: str | Expected, *, private: bool = False
    ) -> str:
        if not made and key.rpartition("/")[2] == name:
            made.append(key)
            change()
        return replace(objects, key, data, expected, private=private)

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("EDITS", raising=False)
        patch.setattr(DirectoryObjects, "replace", overtaken)
        yield
    assert made, f"nobody has replaced a document {name}"
