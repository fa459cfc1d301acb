"""A site whose store is in a bucket: built in a local store, and pushed from there as a builder would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.access.keys.access import ACCESS
from engine.access.keys.keys import Key
from server.mirror.mirror_store import mirror_of
from snapshots.store.carrying import file_key
from snapshots.store.changes import announce
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import CURRENT, SNAPSHOTS, Store
from tests.sites.served_site import Running, Site, serving


class BucketSite(Site):
    """One workspace of a store in a bucket."""

    def __init__(self, directory: Path, objects: Objects, workspace: str = "acme", *, entries: int = 3) -> None:
        super().__init__(directory, workspace, entries=entries)
        self.objects = objects

    def release(self, text: str) -> str:
        """Build a version in which every entry says ``text``, put it into the bucket and make it current there."""
        version = self.publish(text)
        self.push_version(version)
        self.push_current()
        return version

    def push_version(self, version: str) -> None:
        directory = self.place.snapshots / version
        files = [path for path in directory.rglob("*") if path.is_file()]
        for path in sorted(files, key=lambda path: path.name == "manifest.json"):
            self.objects.create(self.object_key(version, path.relative_to(directory).as_posix()), path)

    def version_key(self, version: str) -> str:
        return f"{self.workspace}/{SNAPSHOTS}/{version}"

    def object_key(self, version: str, path: str) -> str:
        """The key in the bucket of a file of a version."""
        files = {file.path: file for file in self.place.manifest(version).files}
        if path not in files:
            return f"{self.version_key(version)}/{path}"
        return file_key(self.objects, self.workspace, version, files[path])

    def push_current(self) -> None:
        document = (self.place.directory / CURRENT).read_bytes()
        self.objects.replace(f"{self.workspace}/{CURRENT}", document, ANY)
        announce(self.objects, self.workspace)

    def push_keys(self) -> None:
        document = (self.place.directory / ACCESS).read_bytes()
        self.objects.replace(f"{self.workspace}/{ACCESS}", document, ANY, private=True)
        announce(self.objects, self.workspace)

    def pull_keys(self) -> None:
        """Take the keys of the bucket over, after somebody else has changed them there."""
        found = self.objects.read(f"{self.workspace}/{ACCESS}")
        assert found is not None
        (self.place.directory / ACCESS).write_bytes(found.data)

    def released_key(self, **settings: Any) -> tuple[Key, str]:
        """Issue a key and put it into the bucket."""
        issued = self.key(**settings)
        self.push_keys()
        return issued

    def titles(self, reader: Running) -> set[str] | int:
        """The titles that a reader serves, or the status if it serves none."""
        answer = reader.get(f"/v1/{self.workspace}/posts")
        return {one["title"] for one in answer.json["contents"]} if answer.status == 200 else answer.status


@contextmanager
def serving_bucket(url: str, directory: Path, **settings: Any) -> Iterator[Running]:
    """Run a server, with a cache in a directory, over the store at a URL. ``settings`` are those of ``serving``."""
    directory.mkdir(exist_ok=True)
    with serving(
        mirror_of(url, directory / "cache"), directory / "log", location=url, cache=str(directory / "cache"), **settings
    ) as running:
        yield running


def mirror_in(directory: Path, url: str) -> Store:
    """The mirror that such a server keeps."""
    return mirror_of(url, directory / "cache")


def readiness(reader: Running) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reader.get("/readyz").body)
    return found
