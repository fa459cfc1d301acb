"""How much a form may hold."""

from __future__ import annotations

from typing import Final

LARGEST_FORM: Final = 64 * 1024
"""Bytes of a form: one that names a thousand APIs is smaller."""
MOST_FIELDS: Final = 2000
