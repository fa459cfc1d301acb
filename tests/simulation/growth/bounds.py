"""What may not grow with time: requests to the bucket and what it holds, files of machines, and tables in the memory of
processes.

Looked at once in a world that lasts for days or months, when nobody does anything any more.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.simulation.below.scheduler import SECOND
from tests.simulation.ledger import Violated

if TYPE_CHECKING:
    from tests.simulation.world import World

IDLE = 120 * SECOND
"""Microseconds in which requests are counted while nothing changes."""
REQUESTS_A_MINUTE = 62 + 3 + 3 + 3 + 2 + 4
"""Requests of a machine while nothing changes, at most: those in the tables of docs/several-machines.md for one reader,
for the one that writes counts and sends webhooks, and for two workspaces in turn; and of the console's sign-ins."""
FILES = 500
"""Files of a machine, its mirror and cache included, with at most five versions of three entries."""
MACHINE_BYTES = 12_000_000
"""Bytes of these files on the disk: tables of visitors and rate limits, most of which are holes; the databases of page
views; and the versions that are kept."""
OBJECTS = 400
BUCKET_BYTES = 1_500_000
"""Of all workspaces: versions, their assets, the page views and the audit log of some months."""
ELEMENTS = 260
"""Elements of a table in memory, at most: those that are caches have bounds of their own, which are in files."""
_OURS = ("snapshots.", "engine.", "server.")


def check_requests(world: World, before: Counter[str]) -> None:
    """Hold how often each machine has asked the bucket in ``IDLE``, of which ``before`` says how often it had until
    then. Raises ``Violated``."""
    for machine in world.readers:
        asked = world.service.asked[machine.name] - before[machine.name]
        if asked > REQUESTS_A_MINUTE * IDLE / (60 * SECOND):
            raise Violated(f"{machine.name} asks the bucket {asked} times in two minutes in which nothing changes")


def check_growth(world: World) -> None:
    """Hold how many files, objects and elements there are, and how many bytes. Raises ``Violated``."""
    stored = world.service.objects
    held = sum(len(one.data) for one in stored.values())
    if len(stored) > OBJECTS or held > BUCKET_BYTES:
        folders = Counter({key.rpartition("/")[0]: len(one.data) for key, one in stored.items()})
        raise Violated(
            f"the bucket has {len(stored)} objects of {held:,} bytes, most of them in {folders.most_common(4)}"
        )
    for machine in world.readers:
        folders = Counter({folder: len(files) for folder, _, files in os.walk(machine.root)})
        if folders.total() > FILES:
            raise Violated(f"{machine.name} has {folders.total()} files, most of them in {folders.most_common(4)}")
        sizes = Counter(dict(_sizes(machine.root)))
        if sizes.total() > MACHINE_BYTES:
            raise Violated(f"{machine.name} has {sizes.total():,} bytes on its disk, most in {sizes.most_common(4)}")
    for holder, name, size in _tables():
        if size > ELEMENTS:
            raise Violated(f"{holder.__module__}.{holder.__name__} has {size} elements in {name}")


def _sizes(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the files below a directory and the bytes that each takes on the disk."""
    for folder, _, files in os.walk(root):
        for file in files:
            path = f"{folder}/{file}"
            yield path, os.lstat(path).st_blocks * 512


def _tables() -> list[tuple[type, str, int]]:
    """Return the tables of all objects of the product: (class, attribute, elements)."""
    found = []
    for one in gc.get_objects():
        kind = type(one)
        if not str(getattr(kind, "__module__", "")).startswith(_OURS):
            continue
        attributes: dict[str, Any] = getattr(one, "__dict__", None) or {}
        for name, value in attributes.items():
            if isinstance(value, dict | set | list) or type(value).__name__ in ("deque", "Counter", "OrderedDict"):
                found.append((kind, name, len(value)))
    return found
