"""Compile a field's raw value into its typed, JSON and searchable forms, or an error.

The rules are workspace-format ("A language version") and decisions 10, 13, 14, 16, 18, 19, 37 and 38.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import tzinfo
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, TypeAlias

import msgspec

from snapshots.compile.assets import ON_ONE_COMPUTER, MissingAsset, is_local_path
from snapshots.compile.richtext import ALT_IN_FIELDS, DoubtfulImage, ImageDoubt, RichText, TextDoubt, image_doubts
from snapshots.documents.document import Markdown, Plain, RawValue, is_missing, is_null
from snapshots.documents.slips import in_ascii
from snapshots.ids import ID_IN_WORDS, is_plain_name, slug_id, valid_id
from snapshots.local_times import DOUBTFUL_TIME, doubtful_time
from snapshots.model import Field, FieldType, Record, RecordMember, ValueKind
from snapshots.paths import Steps
from snapshots.times import format_datetime, parse_written_datetime

Compiled: TypeAlias = tuple[Any, Any, str | None]
"""(typed, JSON, search) of one value.

``typed`` is the Parquet column's value: str, float, bool, int (UTC milliseconds), a list of str, or an image's dict.
``json`` is a value that ``msgspec.json.encode`` turns into the delivered JSON: numbers are canonical and date-times
formatted. ``search`` is the text for searches, of text, textarea and richtext values only.
"""

Compiler: TypeAlias = Callable[[RawValue], Compiled]

MAX_INTEGER = 2**53
"""Beyond this, doubles no longer tell neighbouring integers apart (decision 15)."""

_NOTHING: Compiled = (None, None, None)
_encode = msgspec.json.Encoder().encode
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_SHOWN = 60


class InvalidValue(ValueError):
    """A value does not fit its field. The message names the expected and the found, not the place."""

    def __init__(self, message: str, steps: Steps = ()) -> None:
        super().__init__(message)
        self.faults: list[tuple[Steps, str]] = [(steps, message)]
        """Every fault of the value: the way to it, and its message."""

    @classmethod
    def of(cls, faults: list[tuple[Steps, str]]) -> InvalidValue:
        """Return the error for several faults, one at least."""
        error = cls(faults[0][1], faults[0][0])
        error.faults = faults
        return error


def normalise_search(text: str) -> str:
    """Return the form in which content and search terms are compared: NFC, then lower-cased (decisions 14, 37)."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).lower()


def value_compiler(field: Field, zone: tzinfo, rich_text: RichText, *, normalise_reference: bool = False) -> Compiler:
    """Return the function that turns a field's raw values into ``Compiled`` ones.

    ``zone`` is where date-times without an offset are, ``rich_text`` compiles rich texts and gathers what is doubtful;
    with ``normalise_reference`` references are turned into IDs by ``slug_id``, as the entries of an API with an ``id``
    template are. The function raises ``InvalidValue``.
    No value is ``(None, None, None)``, or an empty list for the array types (decision 10).
    """
    facts = field.type.facts
    match facts.kind:
        case ValueKind.TEXT:
            return partial(_richtext, rich_text) if field.type is FieldType.RICHTEXT else _text
        case ValueKind.NUMBER:
            return _number
        case ValueKind.INSTANT:
            return partial(_datetime, zone, rich_text)
        case ValueKind.BOOLEAN:
            return _boolean
        case ValueKind.OPTION:
            check = _option_check(field.options)
            if facts.is_array:
                many = partial(_many, check, "a list of options")
                return partial(_free_options, many, rich_text) if field.options is None else partial(_options, many)
            return partial(_one, check, "one option")
        case ValueKind.ENTRY:
            check = slug_id if normalise_reference else _checked_id
            many = partial(_many, check, "a list of entry IDs")
            return many if facts.is_array else partial(_one, check, "one entry ID")
        case ValueKind.RECORD:
            assert facts.record is not None  # the table of types has one for this kind
            one = partial(_record, facts.record, rich_text)
            return partial(each, one, rich_text) if facts.is_array else one
        case ValueKind.JSON:
            return _json
        case ValueKind.GROUP:
            raise ValueError(f"{field.id}: groups are compiled field by field, by field_compiler")


def _text(raw: RawValue) -> Compiled:
    if type(raw) is not str:
        if is_null(raw):
            return _NOTHING
        raw = _as_text(raw, "text")
    if not raw.isascii() or "\0" in raw:
        _check_characters(raw)
        return raw, raw, unicodedata.normalize("NFC", raw).lower()
    return raw, raw, raw.lower()


def _richtext(rich_text: RichText, raw: RawValue) -> Compiled:
    if type(raw) is str:
        text = raw
    elif is_null(raw):
        return _NOTHING
    else:
        text = _as_text(raw, "HTML text")
    if "\0" in text:
        _check_characters(text)
    try:
        html, visible = rich_text.of_markdown(text) if type(raw) is Markdown else rich_text.of_html(text)
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    return html, html, normalise_search(visible)


def _number(raw: RawValue) -> Compiled:
    value: int | float
    if type(raw) is int or type(raw) is float:
        value = raw
    elif type(raw) is Plain:
        if is_null(raw):
            return _NOTHING
        match = _NUMBER.fullmatch(raw)
        if match is None:
            plain = in_ascii(raw)
            wide = plain is not None and _NUMBER.fullmatch(plain) is not None
            hint = f"it has full-width digits: write {plain}" if wide else "write it like 3, -0.5 or 1e3"
            raise InvalidValue(f"expected a number, got {_shown(raw)}; {hint}")
        if len(raw) > 400:
            raise InvalidValue(f"a number of {len(raw)} characters is too long; {_RANGE}")
        value = int(raw) if match.lastindex is None else float(raw)
    elif is_missing(raw):
        return _NOTHING
    else:
        hint = "; remove the quotes" if isinstance(raw, str) and _NUMBER.fullmatch(raw) else "; write it like 3 or 3.5"
        raise InvalidValue(f"expected a number, got {described(raw)}{hint}")
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        shown = _shown(raw) if isinstance(raw, str) else f"the number {_shown_number(value)}"
        raise InvalidValue(f"{shown} cannot be kept exactly: {_RANGE}")
    if type(value) is float and not value.is_integer():
        return value, value, None
    whole = int(value)
    return float(whole), whole, None


_RANGE = f"numbers go from -{MAX_INTEGER} to {MAX_INTEGER}; write a longer one as text"


def _datetime(zone: tzinfo, rich_text: RichText, raw: RawValue) -> Compiled:
    if is_missing(raw):
        return _NOTHING
    if not isinstance(raw, str):
        raise InvalidValue(
            f"expected a date-time, got {described(raw)}; write text like 2026-11-01T09:00:00+09:00 or 2026-11-01"
        )
    instant = _instant if len(raw) <= _USUAL_LENGTH else _instant.__wrapped__
    compiled, doubt = instant(zone, str(raw))
    if doubt is not None:
        rich_text.doubts.append(TextDoubt(0, DOUBTFUL_TIME, doubt, way=rich_text.way))
    return compiled


_USUAL_LENGTH = 40


@lru_cache(4096)
def _instant(zone: tzinfo, text: str) -> tuple[Compiled, str | None]:
    """Return a date-time compiled, and what is doubtful of it."""
    try:
        ms = parse_written_datetime(text, zone)
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    return (ms, format_datetime(ms), None), doubtful_time(text, zone)


def _boolean(raw: RawValue) -> Compiled:
    if raw is True or raw is False:
        return raw, raw, None
    if is_missing(raw):
        return _NOTHING
    if type(raw) is Plain and raw in _BOOLEANS:
        value = _BOOLEANS[raw]
        return value, value, None
    hint = "; write true or false"
    if isinstance(raw, str) and type(raw) is not Plain and raw in _BOOLEANS:
        hint = "; remove the quotes"
    elif isinstance(raw, str) and raw.lower() in {"yes", "on", "y"}:
        hint = "; write true"
    elif isinstance(raw, str) and raw.lower() in {"no", "off", "n"}:
        hint = "; write false"
    raise InvalidValue(f"expected true or false, got {described(raw)}{hint}")


Check: TypeAlias = Callable[[str], str]
"""Turns a text, alone or an item of a list, into the text to store; raises ``InvalidValue``."""


def _one(check: Check, expected: str, raw: RawValue) -> Compiled:
    if type(raw) is str and raw:
        value = check(raw)
        return value, value, None
    if is_missing(raw):
        return _NOTHING
    value = check(_as_text(raw, expected))
    return value, value, None


def _many(check: Check, expected: str, raw: RawValue) -> Compiled:
    """Compile a list, order and repetitions as written, empty items left out; a single text is a list of one."""
    if type(raw) is list:
        items: list[str] = []
        for number, item in enumerate(raw, 1):
            if type(item) is str and item:
                items.append(check(item))
                continue
            if is_missing(item):
                continue
            if not isinstance(item, str):
                raise InvalidValue(f"expected {expected}, got {described(item)} as item {number}")
            items.append(check(str(item)))
        return items, items, None
    if is_missing(raw):
        return [], [], None
    value = [check(_as_text(raw, expected))]
    return value, value, None


def _free_options(many: Compiler, rich_text: RichText, raw: RawValue) -> Compiled:
    """Compile a list of any texts. A single text that looks like several is doubtful."""
    if isinstance(raw, str) and not is_missing(raw) and _SEVERAL.search(raw) is not None:
        message = f'{_shown(raw)} is one value here; {_as_list(raw)}, or ["…"] around it if it is one'
        rich_text.doubts.append(TextDoubt(0, "one-value", message, way=rich_text.way))
    return many(raw)


def _options(many: Compiler, raw: RawValue) -> Compiled:
    """Compile a list of options of which all are known."""
    try:
        return many(raw)
    except InvalidValue as error:
        if isinstance(raw, str) and _SEVERAL.search(raw) is not None:
            raise InvalidValue(f"{error}; {_as_list(raw)}") from None
        raise


_SEVERAL = re.compile("[,;\u3001\uff0c]|^-")


def _as_list(text: str) -> str:
    parts = [part.strip().removeprefix("-").strip() for part in re.split("[,;\u3001\uff0c]| -(?=\\S)", text)]
    return f"to give several, write [{', '.join(part for part in parts if part)}]"


def each(compiler: Compiler, rich_text: RichText, raw: RawValue) -> Compiled:
    """Compile a list of objects, whose rich texts ``rich_text`` compiles; a single one is a list of one.

    Items without a value are left out.
    """
    if type(raw) is not list:
        typed, value, _ = compiler(raw)
        return ([], [], None) if typed is None else ([typed], [value], None)
    columns: list[Any] = []
    values: list[Any] = []
    faults: list[tuple[Steps, str]] = []
    way = rich_text.way
    for at, item in enumerate(raw):
        rich_text.way = (*way, at)
        try:
            typed, value, _ = compiler(item)
        except InvalidValue as error:
            faults += (((at, *steps), message) for steps, message in error.faults)
            continue
        if typed is not None:
            columns.append(typed)
            values.append(value)
    rich_text.way = way
    if faults:
        raise InvalidValue.of(faults)
    return columns, values, None


def _option_check(options: tuple[str, ...] | None) -> Check:
    if options is None:
        return _check_characters
    allowed = frozenset(options)

    def check(text: str) -> str:
        if text not in allowed:
            raise InvalidValue(f"{_shown(text)} is not an option{nearest(text, options)}")
        return text

    return check


def _checked_id(text: str) -> str:
    if valid_id(text):
        return text
    if text.isascii() or not is_plain_name(text):
        raise InvalidValue(f"{_shown(text)} is not an entry ID: {ID_IN_WORDS} are allowed")
    return slug_id(text)  # as a file of this name gives it


def _record(record: Record, rich_text: RichText, raw: RawValue) -> Compiled:
    """Compile a record, written as a mapping or as its address alone; one in which nothing has a value is none."""
    if is_missing(raw):
        return _NOTHING
    address, *others = record.members
    names = [member.name for member in record.members]
    one = f"{record.article} {record.noun}"
    given: dict[str, RawValue] = raw if type(raw) is dict else {address.name: raw}
    for key in given:
        if key not in names:
            raise InvalidValue(f"{one} has no {_shown(str(key))}{nearest(str(key), names)}")
    if all(is_missing(value) for value in given.values()):
        return _NOTHING
    url = given.get(address.name)
    found: dict[str, Any] = {address.name: url}
    for member in others:
        value, name = given.get(member.name), f"the {record.noun}'s {member.name}"
        if member.unit is not None:
            found[member.name] = _amount(name, member, value)
        else:
            found[member.name] = None if is_null(value) else _check_characters(_as_text(value, f"text as {name}"))
    if is_missing(url):
        raise InvalidValue(f"{one} needs a {address.name}")
    if not isinstance(url, str):
        raise InvalidValue(f"expected {one}'s URL or {{{', '.join(names)}}}, got {described(url)}")
    if url != url.strip() or not url.isprintable():
        raise InvalidValue(
            f"{_shown(url)} is not a URL: it must not begin or end with white space, or hold control characters"
        )
    if is_local_path(url):
        raise InvalidValue(f"{_shown(url)} {ON_ONE_COMPUTER}")
    try:
        asset = rich_text.asset(_check_characters(str(url)))
    except MissingAsset as error:
        raise InvalidValue(f"{_shown(url)} {error}") from None
    found[address.name] = str(url) if asset is None else asset.url
    if asset is not None and "width" in names and found["width"] is found["height"] is None:
        if asset.size is not None:
            found["width"], found["height"] = asset.size
        elif asset.lacks_size:
            _doubt(rich_text, ImageDoubt.NO_SIZE, asset.path)
    if "alt" in names and found["alt"] is None:
        _doubt(rich_text, ImageDoubt.NO_ALT, ALT_IN_FIELDS)
    if asset is not None:
        for doubt in image_doubts(asset):
            _doubt(rich_text, doubt, asset.path)
    return found, found, None


def _doubt(rich_text: RichText, doubt: ImageDoubt, what: str) -> None:
    rich_text.images.append(DoubtfulImage(doubt, what, 0, rich_text.way))


def _amount(name: str, member: RecordMember, raw: RawValue) -> int | None:
    if raw is None or (type(raw) is int and member.least <= raw <= MAX_INTEGER):
        return raw
    try:
        value = _number(raw)[1]
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None
    if value is None:
        return None
    if type(value) is not int or value < member.least:
        raise InvalidValue(f"{name}: expected a whole number of {member.unit}, {member.least} or more, got {value}")
    return value


def _json(raw: RawValue) -> Compiled:
    """Compile any JSON. Numbers are canonical, as everywhere; unquoted YAML is null, a boolean, a number or a text."""
    if is_null(raw):
        return _NOTHING
    value = _plain_json(raw, ())
    return _encode(value).decode(), value, None


def _plain_json(raw: RawValue, steps: Steps) -> Any:
    if isinstance(raw, list):
        return [_plain_json(item, (*steps, at)) for at, item in enumerate(raw)]
    if isinstance(raw, dict):
        return {_json_leaf(str(key), steps): _plain_json(item, (*steps, key)) for key, item in raw.items()}
    return _json_leaf(raw, steps)


def _json_leaf(raw: RawValue, steps: Steps) -> Any:
    try:
        if is_null(raw):
            return None
        if type(raw) is Plain and raw in _BOOLEANS:
            return _BOOLEANS[raw]
        if type(raw) in (int, float) or (type(raw) is Plain and _NUMBER.fullmatch(raw)):
            return _number(raw)[1]
        return _check_characters(str(raw)) if isinstance(raw, str) else raw
    except InvalidValue as error:
        raise InvalidValue(str(error), steps) from None


def _as_text(raw: RawValue, expected: str) -> str:
    if isinstance(raw, str):
        return raw if type(raw) is str else str(raw)
    hint = ""
    if type(raw) is list and len(raw) == 1 and isinstance(raw[0], str):
        hint = f"; write {_shown(raw[0])} without the list"
    elif type(raw) is int or type(raw) is float or type(raw) is bool:
        hint = "; put it in quotes"
    raise InvalidValue(f"expected {expected}, got {described(raw)}{hint}")


def _check_characters(text: str) -> str:
    """Return the same text. Raises ``InvalidValue`` for characters that not every JSON or Parquet reader takes."""
    if "\0" in text:
        raise InvalidValue(f"a NUL character at character {text.index(chr(0)) + 1}: remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidValue(
                f"half of a surrogate pair (U+{ord(text[error.start]):04X}) at character {error.start + 1}: "
                "remove it, or write the whole character"
            ) from None
    return text


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f'"{cut}"' if cut.isprintable() else repr(cut)  # escaped, since a terminal may not print it


def described(raw: RawValue) -> str:
    if raw is None or is_null(raw):
        return "nothing"
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, Plain):
        return _shown(raw)
    if isinstance(raw, str):
        return f"the text {_shown(raw)}"
    if isinstance(raw, list):
        return "an empty list" if not raw else f"a list of {len(raw)}"
    if isinstance(raw, dict):
        return f"a mapping ({_shown(', '.join(map(str, list(raw)[:5])))[1:-1]})" if raw else "an empty mapping"
    return f"the number {_shown_number(raw)}"


def _shown_number(number: int | float) -> str:
    if isinstance(number, int) and number.bit_length() > 150:  # too long to read, or even to be printed by Python
        return f"of some {number.bit_length() * 3 // 10} digits"
    return repr(number)


def nearest(text: str, names: Iterable[str]) -> str:
    """Return "; did you mean …?" or the allowed names, for the end of a message."""
    known = list(names)
    close = get_close_matches(text[:100], known, 1)
    if close:
        return f"; did you mean {_shown(close[0])}?"
    return f"; allowed are {listed(map(_shown, known))}"


def listed(names: Iterable[str]) -> str:
    """Return names for a message, of many the first."""
    known = list(names)
    return ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
