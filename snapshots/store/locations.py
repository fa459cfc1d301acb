"""Open a store by its location as people write it: a directory, or a bucket with the settings to reach it.

Credentials are never part of a location. They come from the environment and the files that the makers' own tools read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from snapshots.store.buckets.bucket_url import is_bucket, parse_bucket
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects

EXTRA: Final = "parquetry[objects]"
_LONGEST_NAME: Final = 60


def open_objects(location: str | Path, environment: Mapping[str, str] = os.environ) -> Objects:
    """Return the objects at ``location``: a directory (``~`` is the user's home), or a URL of ``buckets.services``.

    Nothing is read or written yet. Raises ``StoreError`` for another URL, and where a bucket needs the extra
    ``parquetry[objects]``, which is not installed.
    """
    if not is_bucket(location):
        return DirectoryObjects(Path(location).expanduser())
    bucket = parse_bucket(str(location), environment)
    try:
        from snapshots.store.buckets.bucket_objects import BucketObjects  # noqa: PLC0415 - needs an extra
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise StoreError(
            f"{bucket.location}: stores in a bucket need the extra that reads them. Install it: pip install '{EXTRA}'"
        ) from None
    return BucketObjects(bucket)


def working_directory(location: str, cache: Path | None) -> Path:
    """Return the directory of this machine in which commands work on the store at a URL: one of its own in ``cache``.

    Without a ``cache`` it is where the user's programs keep theirs (XDG_CACHE_HOME). Nothing is made.
    """
    readable = re.sub(r"[^A-Za-z0-9]+", "-", location)[:_LONGEST_NAME].strip("-")
    name = f"{readable}-{hashlib.sha256(location.encode()).hexdigest()[:8]}"
    if cache is not None:
        return cache / name
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "parquetry" / "stores" / name
