"""Read the format and size of an image from its first bytes: PNG, GIF, JPEG, WebP, AVIF, ICO and SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

Size = tuple[int, int]
"""Width and height in pixels."""

HEADER_BYTES = 1 << 20
"""The number of bytes at the beginning of a file in which the size is looked for."""

_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+<svg\b([^>]*)>",
    re.IGNORECASE | re.DOTALL,
)
"""The root element: pages and texts may hold an SVG too."""
_SVG_LENGTH = rb"""\s%b\s*=\s*["']\s*\+?([0-9]*\.?[0-9]+)(px|q|mm|cm|in|pt|pc)?\s*["']"""
_PIXELS = {b"px": 1, b"q": 96 / 101.6, b"mm": 96 / 25.4, b"cm": 96 / 2.54, b"in": 96, b"pt": 96 / 72, b"pc": 16}
"""CSS's absolute units in its pixels, of which an inch has 96."""
_VIEW_BOX = re.compile(rb"""\sviewBox\s*=\s*["']\s*[-0-9.]+[\s,]+[-0-9.]+[\s,]+([0-9.]+)[\s,]+([0-9.]+)\s*["']""")


class ImageFacts(msgspec.Struct, frozen=True):
    """The facts that an image's first bytes tell."""

    format: str
    """``png``, ``gif``, ``jpg``, ``webp``, ``avif``, ``ico`` or ``svg``."""
    size: Size
    """As the image is shown."""
    moves: bool = False
    """Whether it says that it is animated; a GIF does not say it at its beginning."""


def image_facts(data: bytes) -> ImageFacts | None:
    """Return the facts about an image; ``None`` if the bytes give no size, or not as the format asks.

    ``data`` are the file's first ``HEADER_BYTES``, or all. They alone tell the format, as they do in browsers: names
    are often wrong.
    """
    for kind, reader in _READERS.items():
        try:
            size = reader(data)
        except (IndexError, ValueError):  # cut off
            return None
        if size is not None:
            return ImageFacts(kind, size, _moves(kind, data)) if size[0] > 0 and size[1] > 0 else None
    return None


def image_size(data: bytes) -> Size | None:
    """Return the size that ``image_facts`` returns."""
    facts = image_facts(data)
    return None if facts is None else facts.size


def _moves(kind: str, data: bytes) -> bool:
    match kind:
        case "png":
            return any(name == b"acTL" for name, _ in _png_chunks(data))
        case "webp":
            return data[12:16] == b"VP8X" and bool(data[20] & 2)
        case "avif":
            return data[8:12] == b"avis"
    return False


def _number(data: bytes, at: int, length: int, *, little: bool = False) -> int:
    if at + length > len(data):
        raise IndexError
    return int.from_bytes(data[at : at + length], "little" if little else "big")


def _png(data: bytes) -> Size | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    size = _number(data, 16, 4), _number(data, 20, 4)
    turned = any(name == b"eXIf" and _is_turned(chunk) for name, chunk in _png_chunks(data))
    return size[::-1] if turned else size


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Return name and content of the chunks before the pixels, as far as they are in the bytes."""
    at = 8
    while at + 8 <= len(data) and (name := data[at + 4 : at + 8]) != b"IDAT":
        length = _number(data, at, 4)
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length


def _gif(data: bytes) -> Size | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return _number(data, 6, 2, little=True), _number(data, 8, 2, little=True)


def _jpeg(data: bytes) -> Size | None:
    if not data.startswith(b"\xff\xd8"):
        return None
    at, turned = 2, False
    while True:
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        length = _number(data, at + 2, 2)
        if marker == 0xE1:
            exif = data[at + 4 : at + 2 + length]
            turned = turned or (exif.startswith(b"Exif\0\0") and _is_turned(exif[6:]))
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _number(data, at + 5, 2), _number(data, at + 7, 2)
            return (height, width) if turned else (width, height)
        if length < 2:
            return None
        at += 2 + length


def _is_turned(tiff: bytes) -> bool:
    """Return whether EXIF's orientation has readers turn an image by a right angle. Browsers do not look at WebP's."""
    return orientation(tiff) >= 5


def orientation(tiff: bytes) -> int:
    """Return which way up an image is, from its EXIF without the name before it: 1, upright, to 8."""
    little = tiff.startswith(b"II")
    try:
        first = _number(tiff, 4, 4, little=little)
        for number in range(_number(tiff, first, 2, little=little)):
            entry = first + 2 + 12 * number
            if _number(tiff, entry, 2, little=little) == 0x0112:
                found = _number(tiff, entry + 8, 2, little=little)
                return found if 1 <= found <= 8 else 1
    except IndexError:
        pass
    return 1


def _webp(data: bytes) -> Size | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 ":
            return _number(data, 26, 2, little=True) & 0x3FFF, _number(data, 28, 2, little=True) & 0x3FFF
        case b"VP8L":
            bits = _number(data, 21, 4, little=True)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _number(data, 24, 3, little=True) + 1, _number(data, 27, 3, little=True) + 1
    return None


def _avif(data: bytes) -> Size | None:
    if data[4:8] != b"ftyp":
        return None
    # The largest: the others are of thumbnails and of the tiles of a grid.
    properties = list(_boxes(data, (b"meta", b"iprp", b"ipco")))
    sizes = [(_number(data, at + 4, 4), _number(data, at + 8, 4)) for kind, at in properties if kind == b"ispe"]
    size = max(sizes, key=lambda size: size[0] * size[1], default=None)
    turned = any(kind == b"irot" and data[at] & 1 for kind, at in properties)
    return size[::-1] if size is not None and turned else size


def _boxes(data: bytes, path: tuple[bytes, ...]) -> Iterator[tuple[bytes, int]]:
    """Return kind and place of the boxes of an ISO base media file, at the end of a path of boxes."""
    start, end = 0, len(data)
    for step in (*path, b""):
        at = start
        while at + 8 <= end:
            size, kind = _number(data, at, 4), data[at + 4 : at + 8]
            if not step:
                yield kind, at + 8
            if kind == step:
                break
            if size < 8:
                return
            at += size
        else:
            return
        start, end = at + 8 + (4 if step == b"meta" else 0), min(end, at + size)


def _ico(data: bytes) -> Size | None:
    if not data.startswith(b"\0\0\1\0"):
        return None
    # A side of 256 pixels is written as 0.
    offsets = range(6, 6 + 16 * _number(data, 4, 2, little=True), 16)
    sizes = [(_number(data, at, 1) or 256, _number(data, at + 1, 1) or 256) for at in offsets]
    return max(sizes, default=None)


def _svg(data: bytes) -> Size | None:
    found = _SVG.match(data)
    if found is None:
        return None
    width, height = _svg_length(b"width", found[1]), _svg_length(b"height", found[1])
    if width is not None and height is not None:
        return round(width), round(height)
    box = _VIEW_BOX.search(found[1])
    return None if box is None else (round(float(box[1])), round(float(box[2])))


def _svg_length(name: bytes, attributes: bytes) -> float | None:
    """Return an absolute length in pixels; ``None`` for one in relation to the page or its font."""
    found = re.search(_SVG_LENGTH % name, attributes, re.IGNORECASE)
    return None if found is None else float(found[1]) * _PIXELS[(found[2] or b"px").lower()]


_READERS: dict[str, Callable[[bytes], Size | None]] = {
    **{"png": _png, "gif": _gif, "jpg": _jpeg, "webp": _webp, "avif": _avif, "ico": _ico, "svg": _svg}
}
