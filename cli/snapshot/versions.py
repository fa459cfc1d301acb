"""The versions that the commands of ``cms snapshot`` are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion
from cli.location import ChosenWorkspace
from cli.output import lines

if TYPE_CHECKING:
    from snapshots.store.current import Current

Version = Annotated[
    str | None,
    typer.Argument(
        metavar="VERSION",
        show_default=False,
        help="A snapshot version, or an unambiguous prefix. Default: the current one.",
        autocompletion=completion.versions,
    ),
]


def named_version(chosen: ChosenWorkspace, version: str | None) -> str:
    """Return the version that begins with ``version``, or for ``None`` the current one.

    Raises ``MissingVersion``, ``StoreError`` for several, and ``NoWorkspace`` when none is current.
    """
    if version is not None:
        return chosen.workspace_store.find(version)
    return chosen.current_version()


def warn_of_damaged_holds(chosen: ChosenWorkspace) -> None:
    """Warn where it cannot be read what is held."""
    from engine.administration.version_list import damaged_holds

    error = damaged_holds(chosen.workspace_store)
    if error is not None:
        lines.warning(str(error))


def current_if_known(chosen: ChosenWorkspace) -> Current | None:
    """Return the current version; ``None`` before the first, and, with a warning, for a damaged pointer.

    So the versions can still be listed, and one of them activated, which repairs the pointer.
    """
    from snapshots.store.document import DamagedDocument

    try:
        return chosen.workspace_store.current()
    except DamagedDocument as error:
        lines.warning(str(error))
        return None
