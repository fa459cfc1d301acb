"""Request parameters the naive way: a raw query string → what it asks, or ``BadRequestError``.

Part of the naive evaluator (``model.py``). Written from contract 4.3-4.11 and decisions 4-17, 35 and 36; it
shares no code with the product.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.model import values

META_DATES = ("createdAt", "updatedAt", "publishedAt")
OPERATORS = {
    "equals": ("text", "textarea", "single_select", "boolean", "number", "reference", "meta id"),
    "not_equals": ("text", "textarea", "single_select", "boolean", "number", "reference", "meta id"),
    "contains": ("text", "textarea", "richtext", "multiple_select", "references"),
    "not_contains": ("text", "textarea", "richtext", "multiple_select", "references"),
    "greater_than": ("number", "datetime", "meta date"),
    "less_than": ("number", "datetime", "meta date"),
    "exists": None,
    "not_exists": None,
}
SORTED_TYPES = ("number", "datetime", "text", "boolean")
DRAFT_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
INTEGER = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
"""No integer that is allowed anywhere has more than sixteen digits."""

_JOINER = re.compile(r"\[(and|or)\]")
_OPERATOR = re.compile(r"\[(" + "|".join(OPERATORS) + r")\]")


class BadRequestError(Exception):
    """400."""


@dataclass
class Asked:
    """A request's parameters, each at its default unless given."""

    limit: int = 10
    offset: int = 0
    orders: list[tuple[str, bool]] = field(default_factory=list)
    """(key, descending)."""
    joiner: str = "and"
    conditions: list[tuple[str, str, Any]] = field(default_factory=list)
    """(field, operator, value)."""
    q: str | None = None
    depth: int = 1
    fields: set[str] | None = None
    lang: str = ""
    fallback: bool = False
    langs: bool = False
    draft_key: str | None = None


def decoded(text: str) -> str:
    """Form decoding: ``+`` is a space, percent escapes are UTF-8."""
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise BadRequestError(text) from None


def parameters(query: str) -> dict[str, str]:
    """The last raw value of each name."""
    result = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        try:
            result[decoded(name)] = value
        except BadRequestError:
            continue
    return result


def integer(text: str, least: int, most: int) -> int:
    if not INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise BadRequestError(text)
    return int(text)


def kind_of(name: str, api: dict[str, Any]) -> str | None:
    """A field's type, or which meta field it is, or ``None`` when the API has no such field."""
    if name == "id":
        return "meta id"
    if name in META_DATES:
        return "meta date"
    return next((f["type"] for f in api["fields"] if f["id"] == name), None)


def order_keys(text: str, api: dict[str, Any]) -> list[tuple[str, bool]]:
    if text == "":
        return []
    keys = []
    for key in text.split(","):
        name = key.removeprefix("-")
        if name != "views" and kind_of(name, api) not in ("meta date", *SORTED_TYPES):
            raise BadRequestError(key)
        keys.append((name, key.startswith("-")))
    if len(keys) > 3:
        raise BadRequestError(text)
    return keys


def condition(piece: str, raw: bool, api: dict[str, Any]) -> tuple[str, str, Any]:
    found = _OPERATOR.search(piece)
    if found is None:
        raise BadRequestError(piece)
    operator = found[1]
    name, text = piece[: found.start()], piece[found.end() :]
    if raw:
        name, text = decoded(name), decoded(text)
    kind = kind_of(name, api)
    allowed = OPERATORS[operator]
    if kind is None or (allowed is not None and kind not in allowed):
        raise BadRequestError(piece)
    return name, operator, operand(operator, kind, text)


def operand(operator: str, kind: str, text: str) -> Any:
    """A condition's value in the type it is compared in."""
    if operator in ("exists", "not_exists"):
        if text:
            raise BadRequestError(text)
        return None
    try:
        if kind == "boolean":
            return {"true": True, "false": False}[text]
        if kind == "number":
            return values.number(text)
        if kind in ("datetime", "meta date"):
            return values.moment(text)
    except (ValueError, KeyError, OverflowError):
        raise BadRequestError(text) from None
    if operator in ("contains", "not_contains") and text == "":
        raise BadRequestError(text)
    return text


def filter_conditions(raw: str, api: dict[str, Any]) -> tuple[str, list[tuple[str, str, Any]]]:
    """Decision 11: literal brackets are the only tokens where there are any; else decode first."""
    text = decoded(raw)
    if text == "":
        return "and", []
    if len(text) > 1000:
        raise BadRequestError(raw)
    literal = "[" in raw or "]" in raw
    pieces = _JOINER.split(raw if literal else text)
    joiners = set(pieces[1::2])
    if len(joiners) > 1 or len(pieces[0::2]) > 10:
        raise BadRequestError(raw)
    return (joiners or {"and"}).pop(), [condition(piece, literal, api) for piece in pieces[0::2]]


def asked(query: str, api: dict[str, Any], languages: list[str], *, many: bool) -> Asked:
    """What a query string asks of a list (``many``) or of one item. Raises ``BadRequestError``."""
    given = parameters(query)
    result = Asked(lang=languages[0])
    if many:
        if "limit" in given:
            result.limit = integer(decoded(given["limit"]), 1, 100)
        if "offset" in given:
            result.offset = integer(decoded(given["offset"]), 0, 2**53 - 1)
        result.orders = order_keys(decoded(given.get("orders", "")), api)
        result.joiner, result.conditions = filter_conditions(given.get("filters", ""), api)
        phrase = decoded(given.get("q", ""))
        if len(phrase) > 100:
            raise BadRequestError(phrase)
        result.q = phrase.strip() or None
    if "depth" in given:
        result.depth = integer(decoded(given["depth"]), 0, 2)
    names = decoded(given.get("fields", ""))
    if names:
        if names.count(",") >= 50:
            raise BadRequestError(names)
        result.fields = {name.strip() for name in names.split(",")}
    if "lang" in given:
        result.lang = decoded(given["lang"])
        if result.lang not in languages or (result.lang != languages[0] and not api["multilingual"]):
            raise BadRequestError(result.lang)
    if "lang_fallback" in given:
        if decoded(given["lang_fallback"]) not in ("true", "false"):
            raise BadRequestError(given["lang_fallback"])
        result.fallback = given["lang_fallback"] == "true"
    if "include" in given:
        if set(decoded(given["include"]).split(",")) != {"_langs"}:
            raise BadRequestError(given["include"])
        result.langs = True
    if not many and "draftKey" in given:
        result.draft_key = decoded(given["draftKey"])
    return result
