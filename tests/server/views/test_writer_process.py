"""What keeps the writer of page views running: one workspace or lock that fails is its own trouble only."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from engine.page_views.collecting.spool import SPOOL, SpoolWriter
from engine.page_views.counting.writer import VIEWS
from server.views.writer_process import ViewWriting, spools
from snapshots.store.store import open_store
from tests.server.views.test_collection import open_files


def test_a_spool_that_cannot_be_looked_at_hides_no_other(tmp_path: Path) -> None:
    broken, empty, used = (tmp_path / name / VIEWS for name in ("broken", "empty", "used"))
    broken.mkdir(parents=True)
    (broken / SPOOL).write_bytes(b"")
    (empty / SPOOL).mkdir(parents=True)
    SpoolWriter(used, 0).close()
    assert sorted(spools(tmp_path)) == [broken, used]


def test_a_lock_that_cannot_be_had_holds_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    writing = ViewWriting(open_store(tmp_path), "text", None)
    monkeypatch.setattr(fcntl, "flock", refused)
    for _ in range(3):
        with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
            writing._elected()
    assert open_files(tmp_path) == []
