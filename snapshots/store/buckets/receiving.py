"""Download an object, several parts at a time, into a file whose content is checked."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from snapshots.store.durable import make_directory, sync_directory, sync_file, writing
from snapshots.store.objects import DamagedObject

_Item = TypeVar("_Item")
_Part = TypeVar("_Part")


def in_order(ask: Callable[[_Item], _Part], items: Iterable[_Item], at_once: int) -> Iterator[_Part]:
    """Yield ``ask`` of every item in order, computed by ``at_once`` threads, at most twice as many ahead."""
    with ThreadPoolExecutor(at_once) as threads:
        ahead: deque[Future[_Part]] = deque()
        try:
            for item in items:
                ahead.append(threads.submit(ask, item))
                if len(ahead) > 2 * at_once:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for waiting in ahead:
                waiting.cancel()


def receive(parts: Iterable[bytes], path: Path, size: int, sha256: str | None, where: str) -> None:
    """Write parts to a file and bring it to the disk; it gets the name ``path`` if it has this size and SHA-256.

    Raises ``DamagedObject`` otherwise, naming ``where`` the parts come from, and ``StoreError`` when the disk refuses.
    """
    digest = hashlib.sha256()
    with writing(path):
        make_directory(path.parent)
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            with temporary.open("xb") as file:
                for part in parts:
                    digest.update(part)
                    file.write(part)
                file.flush()
                if file.tell() != size:
                    raise DamagedObject(f"{where}: has {file.tell():,} bytes instead of {size:,}.")
                if sha256 is not None and digest.hexdigest() != sha256:
                    raise DamagedObject(f"{where}: has the SHA-256 {digest.hexdigest()} instead of {sha256}.")
                sync_file(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(path.parent)
