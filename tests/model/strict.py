"""Strict reading the naive way (decision 76): whether a request that is right otherwise has a mistake in it.

Part of the naive evaluator (``model.py``); it shares no code with the product.
"""

from __future__ import annotations

import re
from typing import Any

from tests.model.query import BadRequestError, decoded, filter_conditions, parameters

KNOWN = {"limit", "offset", "orders", "filters", "q", "depth", "fields", "lang", "lang_fallback", "include"}
KNOWN |= {"draftKey", "ids", "days", "since", "client"}
ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def is_mistaken(query: str, api: dict[str, Any] | None, *, many: bool) -> bool:
    """``api`` is ``None`` for requests about no API, ``many`` is true for lists."""
    names = [part.partition("=")[0] for part in query.split("&") if part]
    try:
        names = [decoded(name) for name in names]
    except BadRequestError:
        return True
    if not set(names) <= KNOWN or len(set(names)) < len(names):
        return True
    if api is None:
        return False
    given = parameters(query)
    fields = {field["id"]: field for field in api["fields"]}
    selected = {name.strip() for name in decoded(given.get("fields", "")).split(",")}
    if selected - {"", "id", "createdAt", "updatedAt", "publishedAt", *fields}:
        return True
    return many and any(_impossible(fields, *one) for one in filter_conditions(given.get("filters", ""), api)[1])


def _impossible(fields: dict[str, dict[str, Any]], name: str, _operator: str, value: Any) -> bool:
    """Whether no entry can have the value of a condition."""
    if value is None:
        return False
    field = fields.get(name, {"type": name})
    if field["type"] in ("single_select", "multiple_select"):
        return "options" in field and value not in field["options"]
    return field["type"] in ("id", "reference", "references") and not ID.fullmatch(value)
