"""Print the problems of a workspace as lines for people, or as a part of a JSON document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cli.output.lines import SEVERITY_STYLE, is_terminal, plain_line, print_line, styled_line
from cli.output.streams import flush
from cli.output.wording import plural

if TYPE_CHECKING:
    from snapshots.problems import Problems


def print_problems(found: Problems, *, stderr: bool) -> None:
    """Print problems as ``problem_lines`` does, then their number."""
    problem_lines(found, stderr=stderr)
    print_count(found, stderr=stderr)


def print_count(found: Problems, *, stderr: bool) -> None:
    """Print the number of problems."""
    style = "bold red" if found.errors else "yellow" if found.warnings else "green"
    print_line((problem_count(found), style), stderr=stderr)


_GROUPED = 5
"""Up to this many equal warnings are all printed; of more, ``_SHOWN_OF_GROUP`` are printed and the rest counted."""
_SHOWN_OF_GROUP = 3


def problem_lines(found: Problems, *, stderr: bool) -> None:
    """Print problems as ``file:line: severity: message``: warnings first, so that errors stand next to the summary
    printed after them."""
    emit = plain_line if not is_terminal(stderr=stderr) else styled_line
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
                message = problem.text.replace("\n", "\\n")
                position = (problem.file, "bold"), (f":{problem.line}: ", "")
                emit(stderr, *position, (severity, SEVERITY_STYLE[severity]), (f": {message}", ""))
                if many and shown[group] == _SHOWN_OF_GROUP:
                    rest = same[group] - _SHOWN_OF_GROUP
                    if messages[problem.kind] == 1:  # problems that were only counted belong to this message too
                        rest += hidden.pop((severity, problem.kind), 0)
                    emit(stderr, (f"… and {plural(rest, 'more place')} like these ({problem.kind})", "dim"))
        for (hidden_severity, kind), count in hidden.items():
            if hidden_severity == severity:
                more = f"… and {count:,} more {plural(count, severity, number=False)} like these ({kind})"
                emit(stderr, (more, "dim"))
    flush(stderr=stderr)


def problem_count(found: Problems) -> str:
    """Return the number of problems as text: ``3 errors, 1 warning``, or ``No problems``."""
    if not (found.errors or found.warnings):
        return "No problems"
    return f"{plural(found.errors, 'error')}, {plural(found.warnings, 'warning')}"


def problem_documents(found: Problems) -> list[dict[str, object]]:
    """Return problems as ``--json`` prints them (decision 49)."""
    return [{"file": one.file, "line": one.line, "severity": one.severity, "message": one.text} for one in found.kept]
