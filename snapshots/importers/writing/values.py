"""Turn the values of an imported version into values that fit the fields of its API, and tell what that loses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from snapshots.compile.assets import is_relative_asset
from snapshots.compile.values import MAX_INTEGER
from snapshots.importers.losses import Losses
from snapshots.importers.model import ASSET_BASE, FieldPlan, GroupPlan
from snapshots.importers.names import characters, entry_id
from snapshots.importers.writing.rich_text import RichTexts, with_relative_assets
from snapshots.model import GROUP_KIND, FieldType, ValueKind
from snapshots.times import format_datetime, parse_written_datetime

MAX_OPTIONS = 1_000
"""Options of a field; where the content has more, there are none."""
MAX_JSON_DEPTH = 40
"""Objects and arrays that may stand in each other in a JSON value."""

_NUMBER = re.compile(r"\s*-?[0-9]{1,15}(?:\.[0-9]{1,15})?\s*")


class _Wrong(ValueError):
    """A value does not fit its field; the message says why."""


class Values:
    """Makes values fit: ``made`` returns what is written for a field, ``None`` for nothing."""

    def __init__(self, texts: RichTexts, losses: Losses, *, has_empty_texts: bool = False) -> None:
        self._texts, self._losses = texts, losses
        self._has_empty_texts = has_empty_texts

    def made(
        self, fields: list[FieldPlan], values: Mapping[str, Any], where: str, scope: str, up: str
    ) -> dict[str, Any]:
        """Return the values of a version or a group, by field ID; those without a value are left out.

        ``up`` leads from the content file to the workspace.
        """
        made = {}
        known = set()
        for field in fields:
            known.add(field.id)
            value = self._value(field, values.get(field.id), f"{where}: {field.id}", f"{scope}.{field.id}", up)
            if value is not None:
                made[field.id] = value
        for name in values:
            if name not in known and values[name] not in (None, "", [], {}) and name != GROUP_KIND:
                self._losses.add(where, f"the value {name!r}", "its content type has no such field", scope=scope)
        return made

    def _value(self, field: FieldPlan, raw: Any, where: str, scope: str, up: str) -> Any:
        if raw is None:
            return None

        def one(value: Any) -> Any:
            try:
                return self._one(field, value, where, scope, up)
            except _Wrong as error:
                self._losses.add(where, f"a value of {scope}", str(error), scope=scope)
                return None

        if not field.type.facts.is_array:
            if isinstance(raw, list) and field.type is not FieldType.JSON:
                if len(raw) > 1:
                    why = f"the field takes one value: {len(raw) - 1} more left out"
                    self._losses.add(where, f"values of {scope}", why, scope=scope)
                raw = raw[0] if raw else None
            return one(raw)
        made = [one(item) for item in (raw if isinstance(raw, list) else [raw])]
        return [item for item in made if item is not None] or None

    def _one(self, field: FieldPlan, raw: Any, where: str, scope: str, up: str) -> Any:
        if raw == "" and self._has_empty_texts and field.type.facts.kind is ValueKind.TEXT:
            return ""
        if raw is None or raw == "":
            return None
        match field.type.facts.kind:
            case ValueKind.GROUP:
                return self._group(field, raw, where, scope, up)
            case ValueKind.RECORD:
                return self._record(field, raw, where, scope, up)
            case ValueKind.TEXT if field.type is FieldType.RICHTEXT:
                clean = self._texts.of_markdown if field.markdown else self._texts.of_html
                return with_relative_assets(clean(_text(raw), where, scope), up) or None
            case ValueKind.TEXT:
                return self._characters(_text(raw), where, scope)
            case ValueKind.OPTION:
                return self._option(field, self._characters(_text(raw), where, scope), where, scope)
            case ValueKind.ENTRY:
                return _reference(field, raw)
            case ValueKind.JSON:
                return self._json(raw, where, scope)
            case kind:
                return _PLAIN[kind](raw)

    def _characters(self, text: str, where: str, scope: str) -> str:
        made = characters(text)
        if made != text:
            self._losses.add(
                where, "characters that text cannot contain", "they are NUL or half of a surrogate pair", scope=scope
            )
        return made

    def _option(self, field: FieldPlan, text: str, where: str, scope: str) -> str | None:
        if field.options is not None and text and text not in field.options:
            if len(field.options) >= MAX_OPTIONS:
                why = f"the content has more than {MAX_OPTIONS:,}: any text is allowed"
                self._losses.add(where, f"the options of {scope}", why, scope=scope)
                field.options = None
                return text
            field.options.append(text)
            what = f"the option {text[:60]!r}"
            self._losses.add(where, what, "the content type does not list it: it was added to the options", scope=scope)
        return text or None

    def _record(self, field: FieldPlan, raw: Any, where: str, scope: str, up: str) -> dict[str, Any]:
        facts = field.type.facts.record
        assert facts is not None  # the table of types has one for this kind
        given = raw if isinstance(raw, Mapping) else {"url": raw}
        url = characters(_text(given.get("url") or "")).strip()
        if url.startswith("//"):
            url = f"https:{url}"
        if not url or not url.isprintable():
            raise _Wrong(f"it has no usable address, and {facts.article} {facts.noun} needs one")
        if url.startswith(ASSET_BASE):
            url = up + url.removeprefix(ASSET_BASE)
        elif is_relative_asset(url):
            why = "its address is relative, and the export does not say to what: it now begins with /"
            self._losses.add(where, f"the address {url[:100]}", why, scope=scope)
            url = f"/{url.removeprefix('./')}"
        made: dict[str, Any] = {"url": url}
        if given.get("alt") and all(member.name != "alt" for member in facts.members):
            why = f"{facts.article} {facts.noun} has none here: add a field"
            self._losses.add(where, "an alternative text or a title", why, scope=scope)
        for member in facts.members[1:]:
            value = given.get(member.name)
            if member.unit is None:
                text = self._characters(_text(value), where, scope) if value not in (None, "") else None
                made |= {member.name: text} if text else {}
            elif isinstance(value, (int, float, str)):
                number = _whole(value)
                made |= {member.name: number} if number is not None and number >= member.least else {}
        return made

    def _group(self, field: FieldPlan, raw: Any, where: str, scope: str, up: str) -> dict[str, Any] | None:
        if not isinstance(raw, Mapping):
            raise _Wrong(f"a group is expected, and it is {_described(raw)}")
        kind: GroupPlan | None = field.groups[0]
        if field.groups[0].id:
            kind = next((one for one in field.groups if one.id == raw.get(GROUP_KIND)), None)
        if kind is None:
            raise _Wrong(f"its kind {str(raw.get(GROUP_KIND))[:60]!r} is none of those that the content type has")
        made = self.made(kind.fields, raw, where, f"{scope}.{kind.id}" if kind.id else scope, up)
        return {GROUP_KIND: kind.id, **made} if kind.id else made

    def _json(self, raw: Any, where: str, scope: str, depth: int = 0) -> Any:
        if depth > MAX_JSON_DEPTH:
            raise _Wrong(f"it is nested more than {MAX_JSON_DEPTH} deep")
        if isinstance(raw, Mapping):
            return {characters(str(key)): self._json(item, where, scope, depth + 1) for key, item in raw.items()}
        if isinstance(raw, list):
            return [self._json(item, where, scope, depth + 1) for item in raw]
        if isinstance(raw, str):
            return self._characters(raw, where, scope)
        if isinstance(raw, (int, float)) and not isinstance(raw, bool) and not abs(raw) <= MAX_INTEGER:
            self._losses.add(where, "a number", "it cannot be kept exactly: it is now a text", scope=scope)
            return str(raw)
        return raw


def _text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, (int, float)):
        return repr(raw)
    raise _Wrong(f"a text is expected, and it is {_described(raw)}")


def _number(raw: Any) -> int | float:
    value = raw
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        value = float(raw) if "." in raw else int(raw)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Wrong(f"a number is expected, and it is {_described(raw)}")
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise _Wrong("the number cannot be kept exactly")
    return value


def _whole(raw: Any) -> int | None:
    try:
        value = _number(raw)
    except _Wrong:
        return None
    return round(value) if math.isfinite(value) else None


def instant(raw: Any) -> int | None:
    """Return a date-time of an export, text or UTC milliseconds, as UTC milliseconds; ``None`` for any other value."""
    if isinstance(raw, str):
        try:
            return parse_written_datetime(raw.strip(), UTC)
        except ValueError:
            return None
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not math.isfinite(raw):
        return None
    try:
        return parse_written_datetime(format_datetime(int(raw)), UTC)
    except (OverflowError, ValueError):
        return None


def _instant(raw: Any) -> str:
    ms = instant(raw)
    if ms is None:
        raise _Wrong(f"a date-time is expected, and it is {_described(raw)}")
    return format_datetime(ms)


def _boolean(raw: Any) -> bool:
    value = {"true": True, "false": False, "1": True, "0": False}.get(str(raw).strip().lower())
    if value is None:
        raise _Wrong(f"true or false is expected, and it is {_described(raw)}")
    return value


_PLAIN: dict[ValueKind, Callable[[Any], Any]] = {
    ValueKind.NUMBER: _number,
    ValueKind.INSTANT: _instant,
    ValueKind.BOOLEAN: _boolean,
}


def _reference(field: FieldPlan, raw: Any) -> Any:
    api = raw.get("api") if isinstance(raw, Mapping) else None
    given = raw.get("id") if isinstance(raw, Mapping) else raw
    if isinstance(given, bool) or not isinstance(given, (str, int)) or given == "":
        raise _Wrong(f"an entry is expected, and it is {_described(raw)}")
    made = entry_id(str(given))
    if len(field.apis) < 2:
        return made
    if api is not None and api not in field.apis:
        raise _Wrong(f"it leads to {api}, which the field does not allow")
    return made if api is None else {"api": api, "id": made}


def _described(raw: Any) -> str:
    if isinstance(raw, Mapping):
        return "an object"
    if isinstance(raw, list):
        return f"a list of {len(raw)}"
    return repr(raw if not isinstance(raw, str) else raw[:60])
