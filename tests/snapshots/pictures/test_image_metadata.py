"""The metadata of pictures: where they were taken is found, and left off without changing how they look."""

from __future__ import annotations

import io
import random
import struct
from typing import Any

import pytest
from PIL import Image, ImageCms

from snapshots.pictures.image_metadata import STRIPPED, tells_position, without_metadata
from snapshots.pictures.image_size import image_facts

FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "avif": "AVIF"}
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a exif:GPSLatitude="35,0N"/></x:xmpmeta>'


def exif(*, position: bool = False, way: int = 1) -> Image.Exif:
    found = Image.Exif()
    found[0x010F] = "the camera"
    found[0x0112] = way
    if position:
        found.get_ifd(0x8825).update({1: "N", 2: (35.0, 1.0, 2.0), 3: "E", 4: (135.0, 1.0, 2.0)})
    return found


def picture(kind: str, **options: Any) -> bytes:
    drawn = Image.radial_gradient("L").resize((90, 60)).convert("RGB")
    drawn.putpixel((0, 0), (255, 0, 0))
    opened = io.BytesIO()
    drawn.save(opened, FORMATS[kind], **options)
    return opened.getvalue()


def told(kind: str, data: bytes) -> bool:
    return tells_position(kind, io.BytesIO(data))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_position_is_found(kind: str) -> None:
    assert told(kind, picture(kind, exif=exif(position=True)))
    assert told(kind, picture(kind, exif=exif(), xmp=XMP)) or kind == "png"  # which Pillow writes without
    assert not told(kind, picture(kind, exif=exif()))
    assert not told(kind, picture(kind))


def test_other_facts_about_positions_are_none() -> None:
    other = Image.Exif()
    other.get_ifd(0x8825).update({29: "2026:01:01"})  # the day, from a camera that found no satellite
    assert not told("jpg", picture("jpg", exif=other))


@pytest.mark.parametrize("kind", sorted(STRIPPED))
@pytest.mark.parametrize("way", [1, 3, 6, 8])
def test_metadata_is_left_off_and_the_picture_stays(kind: str, way: int) -> None:
    written = picture(kind, exif=exif(position=True, way=way), icc_profile=PROFILE)
    found = without_metadata(kind, written)
    assert len(found) < len(written)
    assert b"the camera" not in found
    assert not told(kind, found)
    before, after = (Image.open(io.BytesIO(data)) for data in (written, found))
    assert before.tobytes() == after.tobytes()
    assert after.info["icc_profile"] == PROFILE
    assert image_facts(found) == image_facts(written)
    assert dict(after.getexif()) == ({} if way == 1 or kind == "webp" else {0x0112: way})
    assert without_metadata(kind, found) == found


def test_comments_texts_and_further_pictures_go() -> None:
    jpeg = picture("jpg", comment=b"by Hana", exif=exif())
    further = b"\xff\xe2\x00\x08MPF\0xx"
    with_more = jpeg[:2] + further + jpeg[2:] + b"a second picture"
    found = without_metadata("jpg", with_more)
    for text in (b"by Hana", b"MPF", b"second", b"camera"):
        assert text not in found
    assert Image.open(io.BytesIO(found)).tobytes() == Image.open(io.BytesIO(jpeg)).tobytes()
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text("Author", "Hana")
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode())
    assert told("png", picture("png", pnginfo=texts))
    found = without_metadata("png", picture("png", pnginfo=texts))
    assert b"Hana" not in found
    assert b"xmpmeta" not in found


def test_pictures_that_move_go_on_moving() -> None:
    frames = {"save_all": True, "append_images": [Image.new("RGB", (90, 60), "blue")], "duration": 50}
    for kind in ("png", "webp"):
        found = without_metadata(kind, picture(kind, exif=exif(), **frames))
        assert getattr(Image.open(io.BytesIO(found)), "n_frames", 1) == 2


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_left_as_they_are_or_stay_pictures(kind: str) -> None:
    whole, chance = picture(kind, exif=exif(position=True), icc_profile=PROFILE), random.Random(3)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3))):
            at = chance.randrange(len(data))
            data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", bytes(4), chance.randbytes(4)))
        cut = bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        assert isinstance(without_metadata(kind, cut), bytes)
        assert told(kind, cut) in (True, False)
    assert without_metadata(kind, b"") == b""
    assert without_metadata("gif", b"GIF89a") == b"GIF89a"
    looping = b"\xff\xd8\xff\xe1" + struct.pack(">H", 0) + b"Exif"
    assert isinstance(without_metadata("jpg", looping), bytes)
