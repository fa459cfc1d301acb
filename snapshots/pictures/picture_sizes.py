"""The sizes in which servers answer with a picture, and those that a picture has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from snapshots.pictures.image_size import ImageFacts

SIDES: Final = (16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840)
"""Widths and heights in pixels, to which others are rounded up; more is the last."""
FORMATS: Final = ("jpg", "png", "webp", "avif")
SOURCES: Final = (*FORMATS, "gif")
"""The formats of pictures that have other sizes."""
MOST_PIXELS: Final = 50_000_000
MOST_BYTES: Final = 64 << 20
"""The pixels and bytes up to which a picture has other sizes."""


def rounded_up(value: int, steps: Sequence[int] = SIDES) -> int:
    """Return the first of the steps that is no less, or the last."""
    return steps[min(bisect_left(steps, value), len(steps) - 1)]


def has_sizes(facts: ImageFacts) -> bool:
    """Return whether a picture has other sizes: a drawing, an animation and a huge picture go out as they are."""
    return facts.format in SOURCES and not facts.moves and facts.size[0] * facts.size[1] <= MOST_PIXELS


def srcset(url: str, width: int, widths: Sequence[int]) -> str:
    """Return the value of ``srcset`` for a picture as wide as ``width``: some widths of it, none larger than it is.

    It is empty where there would be one choice only.
    """
    offered = {min(side, width): side for side in sorted(map(rounded_up, widths), reverse=True)}
    if len(offered) < 2:
        return ""
    return ", ".join(f"{url}?w={side} {shown}w" for shown, side in sorted(offered.items()))
