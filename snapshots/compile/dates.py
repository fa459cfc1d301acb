"""The dates of a version: what its document gives, and what holds where it gives none (decisions 23 and 41)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from snapshots.compile.expressions import Place, compile_expression
from snapshots.compile.values import is_null
from snapshots.documents.document import Document, RawValue
from snapshots.model import META_DATES
from snapshots.problems import Problems
from snapshots.sources.listing import SourceFile
from snapshots.times import parse_datetime, parse_usual_datetimes

UNDATED = 0
"""What ``createdAt`` is when nothing tells it: 1970-01-01T00:00:00.000Z (decision 23)."""

GitRange = tuple[int, int]
"""The first and last commit of a file, UTC milliseconds."""


Given = list[int | None]
"""``createdAt``, ``updatedAt``, ``publishedAt``, ``publishStart`` and ``publishEnd`` as a document gives them, UTC
milliseconds."""
_NAMES = (*META_DATES, "publishStart", "publishEnd")


class VersionDates:
    """Reads the dates of one API's documents."""

    def __init__(self, meta: Mapping[str, str], languages: tuple[str, ...], zone: tzinfo) -> None:
        """``meta`` says where a date stands that is not under its own name; ``languages`` are all spellings."""
        self.expressions = {name: compile_expression(meta.get(name, name), languages=languages) for name in _NAMES}
        self._zone = zone
        steps = self.expressions.items()
        self._steps = [(at, name, one.simple, one) for at, (name, one) in enumerate(steps)]

    def read(
        self, document: Document, place: Place, wrong: Callable[[str, str | None, str], None]
    ) -> tuple[Given, bool]:
        """The dates a document gives, and whether all are good; ``wrong`` hears of those that are not."""
        found: Given = [None] * len(_NAMES)
        good = True
        values = document.values
        for at, name, simple, expression in self._steps:
            raw = values.get(simple) if simple is not None else expression.read(document, place)
            if raw is None:
                continue
            try:
                if type(raw) is not str:
                    if is_null(raw):
                        continue
                    raw = _text(raw)
                found[at] = parse_datetime(raw, self._zone)
            except ValueError as error:
                wrong("wrong-value", expression.key, f"{name}: {error}")
                good = False
        return found, good

    def read_columns(self, columns: Mapping[str, Sequence[RawValue]], count: int) -> list[Sequence[int | None]]:
        """The dates that ``count`` documents give, one list a name, where every date stands under a key.

        ``columns`` holds the values of each key; a key that no document has is left out. Raises ``ValueError`` where
        a document by itself has to tell what is wrong.
        """
        found: list[Sequence[int | None]] = []
        for _, _, simple, _ in self._steps:
            if simple is None:
                raise ValueError("a date is not under a key")
            written: Sequence[Any] | None = columns.get(simple)
            if written is None:
                found.append([None] * count)
                continue
            if not {str, type(None)}.issuperset(map(type, written)):
                raise ValueError("a date is no text")
            if None not in written and (usual := parse_usual_datetimes(written)) is not None:
                found.append(usual)
                continue
            instants = {raw: None if raw is None else parse_datetime(raw, self._zone) for raw in set(written)}
            found.append([instants[raw] for raw in written])
        return found


def meta_dates(
    given: Given, source: SourceFile, line: int, git: GitRange | None, problems: Problems
) -> tuple[int, int, int]:
    """createdAt, updatedAt, publishedAt by the defaults of decisions 23 and 41."""
    if git is None:
        git = earliest(given)
    if git is None:
        git = UNDATED, UNDATED
        problems.warning(
            source.path,
            line,
            "no-date",
            "no date known: createdAt and updatedAt become 1970-01-01; add createdAt, or keep the workspace in git",
        )
    return settled(given, git)


def earliest(given: Sequence[int | None]) -> GitRange | None:
    """What stands for the commits of a file without any: the earliest meta date given, where there is one."""
    known = [date for date in given[:3] if date is not None]
    if not known:
        return None
    first = min(known)
    return first, first


def settled(given: Sequence[int | None], commits: GitRange) -> tuple[int, int, int]:
    """createdAt, updatedAt, publishedAt out of ``Given`` and the first and last commit."""
    created, updated, published, start, _ = given
    if created is None:
        created = commits[0]
    if published is None:
        published = created if start is None else start
    return created, commits[1] if updated is None else updated, published


def _text(raw: RawValue) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"expected a date-time such as 2026-11-01T09:00:00+09:00, got {raw!r}")
    return raw
