"""A disk that is too small for the reader's files: the version is refused, and the process goes on."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.manifest import MANIFEST, encode_manifest
from tests.engine.read.materialise.test_materialise import indexed
from tests.programs.copied_process import started
from tests.stores.small_disk import small_disk
from tests.stores.snapshot_builder import write_snapshot

PAGES = Api("api_Pages", "Pages", "pages", ApiKind.LIST, True, (Field("body", "Body", FieldType.TEXTAREA),))
STEP = 768 << 10
OPEN = """
import sys
from pathlib import Path
from engine.read.reader.reader import SnapshotUnusable, open_reader
from snapshots.store.manifest import MANIFEST, decode_manifest
place, cache = map(Path, sys.argv[1:])
try:
    open_reader(place, decode_manifest((place / MANIFEST).read_bytes(), "here"), cache).close()
except (SnapshotUnusable, OSError):
    sys.exit(1)
"""
"""In a process of its own, which writing to a byte without a place on the disk would end."""


@pytest.mark.slow
def test_too_little_room_at_any_step_is_an_error(tmp_path: Path) -> None:
    chance = random.Random(1)
    words = [f"w{number}" for number in range(400)]
    rows = [{"id": f"p{number}", "body": " ".join(chance.choices(words, k=120))} for number in range(3_000)]
    place = tmp_path / "snapshot"
    place.mkdir()
    manifest = indexed(
        place, write_snapshot(place, Workspace("acme", "Acme", ("en",), apis=(PAGES,)), {("pages", "en"): rows})
    )
    (place / MANIFEST).write_bytes(encode_manifest(manifest))
    ended: list[int] = []
    while 0 not in ended and len(ended) < 60:
        with (
            small_disk(tmp_path / f"disk-{len(ended)}", STEP * (len(ended) + 1)) as disk,
            (tmp_path / "log").open("w") as log,
        ):
            opening = started(OPEN, [str(place), str(disk / "cache")], os.environ, log)
            opening.communicate()
        assert opening.returncode in (0, 1), (len(ended), opening.returncode, (tmp_path / "log").read_text())
        ended.append(opening.returncode)
    assert len(ended) > 5, "the steps are too large to end in each of the files"
