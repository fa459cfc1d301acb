"""A process that builds, pushes, activates and drops versions until it is killed.

It prints a line once it works, and one each time that it has activated a version.

``python -m tests.stores.bucket_worker SOURCE TARGET [ROUNDS]``

Assets that no version names go at once here, not after a day, so that a prune is in the way of versions all the time.
"""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

from snapshots.store import carrying, pruning
from snapshots.store.assets import use as asset_use
from snapshots.store.carrying import carry
from snapshots.store.current import ActivationConflict
from snapshots.store.durable import StoreError
from snapshots.store.objects import Conflict, ListedObject, MissingObject, StoreUnreachable
from snapshots.store.store import MissingVersion, Store, open_store
from tests.stores.store_content import publish

WORKSPACE = "acme"
FILES = "files"
"""The folder in the source with files for assets."""
LEASE_MS = 10_000
"""So that what killed processes leased is dropped, too."""

_is_older = pruning.is_older


def main() -> None:
    source, target = (open_store(location) for location in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    drop_assets_at_once()
    choice = random.Random()
    files = Path(sys.argv[1]) / FILES
    paths = sorted(path.name for path in files.glob("*"))
    print("at work", flush=True)
    for number in range(rounds):
        try:
            work(source, target, choice, number, files, paths)
        except StoreError as error:  # SeaweedFS lets others wait for long where it waits for a client that was killed
            if not isinstance(error, StoreUnreachable) and "took longer than its assets are kept" not in str(error):
                raise


def work(source: Store, target: Store, choice: random.Random, number: int, files: Path, paths: list[str]) -> None:
    """One round: push a version, perhaps build one, activate one and drop some."""
    place = target.workspace(WORKSPACE)
    with contextlib.suppress(ActivationConflict, MissingVersion, Conflict):
        carry(source.objects, target.objects, WORKSPACE, choice.choice(source.workspace(WORKSPACE).versions()))
    if paths and choice.random() < 0.5:
        publish(place, choice.randrange(1000, 1 << 31), {}, files, choice.sample(paths, 2))
    there = place.versions()
    before = place.current()
    if not there:  # the one pushed is being dropped by a prune that was killed
        return
    with contextlib.suppress(ActivationConflict, MissingVersion):
        expected = None if before is None else before.version
        place.activate(choice.choice(there), expected=expected, by="worker", now=number)
        print("activated a version", flush=True)
    with contextlib.suppress(MissingObject):
        place.prune(choice.randint(1, 3))


def drop_assets_at_once() -> None:
    """Have prunes of this process keep no asset for its age."""
    asset_use.LEASE_MS = LEASE_MS  # type: ignore[misc]
    asset_use.CLAIM_SECONDS, asset_use.GONE_SECONDS = 2.0, 8.0  # type: ignore[misc]

    def is_older(one: ListedObject, seconds: float) -> bool:
        return one.key.split("/")[1] == "assets" or _is_older(one, seconds)

    pruning.is_older = is_older
    pruning.GONE_SECONDS = carrying.GONE_SECONDS = asset_use.GONE_SECONDS  # type: ignore[misc]


if __name__ == "__main__":
    main()
