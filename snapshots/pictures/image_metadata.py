"""Find the position in the metadata of a picture, and leave the metadata off: JPEG, PNG and WebP, without new encoding.

What decides how a picture looks stays: its colour profile, and which way up it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final
from zlib import crc32

from snapshots.pictures.image_size import HEADER_BYTES, orientation

STRIPPED: Final = frozenset({"jpg", "png", "webp"})
"""The formats whose metadata can be left off."""

_GPS: Final = 0x8825
_XMP_POSITION: Final = b"exif:GPSLatitude"
_PNG_HEAD: Final = b"\x89PNG\r\n\x1a\n"
_PNG_METADATA: Final = frozenset({b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME"})
_WEBP_METADATA: Final = frozenset({b"EXIF", b"XMP "})
_WEBP_FLAGS: Final = 0x0C
"""Those of VP8X that say that there are EXIF and XMP."""
_JPEG_METADATA: Final = frozenset({*range(0xE1, 0xF0), 0xFE}) - {0xE2, 0xEE}
"""Application segments and comments, without the colour profile's and Adobe's, which says how colours are stored."""


def tells_position(kind: str, opened: BinaryIO) -> bool:
    """Return whether a picture's file of a format says where it was taken."""
    try:
        opened.seek(0)
        if kind == "webp":  # after the pixels
            found = b"".join(data for name, data in _webp_chunks(opened.read()) if name in _WEBP_METADATA)
        else:
            found = opened.read(HEADER_BYTES)
        return _XMP_POSITION in found or any(_has_gps(exif) for exif in _exifs(kind, found))
    except (struct.error, IndexError, ValueError):
        return False


def without_metadata(kind: str, data: bytes) -> bytes:
    """Return a picture's file without its metadata; the same file where its format is not ``STRIPPED``, or it is
    damaged."""
    try:
        match kind:
            case "jpg":
                return _jpeg_without(data)
            case "png":
                return _png_without(data)
            case "webp":
                return _webp_without(data)
    except (struct.error, IndexError, ValueError):
        pass
    return data


def _exifs(kind: str, data: bytes) -> Iterator[bytes]:
    """Return the parts of a file that may be EXIF, from its TIFF header on."""
    if kind == "webp":
        yield data.removeprefix(b"Exif\0\0")
    elif kind == "png":
        yield from (chunk for name, chunk in _png_chunks(data) if name == b"eXIf")
    else:
        at = data.find(b"Exif\0\0")
        while at >= 0:
            yield data[at + 6 : at + 6 + 65_536]
            at = data.find(b"Exif\0\0", at + 1)


def _has_gps(tiff: bytes) -> bool:
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return False
    (first,) = struct.unpack_from(f"{order}I", tiff, 4)
    (count,) = struct.unpack_from(f"{order}H", tiff, first)
    for number in range(count):
        tag, _, _, value = struct.unpack_from(f"{order}HHII", tiff, first + 2 + 12 * number)
        if tag == _GPS and value < len(tiff):
            (inside,) = struct.unpack_from(f"{order}H", tiff, value)
            tags = [struct.unpack_from(f"{order}H", tiff, value + 2 + 12 * at)[0] for at in range(min(inside, 64))]
            return bool({2, 4} & set(tags))  # latitude and longitude
    return False


def _turned(way: int) -> bytes:
    """Return EXIF that says nothing but which way up a picture is."""
    return struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 0x0112, 3, 1, way, 0, 0)


def _jpeg_without(data: bytes) -> bytes:
    kept, at, way = [data[:2]], 2, 1
    while data[at + 1] != 0xDA:
        if data[at] != 0xFF:
            return data
        (length,) = struct.unpack_from(">H", data, at + 2)
        segment = data[at : at + 2 + length]
        if segment[4:10] == b"Exif\0\0":
            way = orientation(segment[10:])
        if data[at + 1] not in _JPEG_METADATA and not _is_other_app2(segment):
            kept.append(segment)
        at += 2 + length
    if way != 1:
        exif = b"Exif\0\0" + _turned(way)
        kept.insert(1, b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif)
    end = data.rfind(b"\xff\xd9")  # behind it, cameras put further pictures
    return b"".join(kept) + (data[at : end + 2] if end > at else data[at:])


def _is_other_app2(segment: bytes) -> bool:
    return segment[1] == 0xE2 and not segment.startswith(b"ICC_PROFILE\0", 4)


def _png_chunks(data: bytes, *, whole: bool = False) -> Iterator[tuple[bytes, bytes]]:
    """Return name and content of the chunks. Raises ``ValueError`` where the file has to be ``whole`` and is not."""
    at, name = len(_PNG_HEAD), b""
    while at + 8 <= len(data) and name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, at)
        if whole and at + 12 + length > len(data):
            raise ValueError("the file is cut")
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length
    if whole and name != b"IEND":
        raise ValueError("the file is cut")


def _png_without(data: bytes) -> bytes:
    way, kept = 1, [_PNG_HEAD]
    for name, chunk in _png_chunks(data, whole=True):
        if name == b"eXIf":
            way = orientation(chunk)
            if way != 1:
                kept.append(_png_chunk(name, _turned(way)))
        elif name not in _PNG_METADATA:
            kept.append(_png_chunk(name, chunk))
    return b"".join(kept)


def _png_chunk(name: bytes, chunk: bytes) -> bytes:
    return struct.pack(">I4s", len(chunk), name) + chunk + struct.pack(">I", crc32(name + chunk))


def _webp_chunks(data: bytes, *, whole: bool = False) -> Iterator[tuple[bytes, bytes]]:
    """Return name and content of the chunks. Raises ``ValueError`` where the file has to be ``whole`` and is not."""
    at = 12
    while at + 8 <= len(data):
        name, length = struct.unpack_from("<4sI", data, at)
        if whole and at + 8 + length > len(data):
            raise ValueError("the file is cut")
        yield name, data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    if whole and at == 12:
        raise ValueError("the file is cut")


def _webp_without(data: bytes) -> bytes:
    kept = []
    for name, chunk in _webp_chunks(data, whole=True):
        if name in _WEBP_METADATA:
            continue
        content = bytes([chunk[0] & ~_WEBP_FLAGS]) + chunk[1:] if name == b"VP8X" else chunk
        kept.append(struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2))
    body = b"WEBP" + b"".join(kept)
    return b"RIFF" + struct.pack("<I", len(body)) + body
