"""The spool: a line that a full disk tears takes no other with it, and a segment that is gone none behind it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.views.collecting.spool import SpoolFull, SpoolWriter, View, remove_through, sealed_after, workers
from engine.views.collecting.targets import Kind

NOW = 1_800_000_000_000
FIRST, TORN, NEXT = (View(NOW, Kind.PATH, f"/{name}", "shop.example") for name in ("first", "torn", "next"))


@pytest.mark.parametrize("can_be_cut_off", [True, False])
def test_a_torn_line_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_be_cut_off: bool
) -> None:
    write = os.write

    def refuse(*_: object) -> None:
        raise OSError(5, "the disk is damaged")

    spool = SpoolWriter(tmp_path, NOW)
    spool.append(FIRST)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
        if not can_be_cut_off:
            full.setattr(os, "ftruncate", refuse)
        with pytest.raises(SpoolFull) as refused:
            spool.append(TORN)
    assert refused.value.kept == 0
    spool.append(NEXT)
    spool.seal()
    [worker] = workers(tmp_path)
    assert [view for segment in sealed_after(tmp_path, worker, 0) for view in segment.views()] == [FIRST, NEXT]
    spool.close()


def test_segments_are_read_from_the_first_that_is_there(tmp_path: Path) -> None:
    spool = SpoolWriter(tmp_path, NOW)
    for view in (FIRST, TORN, NEXT):
        spool.append(view)
        spool.seal()
    [worker] = workers(tmp_path)
    remove_through(tmp_path, worker, 1)
    assert [segment.number for segment in sealed_after(tmp_path, worker, 0)] == [2, 3]
    assert [segment.number for segment in sealed_after(tmp_path, worker, 2)] == [3]
    assert [segment.number for segment in sealed_after(tmp_path, worker, 3)] == []
    spool.close()
