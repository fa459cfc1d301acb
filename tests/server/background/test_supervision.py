"""The looking after a keeper that cannot be started for a while."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from server.background import supervision
from server.background.supervision import kept
from server.processes.child import Child
from server.settings import Settings
from tests.server.processes.test_child import running, work
from tests.sites.served_site import eventually


def kept_by(settings: Settings, _log: object, _console: object) -> None:
    """Stand for a keeper, beside the store of the settings."""
    work(Path(settings.store).parent)


def test_one_that_a_full_machine_cannot_start_again_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = iter([None, *[OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))] * 2])

    def started(*arguments: Any) -> Child:
        refusal = next(refusals, None)
        if refusal is not None:
            raise refusal
        return Child(*arguments)

    monkeypatch.setattr(supervision, "Child", started)
    monkeypatch.setattr(supervision, "keep", kept_by)
    monkeypatch.setattr(supervision, "RESTART_SECONDS", 0.02)
    monkeypatch.setattr(supervision, "LOOK_SECONDS", 0.01)
    with kept(Settings(store=str(tmp_path / "store")), {}):
        eventually(lambda: running(tmp_path))
        [killed] = running(tmp_path)
        (tmp_path / str(killed)).unlink()
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: running(tmp_path))
    assert running(tmp_path) == set(), "it was told to end"
    assert caplog.text.count("the keeper cannot be started: [Errno 11]") == 2
