"""Find the workspace directory, the store and the workspace in it from options and the current directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snapshots.problems import ParquetryError, Problems

if TYPE_CHECKING:
    from snapshots.model import Workspace
    from snapshots.store.store import Store, WorkspaceStore

DEFINITION = "workspace.yaml"
STORE = ".cms"
SERVER = "http://127.0.0.1:8787"
"""The address of a server that is started without settings."""


class NoWorkspace(ParquetryError):
    """No workspace is there, or several are and none of them is named."""


def workspace_directory(given: Path | None) -> Path:
    """Return the workspace's directory: ``given``, else the nearest one at or above the current directory.

    Raises ``NoWorkspace`` when there is none.
    """
    if given is None:
        found = nearest_workspace()
        if found is None:
            raise NoWorkspace(
                f"No {DEFINITION} in {Path.cwd()} or above it. "
                "Name a workspace, go into one, or make one with `cms init`."
            )
        return found
    directory = given.parent if given.name == DEFINITION else given
    if not (directory / DEFINITION).is_file():
        problem = f"has no {DEFINITION}" if directory.is_dir() else "is not a directory"
        raise NoWorkspace(f"{directory} {problem}. Name a workspace, or make one with `cms init {directory}`.")
    return directory


def nearest_workspace() -> Path | None:
    """Return the nearest workspace directory at or above the current directory, ``None`` without one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / DEFINITION).is_file()), None)


def store_at(location: str | None, workspace: Path | None) -> Store:
    """Return the store: at ``location``, else ``.cms`` in the workspace, else ``.cms`` in the current directory.

    From now on this process creates files for the owner and the group only.
    """
    from snapshots.store.durable import keep_from_others

    keep_from_others()
    return store_to_be(location, workspace)


def store_to_be(location: str | None, workspace: Path | None) -> Store:
    """Return the store as ``store_at`` does, for a command that creates files for everybody before it."""
    from snapshots.store.store import open_store

    return open_store(location or (workspace or Path.cwd()) / STORE)


def begin_store(store: Store) -> None:
    """Make the store's directory if it is missing.

    ``.cms`` stands among content, and so gets a ``.gitignore`` of its own, which keeps all of it out of commits
    whatever the folder's ``.gitignore`` says.

    Raises ``StoreError``.
    """
    from snapshots.store.durable import make_directory, replace_file, writing

    if store.root.is_dir():
        return
    with writing(store.root):
        make_directory(store.root)
        if store.root.name == STORE:
            replace_file(store.root / ".gitignore", b"*\n")


@dataclass(frozen=True, slots=True)
class ChosenWorkspace:
    """The workspace of a command: its part of the store, and its directory if the command runs inside that."""

    store: Store
    workspace_store: WorkspaceStore
    directory: Path | None

    def current_version(self) -> str:
        """Return the current version. Raises ``NoWorkspace`` when no version has been activated yet."""
        current = self.workspace_store.current()
        if current is None:
            versions = self.workspace_store.versions()  # some that were copied, or built without making them current
            mended = (
                f"`cms snapshot activate {versions[0]}` makes its newest one current."
                if versions
                else "Build it first: `cms snapshot build`."
            )
            raise NoWorkspace(f'Workspace "{self.workspace_store.id}" has no current snapshot version. {mended}')
        return current.version

    def workspace(self) -> Workspace:
        """Return the workspace's facts: those of the current snapshot, else those that its directory defines.

        Raises ``NoWorkspace`` where there is neither.
        """
        if self.directory is None or self.workspace_store.current() is not None:
            return self.workspace_store.manifest(self.current_version()).workspace
        from snapshots.definitions.workspace import load_workspace

        definitions = load_workspace(self.directory, Problems())
        if definitions is None:
            raise NoWorkspace(f"{self.directory / DEFINITION} cannot be used; `cms check` shows why.")
        return definitions.workspace


def choose_workspace(location: str | None, workspace_id: str | None, directory: Path | None = None) -> ChosenWorkspace:
    """Return the workspace that ``--workspace-id`` names, else that of ``directory``, else the store's only one.

    Without ``directory``, that is the nearest one at or above the current directory.

    Raises ``NoWorkspace`` when there is no such workspace, or none is named and the store does not hold exactly one.
    """
    directory = directory or nearest_workspace()
    store = store_at(location, directory)
    defined = None if directory is None else defined_id(directory)
    chosen = workspace_id or defined
    if chosen is None:
        known = store.workspaces()
        if not known:
            raise NoWorkspace(
                f"The store {store.location} holds no workspace yet. Build one first: `cms snapshot build WORKSPACE`."
            )
        if len(known) > 1:
            raise NoWorkspace(
                f"The store {store.location} holds several workspaces: {', '.join(known)}. Choose one with "
                "--workspace-id."
            )
        chosen = known[0]
    elif chosen != defined and not store.has(chosen):
        raise NoWorkspace(f'The store {store.location} has no workspace "{chosen}". {_held(store.workspaces())}')
    return ChosenWorkspace(store, store.workspace(chosen), directory if chosen == defined else None)


def _held(known: list[str]) -> str:
    return f"It holds: {', '.join(known)}." if known else "It holds none yet."


def server_address(given: str | None, store: Store) -> str:
    """Return the server's public address without a slash at the end: ``given``, else that of the one that runs on the
    store on this machine, else that of one without settings."""
    from server.serving_note import noted_address

    return (given or noted_address(store) or SERVER).rstrip("/")


def dev_store(store: Store) -> Store | None:
    """Return the store of `cms dev`, where nothing but that runs on a store on this machine; ``None`` elsewhere."""
    from server.dev.unpublished import unpublished
    from server.serving_note import noted_address

    if noted_address(store) is not None:
        return None
    session = unpublished(store)
    return None if noted_address(session) is None else session


@contextmanager
def usable_cache(store: Store) -> Iterator[Path]:
    """Give the store's cache for the block, or a temporary one if the store's cannot be written."""
    import tempfile

    from snapshots.store.durable import StoreError

    with suppress(OSError, StoreError):
        begin_store(store)
        store.cache.mkdir(parents=True, exist_ok=True)
    if os.access(store.cache, os.W_OK):
        yield store.cache
        return
    with tempfile.TemporaryDirectory(prefix="cms-cache-") as folder:
        yield Path(folder)


def defined_id(directory: Path) -> str:
    """Return the ``id`` in a workspace.yaml without checking the rest. Raises ``NoWorkspace`` when it is missing."""
    from snapshots.definitions.files import read_definition
    from snapshots.documents.document import Format
    from snapshots.documents.read import read_documents

    for document in read_documents(DEFINITION, Format.YAML, read_definition(directory, DEFINITION), Problems()):
        found = document.values.get("id")
        if isinstance(found, str) and found:
            return str(found)
    raise NoWorkspace(f"{directory / DEFINITION} has no id; `cms check` shows what is wrong with it.")
