"""Lines for people: the answers of a command on standard output, messages and errors on standard error.

Rich is imported for terminals and tables only: a line in a pipe or a log does not wait for the import.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import TYPE_CHECKING

from cli.output.streams import flush, printable, write, writing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

UNBOUNDED_WIDTH = 100_000
"""The width in columns where there is no terminal: a pipe gets every value whole."""
_WORD = re.compile(r"^\s*\S+\s*|\S+\s*")
SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "breaking": "bold red"}


def answer(text: str, style: str = "") -> None:
    """Print a line of the command's answer on standard output."""
    print_line((text, style), stderr=False)


def copied(text: str, style: str = "") -> None:
    """Print a line that is there to be copied, such as a command, on standard output: a terminal gets it unbroken."""
    if is_terminal(stderr=False):
        styled_line(False, (text, style), whole=True)
        flush()
    else:
        answer(text, style)


def message(text: str, style: str = "") -> None:
    """Print a line for the person at the terminal on standard error."""
    print_line((text, style), stderr=True)


def failure(text: str) -> None:
    """Print the reason of the command's failure on standard error."""
    _labelled("error", text)


def warning(text: str) -> None:
    """Print a warning on standard error."""
    _labelled("warning", text)


def located(file: str, line: int, label: str, text: str) -> None:
    """Print ``text`` about a place in the workspace on standard error, in the form of problems."""
    position = (file, "bold"), (f":{line}: ", "")
    print_line(*position, (label, SEVERITY_STYLE[label]), (f": {text}", ""), stderr=True)


def print_line(*parts: tuple[str, str], stderr: bool, hang: int = 0) -> None:
    """Print (text, style) pairs as one line. Where a terminal is too narrow for it, it goes on below, ``hang`` columns
    from the left."""
    if is_terminal(stderr=stderr):
        styled_line(stderr, *parts, hang=hang)
    else:
        plain_line(stderr, *parts)
    flush(stderr=stderr)


def is_terminal(*, stderr: bool) -> bool:
    """Return whether lines go to a terminal, or the environment asks for colours: Rich's rule, without its import."""
    asked = ("FORCE_COLOR", "TTY_COMPATIBLE")
    return any(name in os.environ for name in asked) or (sys.stderr if stderr else sys.stdout).isatty()


def plain_line(stderr: bool, *parts: tuple[str, str]) -> None:
    """Write (text, style) pairs as one line without styles."""
    text = printable("".join(text for text, _ in parts))
    write("\n".join(line.expandtabs() for line in f"{text}\n".split("\n")), stderr=stderr)


def styled_line(stderr: bool, *parts: tuple[str, str], whole: bool = False, hang: int = 0) -> None:
    """Write (text, style) pairs in colour: as one line if it is to stay ``whole``, else broken at words where the
    terminal ends, and going on ``hang`` columns from the left."""
    from rich.text import Text

    line = Text()
    for text, style in parts:
        line.append(printable(text), style)
    console = console_of(stderr=stderr)
    pieces = [line] if whole else _broken(line, console.width, hang)
    with writing(stderr=stderr):
        for piece in pieces:
            console.print(piece, soft_wrap=True)


def _broken(text: Text, width: int, hang: int) -> list[Text]:
    """Return the lines of a text, those that are too wide broken before the first word that does not fit."""
    from rich.cells import cell_len
    from rich.text import Text

    pieces: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        breaks, used = [], 0
        for word in _WORD.finditer(line.plain):
            if used and used + cell_len(word[0].rstrip()) > width:
                breaks.append(word.start())
                used = hang
            used += cell_len(word[0])
        for number, piece in enumerate(line.divide(breaks)):
            piece.rstrip()
            pieces.append(Text(" " * hang).append_text(piece) if number else piece)
    return pieces


def _labelled(severity: str, text: str) -> None:
    print_line((f"{severity}: ", SEVERITY_STYLE[severity]), (text, ""), stderr=True)


@functools.cache
def console_of(*, stderr: bool) -> Console:
    """Return the console of a stream, as wide as its terminal."""
    from rich.console import Console

    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, width=None if terminal else UNBOUNDED_WIDTH
    )
