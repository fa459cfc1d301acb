"""Read parts of JSON that may have any form in the form that is expected; another form reads as empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of an array; none of anything else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def listed(value: Any) -> list[Any]:
    """Return an array, or a list of the one value; an empty list for null."""
    return value if isinstance(value, list) else [] if value is None else [value]


def at(value: Any, *keys: str) -> Any:
    """Return the value that keys lead to, one object inside the other; ``None`` where they lead nowhere."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def text(value: Any) -> str:
    """Return a text or a number as text; an empty one for anything else."""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
