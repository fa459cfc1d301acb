"""The changes of an entry's values as passages for editors: words in plain text, times in the workspace's zone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, Final

from cli.output.passages import Ink, Passage, Span, name, passage
from snapshots.shown_times import how_much_later, shown_time
from snapshots.times import parse_datetime

if TYPE_CHECKING:
    from snapshots.compare.diff import EntryDifference, ValueChange
    from snapshots.model import Api, Field

SHORT: Final = 60
"""Characters of a value up to which it is shown whole."""
LONGEST: Final = 240
"""Characters shown of words that came or went."""
NOTHING: Final = "nothing"
UPDATED: Final = "updatedAt"
_DATES: Final = {"createdAt": "Created", UPDATED: "Changed", "publishedAt": "Published"}


def tells_nothing(change: EntryDifference) -> bool:
    """Return whether nothing but the date of the last change differs."""
    return all(value.field == UPDATED for value in change.values)


def changed_values(api: Api | None, change: EntryDifference, zone: tzinfo) -> Iterator[Passage]:
    """Return a passage for each change that a reader or an editor would name."""
    from snapshots.compare.diff import DRAFT_KEY, LIVE_FROM, LIVE_UNTIL

    start = next((value.after for value in change.values if value.field == LIVE_FROM), None)
    for value in change.values:
        if value.field == UPDATED or (value.field == "publishedAt" and start is not None and value.after == start):
            continue
        if value.field == LIVE_FROM:
            yield passage(moved_start(*_instants(value), zone))
        elif value.field == LIVE_UNTIL:
            yield passage(moved_end(*_instants(value), zone))
        elif value.field == DRAFT_KEY:
            yield passage("another draft key")
        elif value.field in _DATES:
            yield _replaced(_DATES[value.field], *(_time(one, zone) for one in (value.before, value.after)))
        else:
            yield _of_field(_field(api, value.field), value, zone)


def moved_start(before: int | None, after: int | None, zone: tzinfo) -> str:
    """Return the words for a publish start (UTC milliseconds, ``None`` for none) that is another one now."""
    if after is None:
        return f"goes live at once instead of {'' if before is None else shown_time(before, zone)}"
    if before is None:
        return f"goes live on {shown_time(after, zone)} instead of at once"
    return f"goes live {_later(before, after, zone)}"


def moved_end(before: int | None, after: int | None, zone: tzinfo) -> str:
    """Return the words for a publish end, as ``moved_start`` does for a start."""
    if after is None:
        return f"does not end on {'' if before is None else shown_time(before, zone)} any more"
    return f"ends on {shown_time(after, zone)}" if before is None else f"ends {_later(before, after, zone)}"


def _later(before: int, after: int, zone: tzinfo) -> str:
    return f"{how_much_later(before, after, zone)}: {shown_time(after, zone)} instead of {shown_time(before, zone)}"


def _instants(value: ValueChange) -> tuple[int | None, int | None]:
    before, after = (None if one is None else parse_datetime(one, UTC) for one in (value.before, value.after))
    return before, after


def _time(value: str | None, zone: tzinfo) -> str:
    return NOTHING if value is None else shown_time(parse_datetime(value, UTC), zone)


def _field(api: Api | None, path: str) -> Field | None:
    return None if api is None else api.field(path)


def _of_field(field: Field | None, value: ValueChange, zone: tzinfo) -> Passage:
    from snapshots.compile.richtext import visible_text
    from snapshots.model import FieldType

    label = value.field if field is None else field.name
    before, after = value.before, value.after
    if field is not None and field.type is FieldType.DATETIME:
        return _replaced(label, _time(before, zone), _time(after, zone))
    texts = [_text(one) for one in (before, after)]
    if (field is not None and field.type is FieldType.RICHTEXT) or (field is None and any(map(_is_html, texts))):
        seen = [visible_text(text) for text in texts]
        if seen[0] == seen[1]:
            return _worded(f"{label}, the same words with other links or formatting", *texts)
        texts = seen
    elif isinstance(before, list) or isinstance(after, list):
        return _listed(label, before or [], after or [])
    if max(map(len, texts)) <= SHORT:
        return _replaced(label, *(text or NOTHING for text in texts))
    return _worded(label, texts[0], texts[1])


def _replaced(label: str, before: str, after: str) -> Passage:
    return passage(f"{label}: ", name(before), " → ", name(after))


def _worded(label: str, before: str, after: str) -> Passage:
    from snapshots.compare.words import Side, word_runs

    inks = {Side.BOTH: Ink.NAME, Side.BEFORE: Ink.GONE, Side.AFTER: Ink.NEW, Side.LEFT_OUT: Ink.NAME}
    parts: list[Span] = []
    for run in word_runs(before, after):
        if run.side is Side.LEFT_OUT and parts:
            parts[-1] = _stripped(parts[-1], str.rstrip)
        if parts and parts[-1].ink is Ink.GONE and run.side is Side.AFTER:
            parts.append(Span(" "))
        parts.append(Span(_cut(run.text), inks[run.side]))
        if len(parts) > 1 and parts[-2].text.endswith("… "):
            parts[-1] = _stripped(parts[-1], str.lstrip)
    if parts:
        parts[0], parts[-1] = _stripped(parts[0], str.lstrip), _stripped(parts[-1], str.rstrip)
    return passage(f"{label}: ", *parts)


def _stripped(span: Span, strip: Callable[[str], str]) -> Span:
    return Span(strip(span.text), span.ink)


def _listed(label: str, before: Any, after: Any) -> Passage:
    old, new = ([_text(one) for one in (side if isinstance(side, list) else [side])] for side in (before, after))
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    parts: list[str | Span] = []
    for words, ink in ((gone, Ink.GONE), (come, Ink.NEW)):
        for one in words:
            parts += [" " if parts else "", Span(_cut(one), ink)]
    return passage(f"{label}: ", *(parts or ["the same in another order: ", name(_cut(", ".join(new)))]))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_html(text: str) -> bool:
    return text.startswith("<") and "</" in text


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half].rstrip()} … {text[-half:].lstrip()}"


def several(words: Sequence[str], last: str = "and") -> str:
    """Return words as people list them: ``en, de and ja``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""
