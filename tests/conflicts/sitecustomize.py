"""Every edit of a document in a store meets one conflict first, as if somebody else had been quicker; and as in an
installation there is no pandas, which Arrow would import wherever it makes an array, for a fifth of a second, and no
rfc3987_syntax, with which jsonschema would compile grammars of addresses, for one and a half.

Python imports a module of this name when it starts, so that every process with this folder in ``PYTHONPATH`` takes
part, the commands and servers that tests start among them. The variable ``EDITS`` says ``beaten`` where edits are to
be. It imports nothing of the program itself, whose processes are to import no more than they do elsewhere.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

VARIABLE = "EDITS"
BEATEN = "beaten"

_MODULE = "snapshots.store.objects"
_HIDDEN = frozenset({"pandas", "rfc3987_syntax"})


class _Beaten:
    """The objects of a store, of which the first document to be replaced has been changed by somebody else."""

    def __init__(self, objects: Any, conflict: type[Exception]) -> None:
        self._objects = objects
        self._conflict: type[Exception] | None = conflict

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def replace(self, key: str, *arguments: Any, **options: Any) -> Any:
        conflict, self._conflict = self._conflict, None
        if conflict is not None:
            raise conflict(f"{key}: somebody else has changed it meanwhile.")
        return self._objects.replace(key, *arguments, **options)


def beat(module: ModuleType) -> None:
    """Have the edits of the module ``snapshots.store.objects`` meet a conflict, as long as the variable says so."""
    edit = module.Objects.edit
    if hasattr(edit, "__wrapped__"):  # a process of pytest's that found this module when it started
        return

    @functools.wraps(edit)
    def edited(objects: Any, *arguments: Any, **options: Any) -> Any:
        beaten = os.environ.get(VARIABLE) == BEATEN
        return edit(_Beaten(objects, module.Conflict) if beaten else objects, *arguments, **options)

    module.Objects.edit = edited


class _Beating(MetaPathFinder):
    """Finds the one module, to change it as soon as it has been read."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and found.loader is not None:
            _beat_when_executed(found.loader)
        return found


def _beat_when_executed(loader: Loader) -> None:
    execute = loader.exec_module

    def executed(module: ModuleType) -> None:
        execute(module)
        beat(module)

    loader.exec_module = executed  # type: ignore[method-assign]


class _Hiding(MetaPathFinder):
    """Finds no module where there is one. What is about pandas runs in a process without this folder."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in _HIDDEN:
            raise ModuleNotFoundError(f"{name} is hidden from the tests", name=name)
        return None


def install() -> None:
    """Change the module when it is imported, or now if it has been; and hide the others."""
    sys.meta_path.insert(0, _Hiding())
    known = sys.modules.get(_MODULE)
    if known is not None:
        beat(known)
    else:
        sys.meta_path.insert(0, _Beating())


install()
