"""Preferences of clients (RFC 7240): whether ``Prefer`` asks for strict reading."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

APPLIED: Final = (b"preference-applied", b"handling=strict")
"""The header of an answer to a request that was read strictly."""

_LONGEST: Final = 2048
"""Bytes from which on ``Prefer`` is ignored: parsed headers are remembered, so they must not be large."""
# A quoted text may hold what parts others; one without an end goes to the end of the header.
_QUOTED: Final = r'"(?>[^"\\]|\\.?)*+(?:"|$)'
_PREFERENCE: Final = re.compile(rf'(?:{_QUOTED}|[^",])++')
_PART: Final = re.compile(rf'(?:{_QUOTED}|[^";])++')
_ESCAPED: Final = re.compile(r"\\(.)")


def is_strict(prefer: bytes | None) -> bool:
    """Return whether the first ``handling`` of a header is ``strict``; lines of the header are joined with commas."""
    return prefer is not None and len(prefer) <= _LONGEST and _is_strict(prefer)


@lru_cache(maxsize=256)
def _is_strict(prefer: bytes) -> bool:
    for preference in _PREFERENCE.findall(prefer.decode("latin-1")):
        # What follows a semicolon is about the preference, and no other one.
        said = _PART.match(preference)
        name, _, value = (said[0] if said else "").partition("=")
        if name.strip(" \t").lower() == "handling":
            return _unquoted(value.strip(" \t")).lower() == "strict"
    return False


def _unquoted(value: str) -> str:
    if len(value) < 2 or not value.startswith('"') or not value.endswith('"'):
        return value
    return _ESCAPED.sub(r"\1", value[1:-1])
