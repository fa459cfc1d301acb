"""The forms of a picture: sizes, formats and qualities, asked for in imgix's words, of which there are few.

w, h       16 to 3840 pixels, rounded up to one of ``SIDES``; never more than the picture has
fit        max, the same as clip: within both sides · crop: both sides filled, the rest cut off
fm         webp, avif, jpg, png
q          rounded up to one of ``QUALITIES``
auto       format: AVIF or WebP where the browser takes it
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from snapshots.pictures.image_size import ImageFacts
from snapshots.pictures.picture_sizes import FORMATS, SIDES, has_sizes, rounded_up

QUALITIES: Final = (50, 75, 90)
QUALITY: Final = 75
LARGEST_AVIF: Final = 2_000_000
"""The pixels up to which ``auto`` chooses AVIF, which takes longest to make."""

_NAMES: Final = frozenset({"w", "h", "fit", "fm", "q", "auto"})
_NUMBER: Final = re.compile(r"0*([1-9][0-9]{0,8})")
_FORMATS: Final = {**{name: name for name in FORMATS}, "jpeg": "jpg"}
_REFUSED: Final = re.compile(r";\s*q=0(?:\.0*)?\s*(?:;|$)")


class Asked(msgspec.Struct, frozen=True):
    """The parameters of a request, rounded; ``None`` for what is not asked."""

    width: int | None = None
    height: int | None = None
    crop: bool = False
    quality: int | None = None
    format: str | None = None
    automatic: bool = False
    """Whether the browser's ``Accept`` decides about the format."""


class Form(msgspec.Struct, frozen=True):
    """One form of a picture."""

    width: int
    height: int
    crop: bool
    format: str
    quality: int
    """0 where the format has none."""

    @property
    def name(self) -> str:
        """The form in the name of a file."""
        return f"{self.width}x{self.height}{'c' if self.crop else ''}-{self.quality}.{self.format}"


def asked_for(query: str) -> Asked | None:
    """Return what the query of an address asks for; ``None`` where that is the picture as it is.

    Other parameters, and values that none of them can have, have no effect; of a parameter that is repeated, the first
    value that it can have counts.
    """
    found: dict[str, int | str | bool] = {}
    for name, value in parse_qsl(query):
        read = _read(name, value) if name in _NAMES else None
        if read is not None:
            found.setdefault(name, read)
    crop = found.pop("fit", "max") == "crop"
    if not found:
        return None
    return msgspec.convert(
        {
            **{"width": found.get("w"), "height": found.get("h"), "crop": crop, "quality": found.get("q")},
            **{"format": found.get("fm"), "automatic": "auto" in found and "fm" not in found},
        },
        Asked,
    )


def _read(name: str, value: str) -> int | str | bool | None:
    """Return the value that counts for a parameter; ``None`` for one that has no effect."""
    match name:
        case "fm":
            return _FORMATS.get(value)
        case "fit":
            return value if value in ("max", "clip", "crop") else None
        case "auto":
            return True if "format" in value.split(",") else None
    number = _NUMBER.fullmatch(value)
    if number is None:
        return None
    return rounded_up(int(number[1]), QUALITIES if name == "q" else SIDES)


def form_of(facts: ImageFacts, asked: Asked, accept: str) -> Form | None:
    """Return the form of a picture that is asked for; ``None`` for a picture that has none and goes out as it is.

    ``accept`` is the header of the request.
    """
    if not has_sizes(facts):
        return None
    width, height, crop = _size(facts.size, asked)
    kind = asked.format or ("png" if facts.format == "gif" else facts.format)
    if asked.automatic:
        if width * height <= LARGEST_AVIF and _is_accepted("image/avif", accept):
            kind = "avif"
        elif _is_accepted("image/webp", accept):
            kind = "webp"
    return Form(width, height, crop, kind, 0 if kind == "png" else asked.quality or QUALITY)


def _size(size: tuple[int, int], asked: Asked) -> tuple[int, int, bool]:
    """Return width and height of the form, and whether something is cut off."""
    width, height = asked.width or SIDES[-1], asked.height or SIDES[-1]
    if asked.crop and asked.width and asked.height:
        cut = min(width, size[0]), min(height, size[1])
        return (*cut, cut[0] * size[1] != cut[1] * size[0])
    scale = min(1.0, width / size[0], height / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale)), False


def _is_accepted(media_type: str, accept: str) -> bool:
    """Return whether a header ``Accept`` names a media type itself: ``*/*`` comes with every request."""
    for one in accept.lower().split(","):
        named, _, parameters = one.partition(";")
        if named.strip() == media_type:
            return _REFUSED.search(f";{parameters}") is None
    return False
