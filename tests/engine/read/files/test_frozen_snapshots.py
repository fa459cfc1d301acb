"""One snapshot of each format there has been, kept as it was written: every one is read, and answers the same.

``tests/frozen/answers.json`` was made by the program that wrote format 1, ``types-answers.json`` by the one that wrote
format 3, which is the first that has all field types.
"""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC
from pathlib import Path

import pytest

from engine.read.all_versions.all_versions import AllVersions
from engine.read.reader.data_files import DataFiles
from engine.read.reader.reader import open_reader
from snapshots.store.manifest import FORMAT
from snapshots.store.store import open_store
from snapshots.times import parse_datetime
from tests.generated.asked import asked

FROZEN = Path(__file__).parents[3] / "frozen"
FORMATS = sorted(FROZEN.glob("format-*"))
ANSWERS = {
    "komugi": json.loads((FROZEN / "answers.json").read_text(encoding="utf-8")),
    "types": json.loads((FROZEN / "types-answers.json").read_text(encoding="utf-8")),
}
NOW = parse_datetime("2026-06-15T12:00:00Z", UTC)
SECRET = b"the same for all"


def test_there_is_one_of_each_format() -> None:
    assert [int(one.name.removeprefix("format-")) for one in FORMATS] == list(range(1, FORMAT + 1))


@pytest.mark.parametrize(
    ("frozen", "workspace"),
    [(frozen, one.name) for frozen in FORMATS for one in sorted(frozen.iterdir())],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_snapshot_of_every_format_is_read(frozen: Path, workspace: str, tmp_path: Path) -> None:
    shutil.copytree(frozen, tmp_path / "store")
    place = open_store(tmp_path / "store").workspace(workspace)
    current = place.current()
    assert current is not None
    assert place.manifest(current.version).format == int(frozen.name.removeprefix("format-"))
    assert place.verify(current.version) == []
    directory = place.snapshots / current.version
    reader = open_reader(directory, place.manifest(current.version), tmp_path / "cache")
    try:
        for target, expected in ANSWERS[workspace].items():
            assert json.loads(asked(reader, target, NOW, secret=SECRET)) == expected, target
        with closing(DataFiles(directory)) as files:
            drafts = AllVersions(files, place, reader.manifest, SECRET).drafts()
        assert drafts
        for draft in drafts:
            target = draft.path(reader.workspace.main_language)
            assert json.loads(asked(reader, target, NOW, secret=SECRET))["id"] == draft.entry
    finally:
        reader.close()
