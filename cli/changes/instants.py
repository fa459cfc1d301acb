"""What goes live and ends by a change, by instant: a launch as one line, and those that slipped from it apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Final

from cli.changes.values import several
from cli.output.passages import Passage, Span, name, passage
from cli.output.wording import plural
from snapshots.shown_times import how_much_later, shown_time
from snapshots.times import parse_datetime

if TYPE_CHECKING:
    from cli.changes.compared import ReviewedFileChanges
    from snapshots.compare.diff import EntryDifference

NAMED: Final = 12
"""Entries that a line names."""
_FEW: Final = 4
"""The entries of a line count as slipped from another that has this many times as many."""


@dataclass(frozen=True, slots=True)
class Event:
    """What entries do at one instant, and where they did it before."""

    at: int
    """UTC milliseconds."""
    live: bool
    """Whether they go live, or end."""
    before: int | None
    """The instant at which they would have done so before; ``None`` where they would not."""


@dataclass(slots=True)
class Doer:
    """An entry that goes live or ends at an instant."""

    title: str
    languages: list[str] = field(default_factory=list)


Events = Mapping[Event, Mapping[tuple[str, str], Doer]]
"""The entries, by endpoint and ID, that do something at an instant."""


def events_of(files: Iterable[ReviewedFileChanges], renamed: set[tuple[str, str]], now: int, most: int) -> Events:
    """Return what will happen after ``now`` (UTC milliseconds) that would not happen, or at another instant, without
    the change. ``renamed`` are endpoints and new IDs of entries that are no news."""
    from snapshots.model import NEVER

    found: dict[Event, dict[tuple[str, str], Doer]] = defaultdict(dict)

    def note(event: Event, file: ReviewedFileChanges, entry: str, title: str) -> None:
        found[event].setdefault((file.api, entry), Doer(title)).languages.append(file.lang)

    for file in files:
        if file.draft:
            continue
        for one in file.came(most):
            if (file.api, one.id) in renamed:
                continue
            if one.live_from > now:
                note(Event(one.live_from, True, None), file, one.id, one.title)
            if now < one.live_until < NEVER:
                note(Event(one.live_until, False, None), file, one.id, one.title)
    return found


def moved_events(change: EntryDifference, now: int) -> Iterator[Event]:
    """Return what a changed version does at another instant than before."""
    from snapshots.compare.diff import LIVE_FROM, LIVE_UNTIL
    from snapshots.model import ALWAYS, NEVER

    for value in change.values:
        if value.field in (LIVE_FROM, LIVE_UNTIL):
            unset = ALWAYS if value.field == LIVE_FROM else NEVER
            before, after = (unset if one is None else parse_datetime(one, UTC) for one in (value.before, value.after))
            if now < after < NEVER:
                yield Event(after, value.field == LIVE_FROM, before if ALWAYS < before < NEVER else None)


def event_passages(events: Events, zone: tzinfo, launches: Mapping[str, int]) -> Iterator[Passage]:
    """Return a line for each instant, earliest first; those with a few entries say how far they are from the most."""
    most = max(events.values(), key=len, default={})
    main = next((event for event, doers in events.items() if doers is most), None)
    for event, doers in sorted(events.items(), key=lambda item: (item[0].at, item[0].live, item[0].before or 0)):
        names = [launch for launch, at in launches.items() if at == event.at and event.live]
        launch = f" (launch {several(names)})" if names else ""
        when = f"{shown_time(event.at, zone)}{launch}: "
        apart = ""
        if event.before is not None:
            later = how_much_later(event.before, event.at, zone)
            apart = f" {later} than before ({shown_time(event.before, zone)})"
        elif main is not None and _slipped(event, main) and len(most) >= _FEW * len(doers):
            later = how_much_later(main.at, event.at, zone)
            apart = f", {later} than the {len(most):,} of {shown_time(main.at, zone)}"
        if len(doers) == 1:
            [doer] = doers.values()
            does = "goes live" if event.live else "ends"
            yield passage(when, name(doer.title), f" ({several(doer.languages)}) {does}{apart}")
        else:
            does = "go live" if event.live else "end"
            yield passage(f"{when}{plural(len(doers), 'entry')} {does}{apart}", *_named(doers))


def _slipped(event: Event, main: Event) -> bool:
    """Return whether an event may be one that was meant to be the main one."""
    return event.live is main.live and event.at != main.at


def _usual(doers: Mapping[tuple[str, str], Doer]) -> tuple[str, ...]:
    """Return the languages that most entries have, of several the most."""
    counts = Counter(tuple(doer.languages) for doer in doers.values())
    return max(counts, key=lambda languages: (counts[languages], len(languages)))


def _named(doers: Mapping[tuple[str, str], Doer]) -> Iterator[str | Span]:
    """Return the languages and the first entries, those in other languages than is usual with theirs."""
    usual = _usual(doers)
    yield f", in {several(usual)}: "
    unusual = sorted(doers.values(), key=lambda doer: tuple(doer.languages) == usual)
    for number, doer in enumerate(unusual[:NAMED]):
        yield ", " if number else ""
        yield name(doer.title)
        if tuple(doer.languages) != usual:
            yield (
                f" (only {several(doer.languages)})"
                if set(doer.languages) < set(usual)
                else f" ({several(doer.languages)})"
            )
    if len(doers) > NAMED:
        yield f" and {len(doers) - NAMED:,} more"
