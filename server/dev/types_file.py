"""Keep the typed client of an application beside ``cms dev`` as the definitions are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.typed.clients import python_client, typescript_client
from snapshots.model import Workspace
from snapshots.store.durable import replace_file, writing

_CLIENTS: Final[dict[str, Callable[[Workspace], str]]] = {
    ".ts": typescript_client,
    ".mts": typescript_client,
    ".py": python_client,
}
SUFFIXES: Final = tuple(_CLIENTS)
_NEW_MODE: Final = 0o644


class TypesFile:
    """A file with the client that ``cms types --client`` prints: in the language that its suffix names.

    ``path`` ends in one of ``SUFFIXES``.
    """

    def __init__(self, path: Path) -> None:
        self._given = path
        self._path = path.resolve()  # a symbolic link stays one
        self._client = _CLIENTS[path.suffix]

    def __str__(self) -> str:
        return str(self._given)

    def write(self, workspace: Workspace) -> bool:
        """Replace the file where it is not what the definitions say; return whether it was replaced.

        Readers see the old file or the new one, whole. Raises ``StoreError``.
        """
        text = self._client(workspace).encode()
        with writing(self._path):
            try:
                before, mode = self._path.read_bytes(), self._path.stat().st_mode & 0o777
            except FileNotFoundError:
                before, mode = None, _NEW_MODE
            if before == text:
                return False
            replace_file(self._path, text)
            os.chmod(self._path, mode)  # noqa: PTH101 - a store's files are for their owner and group, a project's are not
        return True
