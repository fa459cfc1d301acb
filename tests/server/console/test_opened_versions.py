"""The versions that are searched: there once the server has made them ready, and one of each workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.read.reader.reader import ReaderSettings, open_reader
from server.console.opened_versions import OpenedVersions
from server.console.visit import Refused
from tests.sites.served_site import Site


def make_ready(site: Site, version: str, cache: Path) -> None:
    open_reader(site.place.snapshots / version, site.place.manifest(version), cache).close()


def test_a_version_is_opened_once_it_is_ready(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    versions = OpenedVersions(tmp_path, ReaderSettings())
    first = site.publish("one")
    manifest = site.place.manifest(first)
    with pytest.raises(Refused, match="still preparing this snapshot version") as refused:
        versions.reader(site.place, manifest)
    assert refused.value.status == 503
    make_ready(site, first, tmp_path)
    reader = versions.reader(site.place, manifest)
    assert versions.reader(site.place, manifest) is reader
    second = site.publish("two")
    with pytest.raises(Refused):
        versions.reader(site.place, site.place.manifest(second))
    make_ready(site, second, tmp_path)
    later = versions.reader(site.place, site.place.manifest(second))
    assert (reader.version, later.version) == (first, second)
    back = versions.reader(site.place, manifest)
    assert back.version == first
    assert back is not reader  # which was closed
