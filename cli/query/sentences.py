"""The sentences that say why a request gets an entry or not, with times in the workspace's zone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from snapshots.shown_times import shown_time

if TYPE_CHECKING:
    from engine.visibility import Visibility
    from engine.why.facts import Known, Stored, Written
    from engine.why.reason import Reason
    from snapshots.model import Workspace
    from snapshots.problems import Problem

_MANY: Final = 20_000
"""With more IDs than this, only those that begin alike are compared: comparing all would take seconds."""


@dataclass(frozen=True, slots=True)
class AskedEntry:
    """An entry as a request asks for it."""

    endpoint: str
    entry: str | None
    """``None`` for the item of an object API."""
    visibility: Visibility
    workspace: Workspace

    @property
    def name(self) -> str:
        """The words for the entry: ``posts/launch``."""
        return self.endpoint if self.entry is None else f"{self.endpoint}/{self.entry}"

    def time(self, ms: int) -> str:
        """Return UTC milliseconds in the workspace's zone: ``10 Jan 2027, 09:00 (Europe/Berlin)``."""
        zone = self.workspace.timezone
        return f"{shown_time(ms, ZoneInfo(zone))} ({zone})"


def sentences(asked: AskedEntry, reason: Reason, stored: Stored | None, written: Written | None) -> Iterator[str]:
    """Return the sentences for a reason, the answer first."""
    from engine.why.reason import Kind

    known = reason.known
    match reason.kind:
        case Kind.LIVE if known is not None:
            yield _live(asked, known)
            if stored is not None and any(one.lang == known.lang and one.state == "draft" for one in stored.languages):
                yield "It has unpublished changes too, as a draft, which only its preview shows."
            if reason.has_changes:
                yield from _changed(asked, written)
        case Kind.NOT_CURRENT if reason.newer is not None:
            version, held = reason.newer.version, reason.newer.held
            yield (
                f"{asked.name} is live in snapshot version {version}, which was built later and is not current: "
                f"`cms snapshot activate {version}` publishes it."
            )
            if held is not None:
                yield f"It is held: {held.by} went back from it on {asked.time(held.at)}."
        case Kind.ERROR:
            yield from _broken(asked, reason)
        case Kind.NOT_BUILT if known is not None:
            yield f"{asked.name} is in the files, at {_place(known)}, {_newer(asked, stored)}.{_build(reason)}"
            yield from _errors(reason.errors)
            yield from _uncommitted(known, written)
        case Kind.OTHER_LANGUAGE:
            yield from _elsewhere(asked, reason)
        case Kind.UNKNOWN:
            yield _unknown(asked, stored, written)
            yield from _files(asked, written)
        case _ if known is not None:
            yield f"{asked.name} {_state(asked, known)}."
            if not reason.is_built:
                yield f"So says {_place(known)}, {_newer(asked, stored)}.{_build(reason)}"
                yield from _errors(reason.errors)
            elif reason.has_changes:
                yield from _changed(asked, written)


def for_key(asked: AskedEntry, live: Collection[str], ids: Collection[str]) -> Iterator[str]:
    """Return the sentences for an entry that a key does not get: the same for all that is not published.

    ``live`` are the languages in which it is live, ``ids`` the entries that are live in those of the request.
    """
    others = [lang for lang in live if lang not in asked.visibility.languages]
    if others:
        yield _only_in(asked, others)
        return
    near = "" if asked.entry is None else _near(asked.entry, ids)
    yield f"This key gets no {asked.name}: there is none, or it is not live now.{near}"
    yield "Leave out --key to be told which."


def _live(asked: AskedEntry, known: Known) -> str:
    until = "" if known.live_until is None else f", until {asked.time(known.live_until)}"
    if known.lang == asked.visibility.lang:
        return f"{asked.name} is live in {known.lang}{until}."
    lang = asked.visibility.lang
    return f"{asked.name} is live in {known.lang}{until}: lang_fallback=true gives it to requests for {lang}."


def _state(asked: AskedEntry, known: Known) -> str:
    from engine.timeline.states import State

    usual = known.lang == asked.visibility.lang == asked.workspace.main_language
    lang = "" if usual else f" in {known.lang}"
    if known.state is State.SCHEDULED and known.live_from is not None:
        return f"is scheduled{lang}: live from {asked.time(known.live_from)}"
    if known.state is State.ENDED and known.live_until is not None:
        return f"ended{lang} on {asked.time(known.live_until)}"
    return f"is a draft{lang}" if known.state is State.DRAFT else f"is live{lang}"


def _place(known: Known) -> str:
    return f"{known.file}:{known.line}"


def _newer(asked: AskedEntry, stored: Stored | None) -> str:
    if stored is None or stored.version is None:
        return "but nothing is published yet"
    return f"but newer than the current snapshot version {stored.version}, built {asked.time(stored.built_at)}"


def _build(reason: Reason) -> str:
    return "" if reason.errors else " `cms snapshot build` publishes it."


def _errors(errors: Collection[Problem]) -> Iterator[str]:
    if errors:
        yield f"Nothing is built while there {'is this error' if len(errors) == 1 else 'are errors, first of all'}:"
        yield from map(str, errors)


def _broken(asked: AskedEntry, reason: Reason) -> Iterator[str]:
    what = "this error" if len(reason.errors) == 1 else "these errors"
    if reason.known is None:
        yield f"{asked.name} was never built, because of {what}:"
    else:
        yield f"{asked.name} {_state(asked, reason.known)}. What the files say now is not built, because of {what}:"
    yield from map(str, reason.errors)


def _changed(asked: AskedEntry, written: Written | None) -> Iterator[str]:
    if written is None:
        return
    if not written.languages and not written.errors:
        yield "The files do not have it any more: the next build takes it offline."
    elif written.errors:
        yield "The files have changes of it that are not built, because of an error:"
        yield from map(str, written.errors)
    else:
        publishes = "." if written.refused else ": `cms snapshot build` publishes them."
        yield f"The files have changes of {asked.name} that are not built{publishes}"
        yield from _errors(written.refused)


def _uncommitted(known: Known, written: Written | None) -> Iterator[str]:
    if written is not None and known.file in written.uncommitted:
        yield f"{known.file} is not committed, so builds from other checkouts, such as those of CI, do not have it."


def _elsewhere(asked: AskedEntry, reason: Reason) -> Iterator[str]:
    from engine.timeline.states import State

    live = [one.lang for one in reason.others if one.state is State.LIVE]
    if live and reason.is_built:
        yield _only_in(asked, live)
        return
    yield f"{asked.name} is not there in {asked.visibility.lang}."
    for one in reason.others:
        built = "" if reason.is_built else f", by {_place(one)}, which is not built"
        yield f"It {_state(asked, one)}{built}."


def _only_in(asked: AskedEntry, live: Collection[str]) -> str:
    lang, main = asked.visibility.lang, asked.workspace.main_language
    there = f"{asked.name} is live only in {', '.join(live)}, not in {lang}"
    if main in live:
        return f"{there}: requests for {lang} get it in {main} with lang_fallback=true."
    return f"{there}: ask for it with {' or '.join(f'lang={one}' for one in live)}."


def _unknown(asked: AskedEntry, stored: Stored | None, written: Written | None) -> str:
    where = "in the files or in" if written is not None and stored is not None else "in"
    store = "the files" if stored is None else "the current snapshot version"
    if asked.entry is None:
        return f"{asked.name} has no item {where} {store}."
    known = [one for one in (stored, written) if one is not None]
    renamed = () if written is None else written.renamed
    near = "".join(f' It is an old ID of "{one}": requests need the present one.' for one in renamed)
    near = near or _near(asked.entry, {entry for one in known for entry in one.ids})
    others = sorted({endpoint for one in known for endpoint in one.elsewhere})
    also = f" There is {' and '.join(f'{one}/{asked.entry}' for one in others)}." if others else ""
    gone = "" if written is None else "".join(_gone(asked, *one) for one in written.deleted)
    return f'There is no entry "{asked.entry}" of {asked.endpoint} {where} {store}.{gone}{near}{also}'


def _files(asked: AskedEntry, written: Written | None) -> Iterator[str]:
    """Return what is said of files that look like the entry's."""
    for file in () if written is None else written.silent:
        yield f"{file} gives no entry: either it is empty, or the definition of {asked.endpoint} leaves it out."
    for file in () if written is None else written.unread:
        yield f"{file} is not read: its name has no ending of content, or no API's `source` has it."


def _gone(asked: AskedEntry, file: str, at: int | None) -> str:
    return f" {file} was deleted{'' if at is None else f' on {asked.time(at)}'}."


def _near(entry: str, ids: Collection[str]) -> str:
    if len(ids) > _MANY:
        ids = [one for one in ids if one[:2].casefold() == entry[:2].casefold()]
    by_folded = {one.casefold(): one for one in sorted(ids) if one != entry}
    close = get_close_matches(entry[:100].casefold(), by_folded, 1)
    return f' Did you mean "{by_folded[close[0]]}"?' if close else ""
