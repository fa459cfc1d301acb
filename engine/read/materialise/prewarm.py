"""The caches of a store's current versions, made by a process of their own while the server is still being loaded.

Nothing depends on it: what it has not begun, the server makes itself, and what it is at, the server waits for.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn

from engine.read.files.parts import VersionParts, every_part, parts_of
from engine.read.files.paths import CachePaths, cache_paths
from engine.read.materialise.materialise import Unfit, materialise
from engine.read.materialise.settings import MaterialiseSettings
from snapshots.problems import ParquetryError
from snapshots.store.store import Store, WorkspaceStore


@contextmanager
def making_ahead(store: Store) -> Iterator[None]:
    """Make what the cache has nothing of, for the length of the block at most.

    To be called while this process has no other threads, and has loaded little: both processes load what they need at
    the same time. Only on Linux: elsewhere a process that is not started afresh may not use the system's libraries.
    """
    with ExitStack() as until_the_end:
        with suppress(OSError):  # there may be no more processes
            if sys.platform == "linux" and any(_not_made(store)):
                _begin(store, until_the_end)
        yield


def _begin(store: Store, until_the_end: ExitStack) -> None:
    ended, kept_open = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(ended)
        os.close(kept_open)
        raise
    if process == 0:
        os.close(kept_open)
        _make_until(store, ended)
    os.close(ended)
    # Its end is taken note of when it comes: a server lives long.
    waiting = threading.Thread(target=os.waitpid, args=(process, 0), name="making-ahead", daemon=True)
    waiting.start()
    until_the_end.callback(waiting.join)
    until_the_end.callback(os.close, kept_open)


def make(store: Store) -> None:
    """Make the caches of all current versions that have none. What cannot be made is left to the server to tell."""
    for workspace_store, version in _not_made(store):
        with suppress(ParquetryError):
            manifest, paths = workspace_store.manifest(version), cache_paths(store.cache, workspace_store.id)
            parts = parts_of(manifest)

            def missing(parts: VersionParts = parts, paths: CachePaths = paths) -> Unfit:
                return (
                    [part for part in every_part(parts) if not paths.part(part.name).exists()],
                    [api for api in parts.values() if api.parts and not paths.tables(api.name).exists()],
                )

            materialise(workspace_store.snapshots / version, manifest, paths, parts, MaterialiseSettings(), missing)


def _make_until(store: Store, ended: int) -> NoReturn:
    """``make``, in a process that ends after it; and before, once the other end of the pipe ``ended`` is closed."""
    try:
        threading.Thread(target=_end_with, args=(ended,), daemon=True).start()
        make(store)
    finally:  # whatever went wrong: the server meets it too, and tells it
        os._exit(0)


def _end_with(ended: int) -> NoReturn:
    os.read(ended, 1)  # the parent's end is closed, however it ended
    os._exit(0)


def _not_made(store: Store) -> Iterator[tuple[WorkspaceStore, str]]:
    """The workspaces, and their current versions, that the cache has nothing of, as far as they can be told."""
    with suppress(ParquetryError):
        for name in store.workspaces():
            workspace_store = store.workspace(name)
            with suppress(ParquetryError, OSError):
                current = workspace_store.current()
                if current is not None and not cache_paths(store.cache, name).version(current.version).exists():
                    yield workspace_store, current.version
