"""Amounts, instants, tables and progress as people see them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from cli import output

WORK = """
import time
from cli import output
output.QUIET_SECONDS = 0
with output.progress() as tell:
    tell("reading", 0, 0)
    tell("compiling", 3_000_000, 12_000_000)
    time.sleep(1.1)
    tell("compiling", 6_000_000, 12_000_000)
"""
WAITING = """
import time
from cli import output
with output.progress() as tell:
    tell("opening", 0, 0)
    time.sleep(1)
"""


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "error", "0 errors"), (1, "entry", "1 entry"), (2, "entry", "2 entries"), (1234, "file", "1,234 files")],
)
def test_plural(count: int, noun: str, text: str) -> None:
    assert output.plural(count, noun) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (2_340_000_000, "2.3 GB"),
        (5_000_000_000_000_000, "5000.0 TB"),
    ],
)
def test_size(count: int, text: str) -> None:
    assert output.size(count) == text


def test_instant() -> None:
    assert output.instant(1_795_240_267_999) == "2026-11-21 05:51:07 UTC"


def test_a_table_in_a_pipe_is_whole_and_has_no_blanks_at_line_ends(capsys: pytest.CaptureFixture[str]) -> None:
    long = "word " * 60
    output.table(("NAME", "COUNT", ""), [(long.strip(), "5", ""), ("[b]", "1,000", "x\x1b[0m")], right=("COUNT",))
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "COUNT"]
    assert first == f"{long.strip()}      5"
    assert second.startswith("[b] ")
    assert second.endswith("  1,000  x\\x1b[0m")


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
    assert "50%  6.0 MB of 12.0 MB  0:01 left" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the bar's line is cleared at the end

    piped = subprocess.run([sys.executable, "-c", WORK], capture_output=True, check=True)
    assert (piped.stdout, piped.stderr) == (b"", b"")


def test_what_takes_long_without_counts_is_told_too_and_what_is_quick_is_not() -> None:
    assert "opening" in on_a_terminal(WAITING)
    assert on_a_terminal(WAITING.replace("time.sleep(1)", "")) == ""
