"""The result of a command → text for people, or one JSON document.

Answers go to standard output; messages, problems of a build and progress to standard error. Rich is
imported for terminals and tables only: a line in a pipe or a log does not wait for the import.
"""

from __future__ import annotations

import functools
import io
import math
import os
import re
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING

from cli.table_widths import GAP, table_widths
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from snapshots.problems import Problems

UNBOUNDED_WIDTH = 100_000
"""The width in columns where there is no terminal: a pipe gets every value whole."""
QUIET_SECONDS = 0.3
"""Work that takes fewer seconds than this shows no progress bar."""

# Characters of content and file names that a terminal would obey; all others are shown as they are.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "breaking": "bold red"}


@dataclass
class _Document:
    """The state of a command's one JSON document."""

    begun: bool = False


_document = _Document()


class OutputFailed(ParquetryError):
    """Standard output can no longer be written."""


@contextmanager
def _writing(*, stderr: bool) -> Iterator[None]:
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
    _document.begun = False
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    """Discard all further output on standard output, which can no longer be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_json(document: object) -> None:
    """Print one JSON document on standard output."""
    import json

    write_json_text(json.dumps(document, ensure_ascii=False, indent=2))


def write_error_document(text: str) -> None:
    """Print the reason of a failure as the command's JSON document, unless another one has been begun."""
    if not _document.begun:
        write_json({"error": text})


def write_json_text(text: str) -> None:
    """Print a JSON document given as text, in UTF-8 whatever the terminal's encoding is."""
    write_json_parts((text,))


def write_json_parts(parts: Iterable[str]) -> None:
    """Print one JSON document that comes in parts, so that it can be larger than memory."""
    _document.begun = True
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    for part in parts:
        _write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", part))
    _write("\n")
    _flush()


def write_source(text: str) -> None:
    """Print the source text of a program on standard output, in UTF-8, with control characters as escapes.

    Control characters stand in strings only, where TypeScript and Python both read the escapes.
    """
    write_json_text(text.removesuffix("\n"))


def answer(text: str, style: str = "") -> None:
    """Print a line of the command's answer on standard output, never wrapped or cut."""
    _line((text, style), stderr=False)


def message(text: str, style: str = "") -> None:
    """Print a line for the person at the terminal on standard error."""
    _line((text, style), stderr=True)


def failure(text: str) -> None:
    """Print the reason of the command's failure on standard error."""
    _labelled("error", text)


def warning(text: str) -> None:
    """Print a warning on standard error."""
    _labelled("warning", text)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print rows under their column names on standard output, each on one line.

    ``right`` names the columns of numbers. On a terminal that is too narrow, values are cut, except numbers and the
    columns in ``whole``, which are there to be copied. If that is not enough, columns in ``spare`` are left out, the
    first of them first, and named below the table. A pipe gets everything.
    """
    from rich.cells import cell_len
    from rich.table import Table

    lines = [[_printable(cell).replace("\n", "\\n").expandtabs() for cell in row] for row in rows]
    natural = [max(map(cell_len, cells)) for cells in zip(columns, *lines, strict=True)]
    kept = [name in whole or name in right for name in columns]
    console = _console(stderr=False)
    widths = table_widths(natural, kept, [columns.index(name) for name in spare], console.width)
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width in widths.items():
        justify: JustifyMethod = "right" if columns[column] in right else "left"
        grid.add_column(columns[column], justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    for line in lines:
        grid.add_row(*(_text(line[column]) for column in widths))
    _grid(grid, max(console.width, sum(widths.values()) + GAP * len(widths)))
    left_out = [name for column, name in enumerate(columns) if column not in widths]
    if left_out:
        answer(f"Too narrow for {', '.join(left_out)}: a wider terminal and --json show all.", style="dim")


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and their values, one a line, on standard output."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, _text(value))
    _grid(grid)


def problems(found: Problems, *, stderr: bool) -> None:
    """Print problems as ``problem_lines`` does, then their number."""
    problem_lines(found, stderr=stderr)
    style = "bold red" if found.errors else "yellow" if found.warnings else "green"
    _line((problem_count(found), style), stderr=stderr)


_GROUPED = 5
"""Up to this many equal warnings are all printed; of more, ``_SHOWN_OF_GROUP`` are printed and the rest counted."""
_SHOWN_OF_GROUP = 3


def problem_lines(found: Problems, *, stderr: bool) -> None:
    """Print problems as ``file:line: severity: message``: warnings first, so that errors stand next to the summary
    printed after them."""
    emit = _plain_line if not _is_terminal(stderr=stderr) else _styled_line
    kept = found.kept
    same = Counter((problem.kind, problem.message) for problem in kept if problem.severity == "warning")
    messages = Counter(kind for kind, _ in same)
    hidden = {(severity, kind): count for severity, kind, count in found.hidden()}
    for severity in ("warning", "error"):
        shown: Counter[tuple[str, str]] = Counter()
        for problem in kept:
            if problem.severity == severity:
                group = problem.kind, problem.message
                many = severity == "warning" and same[group] > _GROUPED
                shown[group] += 1
                if many and shown[group] > _SHOWN_OF_GROUP:
                    continue
                # Content quoted in a message may have line ends; the message stays on one line.
                message = problem.message.replace("\n", "\\n")
                place = (problem.file, "bold"), (f":{problem.line}: ", "")
                emit(stderr, *place, (severity, _SEVERITY_STYLE[severity]), (f": {message}", ""))
                if many and shown[group] == _SHOWN_OF_GROUP:
                    rest = same[group] - _SHOWN_OF_GROUP
                    if messages[problem.kind] == 1:  # problems that were only counted belong to this message too
                        rest += hidden.pop((severity, problem.kind), 0)
                    emit(stderr, (f"… and {plural(rest, 'more place')} like these ({problem.kind})", "dim"))
        for (hidden_severity, kind), count in hidden.items():
            if hidden_severity == severity:
                more = f"… and {count:,} more {plural(count, severity, number=False)} like these ({kind})"
                emit(stderr, (more, "dim"))
    _flush(stderr=stderr)


def located(file: str, line: int, label: str, text: str) -> None:
    """Print ``text`` about a place in the workspace on standard error, in the form of problems."""
    place = (file, "bold"), (f":{line}: ", "")
    _line(*place, (label, _SEVERITY_STYLE[label]), (f": {text}", ""), stderr=True)


def problem_count(found: Problems) -> str:
    """Return the number of problems as text: ``3 errors, 1 warning``, or ``No problems``."""
    if not (found.errors or found.warnings):
        return "No problems"
    return f"{plural(found.errors, 'error')}, {plural(found.warnings, 'warning')}"


def problem_documents(found: Problems) -> list[dict[str, object]]:
    """Return problems as ``--json`` prints them (decision 49)."""
    return [
        {"file": one.file, "line": one.line, "severity": one.severity, "message": one.message} for one in found.kept
    ]


def plural(count: int, noun: str, *, number: bool = True) -> str:
    """Return a count with its noun: ``1 entry``, ``2 entries``, ``1,000 errors``; without ``number`` the noun alone."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    text = noun if count == 1 else many
    return f"{count:,} {text}" if number else text


def size(count: int) -> str:
    """Return a number of bytes for people: ``812 bytes``, ``4.2 kB``, ``1.3 GB`` (powers of 1,000)."""
    if count < 1000:
        return plural(count, "byte")
    amount = float(count)
    units = ["kB", "MB", "GB", "TB"]
    while (amount := amount / 1000) >= 999.95 and len(units) > 1:
        del units[0]
    return f"{amount:.1f} {units[0]}"


def instant(ms: int) -> str:
    """Return UTC milliseconds for people: ``2026-11-21 05:51:07 UTC``."""
    return f"{moment(ms)} UTC"


def moment(ms: int) -> str:
    """Return UTC milliseconds for a column headed UTC: ``2026-11-21 05:51:07``."""
    text = format_datetime(ms)
    return f"{text[:10]} {text[11:19]}"


def program() -> str:
    """Return the text that calls this program from anywhere: ``cms`` if that is on the path, else its absolute path."""
    called = Path(sys.argv[0])
    found = shutil.which("cms")
    elsewhere = called.name == "cms" and called.exists() and (found is None or not called.samefile(found))
    return shlex.quote(str(called.absolute())) if elsewhere else "cms"


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give the function that a long job calls with (step, bytes done, bytes in all); 0 bytes in all: not counted.

    On a terminal the calls become a bar on standard error, removed after the block; elsewhere nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.stop()


class _Bar:
    """A progress bar that appears after ``QUIET_SECONDS`` of work, even if no progress is told by then."""

    def __init__(self) -> None:
        began = time.monotonic()
        self._shown_from = began + QUIET_SECONDS
        self._what, self._what_began = "", began
        self._done, self._total = 0, 0
        self._timer: Timer | None = None
        self._progress: Progress | None = None
        self._lock = Lock()

    def tell(self, what: str, done: int, total: int) -> None:
        with self._lock:
            now = time.monotonic()
            if what != self._what:
                self._what, self._what_began = what, now
            self._done, self._total = done, total
            if self._progress is not None or now >= self._shown_from:
                self._show()
            elif self._timer is None:
                self._timer = Timer(self._shown_from - now, self._show_late)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._shown_from = math.inf
            if self._progress is not None:
                self._progress.stop()

    def _show_late(self) -> None:
        with self._lock:
            if self._progress is None and time.monotonic() >= self._shown_from:
                self._show()

    def _show(self) -> None:
        if self._progress is None:
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[counts]}"),
                console=_console(stderr=True),
                transient=True,
            )
            self._progress.start()
        total, done = self._total or None, self._done
        counts = _counts(self._done, self._total, time.monotonic() - self._what_began)
        tasks = self._progress.tasks
        if not tasks or tasks[-1].description != self._what:
            for task in tasks:
                self._progress.remove_task(task.id)
            self._progress.add_task(self._what, total=total, completed=done, counts=counts)
        else:
            self._progress.update(tasks[-1].id, total=total, completed=done, counts=counts)


def _counts(done: int, total: int, seconds: float) -> str:
    """Return the progress of a step after ``seconds``, and the time left at that speed:
    ``60%  1.2 MB of 2.0 MB  0:08 left``."""
    if not total:
        return ""
    text = f"{done / total:.0%}  {size(done)} of {size(total)}"
    if 0 < done < total and seconds >= 1:
        minutes, rest = divmod(round(seconds / done * (total - done)), 60)
        text += f"  {minutes}:{rest:02} left"
    return text


@functools.cache
def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, width=None if terminal else UNBOUNDED_WIDTH
    )


def _grid(grid: Table, width: int | None = None) -> None:
    """Print a grid, uncut even if the terminal is narrower."""
    console = _console(stderr=False)
    with console.capture() as captured:
        console.print(grid, crop=False, width=width)
    text = captured.get()
    # Rich fills every row up to the width of the widest.
    _write("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    _flush()


def _write(text: str, *, stderr: bool = False) -> None:
    with _writing(stderr=stderr):
        (sys.stderr if stderr else sys.stdout).write(text)


def _flush(*, stderr: bool = False) -> None:
    with _writing(stderr=stderr):
        (sys.stderr if stderr else sys.stdout).flush()


def _is_terminal(*, stderr: bool) -> bool:
    """Return whether lines go to a terminal, or the environment asks for colours: Rich's rule, without its import."""
    asked = ("FORCE_COLOR", "TTY_COMPATIBLE")
    return any(name in os.environ for name in asked) or (sys.stderr if stderr else sys.stdout).isatty()


def _line(*parts: tuple[str, str], stderr: bool) -> None:
    """Print (text, style) pairs as one line."""
    (_styled_line if _is_terminal(stderr=stderr) else _plain_line)(stderr, *parts)
    _flush(stderr=stderr)


def _plain_line(stderr: bool, *parts: tuple[str, str]) -> None:
    text = _printable("".join(text for text, _ in parts))
    _write("\n".join(line.expandtabs() for line in f"{text}\n".split("\n")), stderr=stderr)


def _styled_line(stderr: bool, *parts: tuple[str, str]) -> None:
    from rich.text import Text

    line = Text()
    for text, style in parts:
        line.append(_printable(text), style)
    with _writing(stderr=stderr):
        _console(stderr=stderr).print(line, soft_wrap=True)


def _labelled(severity: str, text: str) -> None:
    _line((f"{severity}: ", _SEVERITY_STYLE[severity]), (text, ""), stderr=True)


def _text(text: str) -> Text:
    from rich.text import Text

    return Text(_printable(text))


def _printable(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
