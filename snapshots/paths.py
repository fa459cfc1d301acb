"""The way into a value, as people write it: ``authors[2].name``."""

from __future__ import annotations

from typing import TypeAlias

Steps: TypeAlias = tuple[str | int, ...]
"""The way into a value: keys, and positions in lists from 0."""


def written_path(name: str, steps: Steps) -> str:
    """Return the way from a field into its value as text."""
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
