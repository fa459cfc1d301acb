"""Problems in a workspace: the fault, its place and the remedy; and the base of all errors the product raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

Severity = Literal["error", "warning"]

KEPT_PER_KIND = 300
"""Problems of each kind that are kept in full; further ones are only counted, so that a million cost no memory."""

WARNING_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "references": frozenset({"dangling-reference", "ambiguous-reference"}),
    "links": frozenset({"dangling-link", "no-page-url"}),
    "translations": frozenset({"lost-reference", "lagging-translation"}),
}
"""The kinds of warnings in each class that ``strict`` in workspace.yaml can make errors."""


class ParquetryError(Exception):
    """The base of every error the product raises on purpose.

    The message tells people the fault, its place and the remedy. The command line turns it into
    exit status 1, the server's one table into a status code.
    """


def raise_all(failures: Sequence[ParquetryError]) -> None:
    """Raise what steps that were each taken for themselves failed with: the only error, or one with all messages."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ParquetryError(" ".join(map(str, failures)))


class WorkspaceRefused(ParquetryError):
    """A workspace has errors, so nothing was built. ``problems`` holds them all.

    ``assets`` are the files that texts name, relative to the workspace, there or not.
    """

    def __init__(self, message: str, problems: Problems, assets: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = problems
        self.assets = tuple(assets)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a workspace (workspace-format, "What is refused, and how")."""

    file: str
    """Path relative to the workspace, with forward slashes."""
    line: int
    """1-based; 1 where a thing is missing."""
    severity: Severity
    message: str
    kind: str
    """A short slug such as ``wrong-type``, by which problems are grouped, counted and capped."""
    in_version: bool = False
    """True when it spoils one language version only: ``--lenient`` leaves that version out instead."""
    item: str = ""
    """The item that it is about, in a file of many: ``item 3 ('hello')``. Not part of the message, so that equal
    problems of many items count as equal."""

    @property
    def text(self) -> str:
        """The message for people, which begins with the item."""
        return f"{self.item}: {self.message}" if self.item else self.message

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity}: {self.text}"


class Problems:
    """Collects the problems of a run: all of them counted, the first few hundred of each kind kept."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._kept: list[Problem] = []
        self._counts: Counter[tuple[Severity, str]] = Counter()
        for problem in problems:
            self.add(problem)

    def add(self, problem: Problem) -> None:
        key = (problem.severity, problem.kind)
        self._counts[key] += 1
        if self._counts[key] <= KEPT_PER_KIND:
            self._kept.append(problem)

    def error(self, file: str, line: int, kind: str, message: str, *, in_version: bool = False, item: str = "") -> None:
        self.add(Problem(file, line, "error", message, kind, in_version, item))

    def warning(self, file: str, line: int, kind: str, message: str, *, item: str = "") -> None:
        self.add(Problem(file, line, "warning", message, kind, item=item))

    def merge(self, other: Problems) -> None:
        """Add all problems of another collector, keeping the totals exact."""
        seen: Counter[tuple[Severity, str]] = Counter()
        for problem in other._kept:
            self.add(problem)
            seen[(problem.severity, problem.kind)] += 1
        for key, count in other._counts.items():
            self._counts[key] += count - seen[key]

    def without(self, kind: str) -> Problems:
        """Return a collector with all problems but those of one kind."""
        result = Problems(problem for problem in self._kept if problem.kind != kind)
        result._counts = Counter({key: count for key, count in self._counts.items() if key[1] != kind})
        return result

    def add_uncounted(self, counts: Iterable[tuple[Severity, str, int]]) -> None:
        """Count problems that were found but not kept one by one."""
        for severity, kind, count in counts:
            self._counts[(severity, kind)] += count

    def is_full(self, severity: Severity, kind: str) -> bool:
        """Return whether further problems of a kind are only counted."""
        return self._counts[(severity, kind)] >= KEPT_PER_KIND

    @property
    def errors(self) -> int:
        return sum(count for (severity, _), count in self._counts.items() if severity == "error")

    @property
    def warnings(self) -> int:
        return sum(count for (severity, _), count in self._counts.items() if severity == "warning")

    @property
    def counts(self) -> list[tuple[Severity, str, int]]:
        """(severity, kind, how many), errors first."""
        return sorted((severity, kind, count) for (severity, kind), count in self._counts.items() if count)

    @property
    def kept(self) -> list[Problem]:
        """The problems kept in full, by file, line and message."""
        return sorted(self._kept, key=lambda p: (p.file, p.line, p.severity, p.message))

    def hidden(self) -> list[tuple[Severity, str, int]]:
        """(severity, kind, how many more there are than ``kept`` holds), only where some are missing."""
        kept = Counter((problem.severity, problem.kind) for problem in self._kept)
        return [(s, k, n - kept[(s, k)]) for s, k, n in self.counts if n > kept[(s, k)]]

    def judged(self, *, strict: bool = False, classes: Collection[str] = (), lenient: bool = False) -> Problems:
        """Return the problems by other severities.

        With ``strict`` all warnings are errors, with ``classes`` those of these ``WARNING_CLASSES``; with ``lenient``
        errors inside one language version are warnings.
        """
        if not (strict or classes or lenient):
            return self
        chosen = {kind for one in classes for kind in WARNING_CLASSES[one]}

        def judge(severity: Severity, kind: str, in_version: bool) -> Severity:
            if lenient and in_version:
                return "warning"
            return "error" if strict or kind in chosen else severity

        result = Problems()
        moved: Counter[tuple[Severity, str]] = Counter()
        for problem in self._kept:
            key = (problem.severity, problem.kind)
            result.add(replace(problem, severity=judge(problem.severity, problem.kind, problem.in_version)))
            moved[key] += 1
        in_version_kinds = {p.kind for p in self._kept if p.in_version}
        for (severity, kind), count in self._counts.items():
            rest = count - moved[(severity, kind)]
            result.add_uncounted([(judge(severity, kind, kind in in_version_kinds), kind, rest)])
        return result
