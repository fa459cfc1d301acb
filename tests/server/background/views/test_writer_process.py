"""Which workspaces the writer of page views has work for: one that fails is its own trouble only."""

from __future__ import annotations

from pathlib import Path

from engine.views.collecting.spool import SPOOL, VIEWS, SpoolWriter
from server.background.views.spools import spools


def test_a_spool_that_cannot_be_looked_at_hides_no_other(tmp_path: Path) -> None:
    broken, empty, used = (tmp_path / name / VIEWS for name in ("broken", "empty", "used"))
    broken.mkdir(parents=True)
    (broken / SPOOL).write_bytes(b"")
    (empty / SPOOL).mkdir(parents=True)
    SpoolWriter(used, 0).close()
    assert sorted(spools(tmp_path)) == [broken, used]
