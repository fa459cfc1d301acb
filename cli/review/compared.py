"""Compare a workspace under review with what is published, or say why they cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.location import ChosenWorkspace, defined_id, store_at
from cli.remote.server import KEY_VARIABLE, NoKey, NoServer, Server
from snapshots.problems import ParquetryError, Problems, WorkspaceRefused

if TYPE_CHECKING:
    from cli.changes.compared import ReviewedChanges
    from snapshots.build.build import BuildResult
    from snapshots.store.store import Store
    from snapshots.translations.model import Translations

PATIENCE: Final = 600.0
"""Seconds that a review waits in all for one answer of a server whose rate limit is used up."""


@dataclass(frozen=True, slots=True)
class ReviewedWorkspace:
    """The problems of a workspace, and how it differs from what is published."""

    problems: Problems
    changes: ReviewedChanges | None
    """``None`` where nothing could be compared."""
    remark: str
    """A sentence that says what the workspace was compared with, or why it was not."""
    translations: tuple[Translations, ...] = ()


_SERVERS: Final = ("https://", "http://")
"""What the address of a server begins with, and that of a store does not."""

Compare = Callable[["BuildResult", "Store"], tuple["ReviewedChanges | None", str]]
"""Returns the changes and the remark, given the workspace as built and the store that it was built into."""


def compared(
    root: Path, store: Store, compare: Compare, now: int, public_url: str | None, published: Store | None = None
) -> ReviewedWorkspace:
    """Build the workspace at ``root`` into a store of its own, and compare it. ``public_url`` is that of the build of
    what is published, ``published`` the store of that, if any."""
    from snapshots.build.build import build

    try:
        built = build(root, store, now=now, activate=False, public_url=public_url, published=published)
    except WorkspaceRefused as refused:
        return ReviewedWorkspace(refused.problems, None, "")
    return ReviewedWorkspace(built.problems, *compare(built, store), built.translations)


def with_nothing(_built: BuildResult, _store: Store) -> tuple[ReviewedChanges | None, str]:
    """Compare with nothing, where neither option is given."""
    return None, "To compare with what is published, add `--live` or `--base`."


def with_checkout(base: Path, now: int, public_url: str | None) -> Compare:
    """Compare with another directory of the same workspace."""

    def compare(built: BuildResult, store: Store) -> tuple[ReviewedChanges | None, str]:
        from snapshots.build.build import build
        from snapshots.compare.diff import diff

        try:
            before = build(base, store, now=now, lenient=True, activate=False, public_url=public_url)
        except WorkspaceRefused as refused:
            errors = refused.problems.errors
            return None, f"What is published cannot be built ({errors} errors), so nothing is compared."
        if before.workspace != built.workspace:
            return None, f"The workspace was called {before.workspace} before, so nothing is compared."
        return diff(store.workspace(built.workspace), before.version, built.version), ""

    return compare


def with_live(location: str) -> Compare:
    """Compare with what is live: in a store, or behind a server if ``location`` is an http or https URL.

    Raises ``NoServer`` and ``NoKey``.
    """
    if not location.startswith(_SERVERS):
        return _with_store(location)
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise NoKey(f"Set {KEY_VARIABLE} to an API key of {location} that can read all APIs.")
    return _with_server(Server(location, key, PATIENCE))


def live_public_url(location: str, root: Path) -> str | None:
    """Return the server's address with which the version that is live in a store was built: with another one, every
    picture would differ. ``None`` for a server, which does not tell it."""
    if location.startswith(_SERVERS):
        return None
    live = store_at(location, None)
    with suppress(ParquetryError):  # told where they are compared
        workspace_store = live.workspace(defined_id(root))
        current = workspace_store.current()
        return None if current is None else workspace_store.manifest(current.version).public_url
    return None


def live_store(location: str) -> Store | None:
    """Return the store of what is live; ``None`` where it is behind a server."""
    return None if location.startswith(_SERVERS) else store_at(location, None)


def _with_store(location: str) -> Compare:
    def compare(built: BuildResult, store: Store) -> tuple[ReviewedChanges | None, str]:
        from snapshots.compare.diff import diff

        live = store_at(location, None)
        workspace_store = live.workspace(built.workspace) if live.has(built.workspace) else None
        current = None if workspace_store is None else workspace_store.current()
        if workspace_store is None or current is None:
            return None, f"Nothing of {built.workspace} is live in {live.location}, so all of it is new."
        found = diff(store.workspace(built.workspace), current.version, built.version, published=workspace_store)
        return found, f"Compared with snapshot version {current.version}, which is live."

    return compare


def _with_server(server: Server) -> Compare:
    def compare(built: BuildResult, store: Store) -> tuple[ReviewedChanges | None, str]:
        from cli.review.served_changes import served_changes

        if server.workspace != built.workspace:
            raise NoServer(
                f"{server.url} is the workspace {server.workspace}, and the one under review is {built.workspace}."
            )
        found, version = served_changes(
            server, ChosenWorkspace(store, store.workspace(built.workspace), None), built.version
        )
        return found, f"Compared with what clients read now, from snapshot version {version}."

    return compare
