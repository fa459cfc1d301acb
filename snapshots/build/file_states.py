"""An API's source files as remembered ⇄ as they are now: which of them changed, and the findings of the others.

States are kept in columns, and equal findings once for all files that have them, so that tens of thousands of
files are read, compared and written in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec
import numpy as np

from snapshots.build.cache import RACY_NS, FileStates, Findings, FindingsSummary, uncounted
from snapshots.compile.assets import AssetUse
from snapshots.model import Api
from snapshots.problems import Problem, Problems
from snapshots.sources.listing import ApiFiles

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

UNPROVEN = 2**64 - 1
"""Stands for a change time that proves nothing, of a file that was fresh or could not be read."""
_NO_COMMIT = np.iinfo(np.int64).min
_DIGEST_BYTES = 16


class FileUpdate(msgspec.Struct):
    """The files of one API as they are now, compared with their remembered states."""

    paths: list[str]
    changed: list[int]
    """The numbers of the files to compile; a file's number is its place in ``paths``."""
    moved: Ints
    """The present number of each file by its remembered number; -1 for files that are gone or changed."""
    _stats: Ints
    _commits: Ints
    _digests: Ints
    _found: Ints
    _findings: list[tuple[int, msgspec.Raw]]
    _summaries: list[FindingsSummary]
    _fresh: dict[int, Findings] = msgspec.field(default_factory=dict)

    def add(self, number: int, found: Findings, line_offset: int) -> None:
        """Add the findings of a changed file, or of a range of it that begins ``line_offset`` lines after its start."""
        before = self._fresh.get(number)
        if before is None and not line_offset:
            self._fresh[number] = found
        else:
            _add_findings(self._fresh.setdefault(number, Findings()), found, line_offset)

    def read(self, number: int, digest: str) -> None:
        """Note the content digest of a changed file."""
        self._digests[number] = np.frombuffer(bytes.fromhex(digest), np.uint8)

    def forget(self, number: int) -> None:
        """Forget what was found in a file, and that it was read."""
        self._fresh.pop(number, None)
        self._found[number] = 0
        self._digests[number] = 0

    def states(self) -> FileStates:
        """Return the states to remember. Files that could not be read are read again by the next build."""
        summaries = {_key(summary): at for at, summary in enumerate(self._summaries)}
        positions = (
            {(at, bytes(raw)): position for position, (at, raw) in enumerate(self._findings)} if self._fresh else {}
        )
        for number, findings in self._fresh.items():
            if findings.problems or findings.counts or findings.repeated or findings.assets:
                summary = FindingsSummary(findings.counts, bool(findings.repeated), bool(findings.assets))
                at = summaries.setdefault(_key(summary), len(self._summaries))
                if at == len(self._summaries):
                    self._summaries.append(summary)
                findings.problems = [_named(problem, self.paths[number], "") for problem in findings.problems]
                encoded = msgspec.msgpack.encode(findings)
                position = positions.setdefault((at, encoded), len(self._findings))
                if position == len(self._findings):
                    self._findings.append((at, msgspec.Raw(encoded)))
                self._found[number] = position + 1
        self._fresh = {}
        self._stats[1][~self._digests.any(axis=1)] = UNPROVEN
        return FileStates(
            self.paths,
            self._stats.tobytes(),
            self._commits.tobytes(),
            self._digests.tobytes(),
            self._found.tobytes(),
            self._findings,
            self._summaries,
        )


def compare(
    files: ApiFiles,
    commits: Mapping[str, tuple[int, int]] | None,
    before: FileStates | None,
    started_ns: int,
    digest_of: Callable[[int], str],
    state_of: Callable[[str], str],
) -> FileUpdate:
    """Compare an API's files with their remembered states.

    ``commits`` maps paths to first and last commit; ``started_ns`` is when the files were listed;
    ``digest_of`` reads a file by its number and returns its content digest, ``""`` for an unreadable one; ``state_of``
    gives the state of a file that texts name, by its path.
    """
    paths = files.paths()
    dates = np.full((2, len(paths)), _NO_COMMIT, dtype=np.int64)
    if commits:
        none = (_NO_COMMIT, _NO_COMMIT)
        dates = np.array([commits.get(path, none) for path in paths], dtype=np.int64).reshape(-1, 2).T.copy()
    stats = files.stats().copy()
    digests = np.zeros((len(paths), _DIGEST_BYTES), dtype=np.uint8)
    moved: Ints = np.zeros(0, dtype=np.int32)
    same = np.zeros(len(paths), dtype=bool)
    found = np.zeros(len(paths), dtype=np.uint32)
    findings: list[tuple[int, msgspec.Raw]] = []
    summaries: list[FindingsSummary] = []
    if before is not None and before.paths:
        count = len(before.paths)
        positions = _positions(before.paths, paths)
        old_stats = np.frombuffer(before.stats, np.uint64).reshape(3, count)[:, positions]
        old_digests = np.frombuffer(before.digests, np.uint8).reshape(count, _DIGEST_BYTES)[positions]
        old_dates = np.frombuffer(before.commits, np.int64).reshape(2, count)[:, positions]
        candidates = (positions >= 0) & (old_dates == dates).all(axis=0)
        same = candidates & (old_stats == stats).all(axis=0) & (old_stats[1] != UNPROVEN)
        for number in np.flatnonzero(candidates & ~same).tolist():
            digest = digest_of(number)
            same[number] = digest != "" and digest == old_digests[number].tobytes().hex()
        old_found = np.frombuffer(before.found, np.uint32)[positions]
        for number in np.flatnonzero(same & _with_assets(before)[old_found]).tolist():
            findings_before = msgspec.msgpack.decode(before.findings[old_found[number] - 1][1], type=Findings)
            same[number] = all(state_of(asset.path) == asset.state for asset in findings_before.assets)
        digests[same] = old_digests[same]
        moved = np.full(count, -1, dtype=np.int32)
        moved[positions[same]] = np.flatnonzero(same)
        found[same] = np.frombuffer(before.found, np.uint32)[positions[same]]
        findings, summaries = _used(found, before.findings), list(before.summaries)
    stats[1][stats[1].view(np.int64) >= started_ns - RACY_NS] = UNPROVEN
    changed = np.flatnonzero(~same).tolist()
    return FileUpdate(paths, changed, moved, stats, dates, digests, found, findings, summaries)


def report(states: FileStates, api: Api, problems: Problems, worded: Callable[[Api, str, str, int], str]) -> None:
    """Report the findings of an API's files; repeated findings are reported once for all files.

    ``worded`` gives the message on repeated findings: (API, kind, subject, number) → text.
    """
    repeated: dict[tuple[str, str], list[Any]] = {}
    counted = [0] * len(states.summaries)
    closed = [False] * len(states.summaries)
    opened = len(states.summaries)
    positions = np.frombuffer(states.found, np.uint32)
    numbers = np.flatnonzero(positions)
    for done, number in enumerate(numbers.tolist()):
        if not opened:
            rest = np.bincount(positions[numbers[done:]] - 1, minlength=len(states.findings)).tolist()
            for (at, _), times in zip(states.findings, rest, strict=True):
                counted[at] += times
            break
        at, raw = states.findings[positions[number] - 1]
        summary = states.summaries[at]
        if not closed[at]:
            closed[at] = not summary.repeated and all(
                problems.is_full(severity, kind) for severity, kind, _ in summary.counts
            )
            opened -= closed[at]
        if closed[at]:
            counted[at] += 1
            continue
        findings = msgspec.msgpack.decode(raw, type=Findings)
        for problem in findings.problems:
            problems.add(_named(problem, "", states.paths[number]))
        problems.add_uncounted(uncounted(findings.problems, findings.counts))
        for kind, found in findings.repeated.items():
            for what, (count, line, item) in found.items():
                entry = repeated.setdefault((kind, what), [0, states.paths[number], line, item])
                entry[0] += count
    for summary, times in zip(states.summaries, counted, strict=True):
        problems.add_uncounted((severity, kind, count * times) for severity, kind, count in summary.counts)
    for (kind, what), (count, path, line, item) in repeated.items():
        problems.warning(path, line, kind, worded(api, kind, what, count), item=item)


def sources_digest(definitions: str, files: Mapping[str, FileStates], assets: Mapping[str, str]) -> str:
    """Return a digest of all that people wrote: the definitions' digest, the content files of each API by ``uid``, and
    the names of assets by path. Equal files give the same one, whatever program and however dated."""
    seen = blake2b(definitions.encode(), digest_size=16)
    for uid, states in sorted(files.items()):
        width = len(states.digests) // max(1, len(states.paths))
        for number in sorted(range(len(states.paths)), key=states.paths.__getitem__):
            seen.update(f"{uid}\0{states.paths[number]}\0".encode())
            seen.update(states.digests[number * width : (number + 1) * width])
    seen.update(repr(sorted(assets.items())).encode())
    return seen.hexdigest()


def assets_of(states: FileStates) -> Iterator[AssetUse]:
    """Return the files that the texts of an API's files name."""
    for at, raw in states.findings:
        if states.summaries[at].assets:
            yield from msgspec.msgpack.decode(raw, type=Findings).assets


def _with_assets(states: FileStates) -> Ints:
    """Return, for each position in ``findings`` counted from 1, whether files with these findings name assets."""
    return np.array([False, *(states.summaries[at].assets for at, _ in states.findings)])


def _positions(before: list[str], now: list[str]) -> Ints:
    """Return the position in ``before`` of every path in ``now``, -1 for a path that is not there."""
    if before == now:
        return np.arange(len(now))
    where = {path: number for number, path in enumerate(before)}
    return np.array([where.get(path, -1) for path in now], dtype=np.int64)


def _used(found: Ints, findings: list[tuple[int, msgspec.Raw]]) -> list[tuple[int, msgspec.Raw]]:
    """Return the findings that a file still has, and renumber ``found`` by their positions."""
    used = np.bincount(found, minlength=len(findings) + 1) > 0
    used[0] = True
    found[:] = (np.cumsum(used) - 1)[found]
    return [one for one, kept in zip(findings, used[1:].tolist(), strict=True) if kept]


def _named(problem: Problem, before: str, now: str) -> Problem:
    """Return a problem with the file's name ``before`` replaced by the one ``now``."""
    if problem.file != before:
        return problem
    return replace(problem, file=now)


def _key(summary: FindingsSummary) -> tuple[bool, bool, tuple[Any, ...]]:
    return summary.repeated, summary.assets, tuple(summary.counts)


def _add_findings(to: Findings, found: Findings, line_offset: int) -> None:
    """Add ``found`` to the findings ``to``, its lines moved by ``line_offset``."""
    merged = Problems(to.problems)
    merged.add_uncounted(uncounted(to.problems, to.counts))
    other = Problems(
        replace(problem, line=problem.line + line_offset) if line_offset else problem for problem in found.problems
    )
    other.add_uncounted(uncounted(found.problems, found.counts))
    merged.merge(other)
    to.assets += found.assets
    to.problems, to.counts = merged.kept, merged.counts
    for kind, counts in found.repeated.items():
        mine = to.repeated.setdefault(kind, {})
        for what, (count, line, item) in counts.items():
            before, first_line, first_item = mine.get(what, (0, line + line_offset, item))
            mine[what] = (before + count, first_line, first_item)
