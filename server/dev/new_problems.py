"""Tell which problems of a build are new, and how many of the build before are gone."""

from __future__ import annotations

from collections import Counter

import msgspec

from snapshots.problems import Problem, Problems, Severity


class NewProblems(msgspec.Struct, frozen=True):
    """The difference between the problems of a build and those of the build before."""

    new: Problems
    """The problems that the build before did not have."""
    gone: int
    """The number of problems of the build before that are gone."""


def news(before: Problems, now: Problems) -> NewProblems:
    """Compare problems by file and message: a problem that only moved to another line is not new.

    For a kind with more problems than are kept, only the difference in number is known.
    """
    more = Counter({(severity, kind): count for severity, kind, count in now.counts})
    more.subtract({(severity, kind): count for severity, kind, count in before.counts})
    unknown_before = {(severity, kind) for severity, kind, _ in before.hidden()}
    unknown = unknown_before | {(severity, kind) for severity, kind, _ in now.hidden()}
    known = Counter(map(_identity, before.kept))
    new = Problems()
    for problem in now.kept:
        key = (problem.severity, problem.kind)
        if known[_identity(problem)]:
            known[_identity(problem)] -= 1
        elif key not in unknown_before:
            new.add(problem)
            more[key] -= 1
    gone = sum(count for (_, severity, kind, _), count in known.items() if (severity, kind) not in unknown)
    for key in unknown:
        new.add_uncounted([(*key, max(0, more[key]))])
        gone += max(0, -more[key])
    return NewProblems(new, gone)


def _identity(problem: Problem) -> tuple[str, Severity, str, str]:
    return problem.file, problem.severity, problem.kind, problem.message
