"""The dates of a version: those that its document gives, and the defaults of the others (decisions 23 and 41)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import tzinfo

from snapshots.documents.document import ContentDocument, RawValue, is_missing
from snapshots.documents.expressions import FileFacts, parse_expression
from snapshots.local_times import DOUBTFUL_TIME, doubtful_time
from snapshots.model import META_DATES
from snapshots.problems import Problems
from snapshots.sources.listing import SourceFile
from snapshots.times import parse_written_datetime

UNDATED = 0
"""``createdAt`` of a version without any known date: 1970-01-01T00:00:00.000Z (decision 23)."""

GIVEN, CHANGED_BY_GIT, CREATED_BY_GIT, GUESSED, NOT_KNOWN = range(5)
"""Say where a version's createdAt and updatedAt are from: both from its file; updatedAt from git; createdAt, and
perhaps updatedAt, from git; from another date of the file, since git has none; from nowhere."""

GitRange = tuple[int, int]
"""The first and last commit of a file, UTC milliseconds."""

NO_DATE = "no-date"
"""The kind of problem of a version without any known date."""

Wrong = Callable[..., None]
"""Called with (kind of the problem, key concerned, message, name of the field or date)."""

Given = list[int | None]
"""A document's ``createdAt``, ``updatedAt``, ``publishedAt``, ``publishStart`` and ``publishEnd``, UTC milliseconds."""
_DAY = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_NAMES = (*META_DATES, "publishStart", "publishEnd")


class VersionDates:
    """Reads the dates of one API's documents."""

    def __init__(self, meta: Mapping[str, str], languages: tuple[str, ...], zone: tzinfo) -> None:
        """``meta`` holds the expressions of dates not under their own names; ``languages`` are all spellings."""
        self.expressions = {name: parse_expression(meta.get(name, name), languages=languages) for name in _NAMES}
        self._zone = zone

    def read(
        self, document: ContentDocument, file_facts: FileFacts, wrong: Wrong, doubtful: Wrong
    ) -> tuple[Given, bool]:
        """Return the dates that a document gives, and whether all are right; ``wrong`` is called for each wrong one,
        ``doubtful`` for each that clocks show twice or not at all."""
        found: Given = [None] * len(_NAMES)
        good = True
        for at, (name, expression) in enumerate(self.expressions.items()):
            raw = expression.read(document, file_facts)
            if raw is None or is_missing(raw):
                continue
            try:
                raw = _text(raw) if expression.key is not None else _day_of_name(_text(raw))
                found[at] = parse_written_datetime(raw, self._zone)
            except ValueError as error:
                wrong("wrong-value", expression.key, str(error), name)
                good = False
                continue
            doubt = doubtful_time(raw, self._zone)
            if doubt is not None:
                doubtful(DOUBTFUL_TIME, expression.key, doubt, name)
        return found, good


def meta_dates(
    given: Given, source: SourceFile, line: int, item: str, commits: GitRange | None, problems: Problems
) -> tuple[int, int, int, int]:
    """Return createdAt, updatedAt and publishedAt by the defaults of decisions 23 and 41 (UTC milliseconds), and where
    the first two are from, such as ``GIVEN``.

    ``line`` and ``item`` are the version's place in the file.
    """
    created, updated, published, start, _ = given
    dated = GIVEN
    if created is None or updated is None:
        dated = CHANGED_BY_GIT if created is not None else CREATED_BY_GIT
    if commits is None:
        known = [date for date in (created, updated, published) if date is not None]
        commits = (min(known), min(known)) if known else (UNDATED, UNDATED)
        if dated != GIVEN:
            dated = GUESSED if known else NOT_KNOWN
        if not known:
            problems.warning(
                source.path,
                line,
                NO_DATE,
                "no date known: createdAt and updatedAt become 1970-01-01; add createdAt, or commit the file to git",
                item=item,
            )
    if created is None:
        created = commits[0]
    if published is None:
        published = created if start is None else start
    return created, commits[1] if updated is None else updated, published, dated


def _day_of_name(text: str) -> str:
    """Return a day that was put together of parts of a name, where ``2026-3-1`` is as clear as ``2026-03-01``."""
    found = _DAY.fullmatch(text)
    return text if found is None else f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}"


def _text(raw: RawValue) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"expected a date-time such as 2026-11-01T09:00:00+09:00, got {raw!r}")
    return raw
