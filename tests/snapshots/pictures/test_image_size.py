"""Sizes in the first bytes of images, as encoders write them; cut off anywhere, they give none or the same."""

from __future__ import annotations

import struct

import pytest

from snapshots.pictures.image_size import image_size


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + kind + content


def ispe(width: int, height: int) -> bytes:
    return box(b"ispe", struct.pack(">III", 0, width, height))


def exif(orientation: int) -> bytes:
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + entry


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, 2 + len(content)) + content


def jpeg(*before: bytes, marker: int = 0xC0) -> bytes:
    return b"\xff\xd8" + b"".join(before) + segment(marker, struct.pack(">BHHB", 8, 20, 30, 3)) + b"\xff\xd9"


FTYP = box(b"ftyp", b"avif\0\0\0\0avif")
META = box(b"meta", b"\0\0\0\0" + box(b"hdlr", b"x" * 20) + box(b"iprp", box(b"ipco", ispe(8, 8) + ispe(30, 20))))
IMAGES = [
    ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 30, 20) + b"rest"),
    ("gif", b"GIF89a" + struct.pack("<HH", 30, 20) + b"rest"),
    ("jpg", jpeg()),
    ("jpeg", jpeg(segment(0xE0, b"JFIF"), b"\xff", segment(0xC4, b"x" * 9), marker=0xC2)),
    ("jpg", jpeg(segment(0xE1, exif(1)))),
    ("webp", b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 30, 20)),
    ("webp", b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 29 | 19 << 14)),
    ("webp", b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + b"\x1d\0\0\x13\0\0"),
    ("avif", FTYP + META),
    ("svg", b'<?xml version="1.0"?><svg xmlns="x" width="30px" height="20.4">'),
    ("svg", b"<svg width='100%' viewBox='0 0 30 20'>"),
    ("svg", b"<!-- <svg width='1' height='1'> -->\n<!DOCTYPE svg [<!ENTITY a 'b'>]>\n<svg width='30' height='20'>"),
    ("svg in em", b"<svg width='3em' height='2em' viewBox='0 0 30 20'>"),
    ("ico", b"\0\0\1\0\2\0" + b"\x10\x10" + b"\0" * 14 + b"\x1e\x14" + b"\0" * 14),
]


@pytest.mark.parametrize("data", [data for _, data in IMAGES], ids=[kind for kind, _ in IMAGES])
def test_sizes(data: bytes) -> None:
    assert image_size(data) == (30, 20)
    for end in range(len(data)):
        assert image_size(data[:end]) in (None, (30, 20), (8, 8), (16, 16))


@pytest.mark.parametrize(
    ("length", "pixels"),
    [("210mm", 794), ("21CM", 794), ("2in", 192), (".5in", 48), ("36pt", 48), ("3pc", 48), ("+40Q", 38), ("9.6px", 10)],
)
def test_lengths_on_paper_are_pixels_of_96_an_inch(length: str, pixels: int) -> None:
    for data in (f"<svg width='{length}' height='1in'/>", f'<svg height="1in" width = " {length} " viewBox="0 0 1 1">'):
        assert image_size(data.encode()) == (pixels, 96)


def test_a_picture_that_is_turned_is_as_it_is_shown() -> None:
    assert image_size(jpeg(segment(0xE1, exif(6)))) == (20, 30)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 100, b"\xff\xd8" + b"\xff\xe0\0\0" * 50, FTYP + b"\0\0\0\0meta" * 9, b"<svg>",
     b"RIFF....WEBPVP8?" + b"x" * 20,
     b"<html><svg width='3' height='2'>", b"%PDF <svg width='3' height='2'>", b"<!--" * 100_000, b"<? ?>" * 100_000,
     b"<svg width='3mm'>", b"<svg width='3em' height='2em'>", b"\0\0\1\0\0\0",
     b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 8, b"<svg width='0' height='0'>", b"\xff\xd8" + b"\xff" * 1000],
)  # fmt: skip
def test_anything_else_has_no_size(data: bytes) -> None:
    assert image_size(data) is None
