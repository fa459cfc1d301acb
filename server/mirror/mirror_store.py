"""Name the directory of this machine that mirrors a bucket, by the bucket's URL."""

from __future__ import annotations

import os
from pathlib import Path

from snapshots.store.buckets.bucket_url import parse_bucket
from snapshots.store.locations import working_directory
from snapshots.store.store import Store, open_store


def mirror_of(location: str, cache: Path | None) -> Store:
    """Return the mirror of the bucket at ``location``, in ``cache`` or where the user's programs keep theirs; it is not
    the directory in which commands of this machine work on the same store. Nothing is made or read yet.

    Raises ``StoreError`` for another URL.
    """
    return open_store(working_directory(parse_bucket(location, os.environ).location, cache) / "mirror")
