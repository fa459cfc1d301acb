"""Long work on a terminal shows a bar, which is gone afterwards; elsewhere nothing is shown."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

WORK = """
import time
from cli.output import progress
progress.QUIET_SECONDS = 0
with progress.progress() as tell:
    tell("reading", 0, 0)
    tell("compiling", 3_000_000, 12_000_000)
    time.sleep(1.1)
    tell("compiling", 6_000_000, 12_000_000)
"""
WAITING = """
import time
from cli.output.progress import progress
with progress() as tell:
    tell("opening", 0, 0)
    time.sleep(1)
"""


def on_a_terminal(program: str) -> str:
    """What a program prints on standard error where that is a terminal of 80 columns."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=terminal, env=environment, check=True
    )
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # how Linux says that the other end is closed
        while piece := os.read(controller, 65536):
            shown += piece
    os.close(controller)
    assert done.stdout == b""
    return shown.decode()


def test_progress_is_a_bar_on_a_terminal_only() -> None:
    shown = on_a_terminal(WORK)
    assert "compiling" in shown
    assert "25%  3.0 MB of 12.0 MB" in shown
    assert re.search(r"50%  6\.0 MB of 12\.0 MB  0:0[1-9] left", shown)  # as long as the half took
    assert shown.rstrip().endswith("\x1b[2K")  # the bar's line is cleared at the end

    piped = subprocess.run([sys.executable, "-c", WORK], capture_output=True, check=True)
    assert (piped.stdout, piped.stderr) == (b"", b"")


def test_what_takes_long_without_counts_is_told_too_and_what_is_quick_is_not() -> None:
    assert "opening" in on_a_terminal(WAITING)
    assert on_a_terminal(WAITING.replace("time.sleep(1)", "")) == ""
