"""The server as an application in the test's own process, which writes no log of requests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.applications import Starlette

from server.app import create_app
from server.http import access_log
from server.settings import Settings
from server.workspaces import workspaces
from snapshots.times import now_ms


def quiet_app(settings: Settings, *, clock: Callable[[], int] = now_ms) -> Starlette:
    workspaces.FIRST_WAIT_SECONDS = 60.0  # a machine that is busy opens the small ones late
    with pytest.MonkeyPatch.context() as patch:
        # The log is written from a thread, between tests too, where it would land in pytest's own output.
        patch.setattr(access_log, "_write_stderr", lambda _lines: None)
        return create_app(settings, clock=clock)
