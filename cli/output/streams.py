"""Standard output and standard error: their encoding, their ends, and what a terminal would obey."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from snapshots.control_characters import CONTROL
from snapshots.problems import ParquetryError


class OutputFailed(ParquetryError):
    """Standard output can no longer be written."""


@contextmanager
def writing(*, stderr: bool) -> Iterator[None]:
    """Turn an ``OSError`` of standard output into ``OutputFailed``; a reader that went away stays ``BrokenPipeError``.

    Errors of standard error are ignored: the work goes on without the message.
    """
    try:
        yield
    except OSError as error:
        if stderr:
            return
        if isinstance(error, BrokenPipeError):
            raise
        _give_up_stdout()
        raise OutputFailed(f"The output cannot be written: {error.strerror}.") from None


def prepare_streams() -> None:
    """Print characters that the terminal's encoding lacks, lone surrogates of file names included, as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    """Discard all further output on standard output, which can no longer be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write(text: str, *, stderr: bool = False) -> None:
    """Write text on standard output, or on standard error."""
    with writing(stderr=stderr):
        (sys.stderr if stderr else sys.stdout).write(text)


def flush(*, stderr: bool = False) -> None:
    """Hand everything written so far to the reader of the stream."""
    with writing(stderr=stderr):
        (sys.stderr if stderr else sys.stdout).flush()


def printable(text: str) -> str:
    """Return text with the characters that a terminal would obey as escapes."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
