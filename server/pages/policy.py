"""The content security policy of pages: nothing inline, nothing from elsewhere, and in no frame of anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def content_policy(others: Mapping[str, str]) -> str:
    """Return the header's value, with ``others`` in place of the usual directives of their names."""
    return "; ".join(f"{name} {value}" for name, value in {**POLICY, **others}.items())
