"""The report of a review as sections: what happens when, what is renamed and removed, then entry by entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin

from cli.changes.endings import ended_addresses, ending_passages, references_to
from cli.changes.instants import NAMED, Doer, Events, event_passages, events_of, moved_events
from cli.changes.values import changed_values, several, tells_nothing
from cli.output.passages import Passage, Span, name, passage
from cli.output.wording import plural
from snapshots.shown_times import shown_time

if TYPE_CHECKING:
    from cli.changes.compared import ReviewedChanges, ReviewedFileChanges
    from snapshots.compare.diff import EntryDifference
    from snapshots.compare.endings import EndedReference
    from snapshots.compare.renames import Place, Rename
    from snapshots.compare.versions import Version
    from snapshots.model import Workspace

MOST_ENTRIES: Final = 30
"""Lines listed of each API, and entries of each other section."""
MOST_READ: Final = 1_000
"""Language versions of each API and language that are looked at."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    title: str
    passages: tuple[Passage, ...]
    counts: str = ""
    """The counts of an API, whose entries are folded where that can be."""


@dataclass(frozen=True)
class Report:
    """The report of all changes of a workspace's content."""

    changes: ReviewedChanges
    workspace: Workspace
    """As it is under review."""
    zone: tzinfo
    now: int
    """UTC milliseconds."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """The ``page_url`` of each API whose definition has one, by endpoint."""
    site: str | None = None
    """The base address of a site that shows the content under review."""
    launches: Mapping[str, int] = field(default_factory=dict)
    """The instants of the workspace's launches, UTC milliseconds by name."""

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections that have something to say."""
        return (*self.summary, *self._of_apis())

    @cached_property
    def summary(self) -> tuple[Section, ...]:
        """The sections about entries of all APIs: what goes live and ends when, what is renamed and what is gone."""
        events = (*self._at_once(), *event_passages(self.events, self.zone, self.launches))
        times = (Section("Goes live and ends", events),) if events else ()
        return (*times, *self.endings)

    def _at_once(self) -> Iterator[Passage]:
        """Return a line for each added entry of which some languages are live now, and others go live later."""
        from snapshots.model import NEVER

        entries: dict[tuple[str, str], list[Version]] = defaultdict(list)
        for file in self.changes.files:
            for one in () if file.draft else file.came(MOST_READ):
                entries[file.api, one.id].append(one)
        for versions in entries.values():
            now = [one.lang for one in versions if one.live_from <= self.now < one.live_until]
            later = [one for one in versions if self.now < one.live_from < NEVER]
            if now and later:
                when = shown_time(min(one.live_from for one in later), self.zone)
                others = several([one.lang for one in later])
                yield passage(
                    "At once: ", name(versions[0].title), f" ({several(now)}) goes live, before {others} ({when})"
                )

    @cached_property
    def endings(self) -> tuple[Section, ...]:
        """The sections about entries that are renamed or gone."""
        sections = (Section("Renamed", tuple(self._renamed())), Section("Removed", tuple(self._removed())))
        return tuple(section for section in sections if section.passages)

    def _of_apis(self) -> Iterator[Section]:
        for endpoint, files in groupby(self.changes.files, key=lambda file: file.api):
            section = self._of_api(endpoint, list(files))
            if section.passages:
                yield section

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of language versions that were added, changed, renamed and removed; renamed ones count once."""
        renamed = sum(len(one.places) for one in self.renames)
        changes = self.changes
        return {
            "added": changes.added - renamed,
            "changed": changes.changed,
            "renamed": renamed,
            "removed": changes.removed - renamed,
        }

    @cached_property
    def renames(self) -> list[Rename]:
        """The renamed entries; those that are only nearly the same count as removed and added."""
        return [one for one in self.changes.renames if one.exact]

    @cached_property
    def events(self) -> Events:
        """What will happen that would not happen, or at another instant, without the change."""
        renamed = {(one.api, one.after) for one in self.renames}
        found = {
            event: dict(doers) for event, doers in events_of(self.changes.files, renamed, self.now, MOST_READ).items()
        }
        for file in self.changes.files:
            for change in () if file.draft else islice(file.changes(), MOST_READ):
                for event in moved_events(change, self.now):
                    doers = found.setdefault(event, {})
                    doers.setdefault((file.api, change.id), Doer(change.title)).languages.append(file.lang)
        return found

    @cached_property
    def gone(self) -> dict[tuple[str, str], list[Version]]:
        """The versions that are there no more, by endpoint and ID; drafts that were published are not among them."""
        found: dict[tuple[str, str], list[Version]] = defaultdict(list)
        published = {
            (file.api, one.id, file.lang)
            for file in self.changes.files
            if not file.draft
            for one in file.came(MOST_READ)
        }
        for file in self.changes.files:
            for one in file.went(MOST_READ):
                if not one.draft or (file.api, one.id, one.lang) not in published:
                    found[file.api, one.id].append(one)
        return found

    @cached_property
    def ended(self) -> Mapping[tuple[str, str], Sequence[EndedReference]]:
        """The references to what is published in no language any more, by endpoint and ID."""
        renamed = [(one.api, one.before) for one in self.renames]
        removed = [key for key in self.gone if key not in set(renamed)]
        # Of very many, those that are shown are looked for first.
        shown = [*renamed[:MOST_ENTRIES], *removed[:MOST_ENTRIES]]
        gone: dict[str, list[str]] = defaultdict(list)
        for endpoint, entry in dict.fromkeys([*shown, *renamed, *removed]):
            if all(draft for _, draft in self.still_there.get((endpoint, entry), ())):
                gone[endpoint].append(entry)
        return references_to(self.changes.ended(gone)) if gone else {}

    @cached_property
    def still_there(self) -> Mapping[tuple[str, str], Sequence[Place]]:
        """The languages in which entries that went somewhere are still there, by endpoint and ID."""
        by_api: dict[str, set[str]] = defaultdict(set)
        for file in self.changes.files:
            by_api[file.api] |= {one.id for one in file.went(MOST_READ)}
        return {
            (endpoint, entry): places
            for endpoint, ids in by_api.items()
            for entry, places in self.changes.still_there(endpoint, sorted(ids)).items()
        }

    def _renamed(self) -> Iterator[Passage]:
        for one in islice(self.renames, MOST_ENTRIES):
            inside = [*self._endings(one.api, one.before, [lang for lang, draft in one.places if not draft])]
            if one.left:
                inside.append(passage("the old ID is still there in ", several(one.left)))
            elif inside:
                inside.append(
                    passage(
                        "with ",
                        name(f"aliases: [{one.before}]"),
                        " in ",
                        name(one.after),
                        ", references and links to the old ID lead to the new one",
                    )
                )
            yield passage(
                name(f"{one.api}/{one.before}"),
                " is now ",
                self._link(one.api, one.after, one.places[0][0], f"{one.api}/{one.after}"),
                f", with the same content in {several(_languages(one.places))}",
                inside=inside,
            )
        if len(self.renames) > MOST_ENTRIES:
            yield passage(f"… and {len(self.renames) - MOST_ENTRIES:,} more")

    def _removed(self) -> Iterator[Passage]:
        renamed = {(one.api, one.before) for one in self.renames}
        near = {(one.api, one.before): one for one in self.changes.renames if not one.exact}
        gone = [(key, versions) for key, versions in self.gone.items() if key not in renamed]
        for (endpoint, entry), versions in gone[:MOST_ENTRIES]:
            languages = list(dict.fromkeys(one.lang for one in versions if not one.draft))
            inside = [*self._endings(endpoint, entry, languages)]
            still = self.still_there.get((endpoint, entry), ())
            if still:
                inside.append(passage("it is still there in ", several(_languages(still))))
            likely = near.get((endpoint, entry))
            if likely is not None:
                inside.append(
                    passage(
                        name(likely.after),
                        " has nearly the same words: if that is a new name of it, write ",
                        name(f"aliases: [{entry}]"),
                        " there",
                    )
                )
            places = [(one.lang, one.draft) for one in versions]
            yield passage(
                name(f"{endpoint}/{entry}"), *_titled(entry, versions[0].title), f" ({_places(places)})", inside=inside
            )
        if any(len(file.removed) > MOST_READ for file in self.changes.files):
            yield passage(f"… and more: {plural(self.counts['removed'], 'language version')} in all")
        elif len(gone) > MOST_ENTRIES:
            yield passage(f"… and {len(gone) - MOST_ENTRIES:,} more")

    def _endings(self, endpoint: str, entry: str, languages: Sequence[str]) -> Iterator[Passage]:
        addresses = self.ended_addresses(endpoint, entry, languages)
        yield from ending_passages(addresses, self.ended.get((endpoint, entry), ()))

    def ended_addresses(self, endpoint: str, entry: str, languages: Sequence[str]) -> list[str]:
        """Return the addresses of an entry's pages that end where it is there no more in some languages."""
        still = [lang for lang, draft in self.still_there.get((endpoint, entry), ()) if not draft]
        return ended_addresses(self.pages.get(endpoint), entry, languages, still)

    def _of_api(self, endpoint: str, files: Sequence[ReviewedFileChanges]) -> Section:
        lines = [*self._changed(endpoint, files), *self._added(endpoint, files)]
        moved = (one for one in self.renames if one.api == endpoint)
        renamed = sum(len(one.places) for one in moved)
        counts = {
            "added": sum(len(file.added) for file in files) - renamed,
            "changed": sum(file.changed for file in files),
            "renamed": renamed,
            "removed": sum(len(file.removed) for file in files) - renamed,
        }
        if len(lines) > MOST_ENTRIES:
            is_cut = any(max(len(file.added), file.changed) > MOST_READ for file in files)
            more = "… and more" if is_cut else f"… and {len(lines) - MOST_ENTRIES:,} more"
            lines = [*lines[:MOST_ENTRIES], passage(more)]
        return Section(
            endpoint, tuple(lines), ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        )

    def _changed(self, endpoint: str, files: Sequence[ReviewedFileChanges]) -> Iterator[Passage]:
        api = self.workspace.api(endpoint)
        quiet = timed = unread = 0
        for file in files:
            unread += max(0, file.changed - MOST_READ)
            for change in islice(file.changes(), MOST_READ):
                if tells_nothing(change):
                    quiet += 1
                elif not file.draft and self._only_moves(change):
                    timed += 1
                else:
                    values = list(changed_values(api, change, self.zone))
                    drafts = ", draft" if file.draft else ""
                    entry = self._link(endpoint, change.id, file.lang, change.id, draft=file.draft)
                    start = ("changed ", entry, *_titled(change.id, change.title), f" ({file.lang}{drafts})")
                    if len(values) == 1:
                        yield passage(*start, ": ", *values[0].spans)
                    else:
                        yield passage(*start, inside=values)
        for count, what in (
            (timed, "with another time to go live or end, and no other change"),
            (quiet, "with another date of the last change, and no other change"),
            (unread, "more with changes"),
        ):
            if count:
                yield passage(f"{plural(count, 'language version')} {what}")

    def _only_moves(self, change: EntryDifference) -> bool:
        """Return whether a change is told by the instants alone."""
        from snapshots.compare.diff import LIVE_FROM, LIVE_UNTIL

        told = {LIVE_FROM, LIVE_UNTIL, "updatedAt", "publishedAt"}
        return any(moved_events(change, self.now)) and all(value.field in told for value in change.values)

    def _added(self, endpoint: str, files: Sequence[ReviewedFileChanges]) -> Iterator[Passage]:
        renamed = {one.after for one in self.renames if one.api == endpoint}
        drafts, published = (
            {(one.id, file.lang) for file in files if file.draft is draft for one in file.went(MOST_READ)}
            for draft in (True, False)
        )
        entries: dict[str, list[Version]] = defaultdict(list)
        for file in files:
            for one in file.came(MOST_READ):
                taken_back = one.draft and (one.id, one.lang) in published
                if one.id not in renamed and not taken_back:
                    entries[one.id].append(one)
        alike: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for entry, versions in entries.items():
            alike[tuple((one.lang, one.draft, one.live_from, one.live_until) for one in versions)].append(entry)
        for some in alike.values():
            versions = entries[some[0]]
            places = _places([(one.lang, one.draft) for one in versions])
            when = self._when(versions)
            if len(some) > 3 and when:
                links = [self._link(endpoint, entry, versions[0].lang, entry) for entry in some[:NAMED]]
                more = f" and {len(some) - NAMED:,} more" if len(some) > NAMED else ""
                yield passage(f"added {len(some):,} entries ({places}){when}: ", *_joined(links), more)
                continue
            for entry in some:
                one = entries[entry][0]
                was = ", a draft before" if not one.draft and (entry, one.lang) in drafts else ""
                link = self._link(endpoint, entry, one.lang, entry, draft=one.draft)
                yield passage("added ", link, *_titled(entry, one.title), f" ({places}){when}{was}")

    def _when(self, versions: Sequence[Version]) -> str:
        from snapshots.model import NEVER

        starts = {one.live_from for one in versions if not one.draft}
        start = next(iter(starts)) if len(starts) == 1 else None
        return f", live from {shown_time(start, self.zone)}" if start is not None and self.now < start < NEVER else ""

    def _link(self, endpoint: str, entry: str, lang: str, text: str, *, draft: bool = False) -> Span:
        """Return an entry as a link to its page where there is one to look at; a draft has none of its own."""
        template = self.pages.get(endpoint)
        if self.site is None or template is None or draft:
            return name(text)
        page = template.replace("{id}", quote(entry)).replace("{lang}", quote(lang))
        return name(text, urljoin(self.site, page))


def counted(counts: Mapping[str, int]) -> str:
    """Return counts of language versions as text; no renamed ones are not worth a word."""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what != "renamed")


def _joined(spans: Sequence[Span]) -> Iterator[str | Span]:
    for number, span in enumerate(spans):
        if number:
            yield ", "
        yield span


def _titled(entry: str, title: str) -> tuple[str | Span, ...]:
    return () if title in ("", entry) else (", ", name(title))


def _languages(places: Sequence[tuple[str, bool]]) -> list[str]:
    return list(dict.fromkeys(f"{lang} (draft)" if draft else lang for lang, draft in places))


def _places(places: Sequence[tuple[str, bool]]) -> str:
    return ", ".join(f"{lang} draft" if draft else lang for lang, draft in places)
