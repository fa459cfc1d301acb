"""Decide why a request gets an entry or not, from what the store and the files know of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from engine.timeline.states import STATES, State
from engine.visibility import Visibility
from engine.why.facts import Known, Newer, Stored, Written
from snapshots.problems import Problem


class Kind(StrEnum):
    """The reasons, of which the first that holds is told."""

    LIVE = "live"
    NOT_CURRENT = "not_current"
    """Live in a version that was built later, and is not current."""
    ERROR = "error"
    """An error of its own keeps the newest state of the files from being built."""
    NOT_BUILT = "not_built"
    """Live by the files, which are newer than the current version."""
    SCHEDULED = "scheduled"
    ENDED = "ended"
    DRAFT = "draft"
    OTHER_LANGUAGE = "other_language"
    """It is there, but not in the language asked for."""
    UNKNOWN = "unknown"
    """There is no such entry."""
    UNKNOWN_API = "unknown_api"
    """There is no such API, or the key may not read it."""
    NOT_FOR_KEY = "not_for_key"
    """No entry that the key may know of."""


_OF_STATE = {State.SCHEDULED: Kind.SCHEDULED, State.ENDED: Kind.ENDED, State.DRAFT: Kind.DRAFT}


class Reason(msgspec.Struct, frozen=True):
    """Why a request gets an entry or not."""

    kind: Kind
    known: Known | None = None
    """The language version that the reason is about."""
    is_built: bool = True
    """False where ``known`` is what the files say, and the current version does not have it."""
    others: tuple[Known, ...] = ()
    """The best version in each other language, where the asked one is missing."""
    newer: Newer | None = None
    """The version that is not current."""
    errors: tuple[Problem, ...] = ()
    has_changes: bool = False
    """Whether the files say something else of ``known`` by now, which is not built."""


def reason_of(asked: Visibility, stored: Stored | None, written: Written | None) -> Reason:
    """Return the first reason that holds. ``stored`` is ``None`` without a store, ``written`` without files."""
    there = () if stored is None else stored.languages
    mine = () if written is None else written.languages
    live = _live(asked, there)
    if live is not None:
        return Reason(Kind.LIVE, live, has_changes=written is not None and _differs(live, mine, written))
    for newer in () if stored is None else stored.newer:
        known = _live(asked, newer.languages)
        if known is not None:
            return Reason(Kind.NOT_CURRENT, known, is_built=False, newer=newer)
    if written is not None and written.errors:
        return Reason(Kind.ERROR, best(asked, there), errors=written.errors)
    planned = _live(asked, mine)
    if planned is not None and written is not None:
        return Reason(Kind.NOT_BUILT, planned, is_built=False, errors=written.refused)
    known = best(asked, there)
    if known is not None:
        return Reason(_OF_STATE[known.state], known, has_changes=written is not None and _differs(known, mine, written))
    known = best(asked, mine)
    if known is not None and written is not None:
        return Reason(_OF_STATE[known.state], known, is_built=False, errors=written.refused)
    for languages in (there, mine):
        others = _others(languages)
        if others:
            return Reason(Kind.OTHER_LANGUAGE, others=others, is_built=languages is there)
    return Reason(Kind.UNKNOWN)


def best(asked: Visibility, languages: Sequence[Known]) -> Known | None:
    """Return the version that a request would come to get first: by state in the order of ``STATES``, then by the
    request's languages; ``None`` where none is in these."""
    mine = [one for one in languages if one.lang in asked.languages]
    return min(mine, key=lambda one: (STATES.index(one.state), asked.languages.index(one.lang)), default=None)


def _live(asked: Visibility, languages: Iterable[Known]) -> Known | None:
    live = [one for one in languages if one.state is State.LIVE and one.lang in asked.languages]
    return min(live, key=lambda one: asked.languages.index(one.lang), default=None)


def _others(languages: Sequence[Known]) -> tuple[Known, ...]:
    """Return the best version of each language, the live ones first."""
    ranked = sorted(languages, key=lambda one: STATES.index(one.state))
    first: dict[str, Known] = {}
    for one in ranked:
        first.setdefault(one.lang, one)
    return tuple(first.values())


def _differs(known: Known, mine: Sequence[Known], written: Written) -> bool:
    """Return whether the files say something else of a version, or do not have it any more."""
    if written.errors:
        return True
    is_draft = known.state is State.DRAFT
    now = next((one for one in mine if one.lang == known.lang and (one.state is State.DRAFT) == is_draft), None)
    if now is None:
        return True
    windows = (now.live_from, now.live_until) != (known.live_from, known.live_until)
    return not is_draft and (windows or (known.digest is not None and known.digest != now.digest))
