"""A process that pushes, activates and drops versions until it is killed, and prints a line once it works.

``python -m tests.stores.bucket_worker SOURCE TARGET``
"""

from __future__ import annotations

import contextlib
import random
import sys

from snapshots.store.activation import ActivationConflict
from snapshots.store.carrying import carry
from snapshots.store.objects import Conflict
from snapshots.store.store import MissingVersion, open_store

WORKSPACE = "acme"


def main() -> None:
    source, target = (open_store(location) for location in sys.argv[1:3])
    choice = random.Random()
    place = target.workspace(WORKSPACE)
    versions = source.workspace(WORKSPACE).versions()
    print("at work", flush=True)
    for number in range(1_000_000):
        with contextlib.suppress(ActivationConflict, MissingVersion, Conflict):
            carry(source.objects, target.objects, WORKSPACE, choice.choice(versions))
        there = place.versions()
        before = place.current()
        with contextlib.suppress(ActivationConflict, MissingVersion):
            expected = None if before is None else before.version
            place.activate(choice.choice(there), expected=expected, by="worker", now=number)
        place.prune(choice.randint(1, 3))


if __name__ == "__main__":
    main()
