"""The caches of a store's current versions, made by a process of their own while the server is still being loaded.

Nothing depends on it: what it has not begun, the server makes itself, and what it is at, the server waits for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snapshots.problems import ParquetryError
from snapshots.store import Store, open_store


@contextmanager
def making_ahead(store: Store) -> Iterator[None]:
    """Make what the cache has nothing of, for the length of the block at most."""
    if all(_place(store, workspace, version).exists() for workspace, version in _current(store)):
        yield
        return
    # -P: what lies in the working directory is none of ours, whatever its name.
    command = [sys.executable, "-P", "-m", "engine.making_ahead", str(store.root), str(store.cache)]
    # It ends with this process, however that ends: the pipe is closed then.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        # Takes note of its end when that comes: a server lives long.
        threading.Thread(target=process.wait, name="making-ahead", daemon=True).start()
        try:
            yield
        finally:
            process.kill()


def make(store: Store) -> None:
    """Make the caches of all current versions that have none. What cannot be made is left to the server to tell."""
    # Heavy, and whoever only starts the process does without.
    from engine.materialise import MaterialiseSettings, materialise  # noqa: PLC0415 - as above

    for workspace, version in _current(store):
        place, kept = _place(store, workspace, version), store.workspace(workspace)
        if not place.exists():
            with suppress(ParquetryError):
                manifest = kept.manifest(version)
                materialise(kept.snapshots / version, manifest, place, MaterialiseSettings(), place.exists)


def _current(store: Store) -> Iterator[tuple[str, str]]:
    """The workspaces and their current versions, as far as they can be told."""
    with suppress(ParquetryError, OSError):
        for workspace in store.workspaces():
            with suppress(ParquetryError, OSError):
                current = store.workspace(workspace).current()
                if current is not None:
                    yield workspace, current.version


def _place(store: Store, workspace: str, version: str) -> Path:
    """As ``engine.cache_file`` has it, without the manifest, nor DuckDB."""
    return store.cache / workspace / f"{version}.duckdb"


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the server
    threading.Thread(target=_end_with_parent, daemon=True).start()
    make(open_store(sys.argv[1], cache=Path(sys.argv[2])))
