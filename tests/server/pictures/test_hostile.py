"""Files that are damaged, huge or made to do harm: each goes out as it is or as a right form, and nothing breaks."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, UnidentifiedImageError

from server.pictures.maker import MEMORY_BYTES
from tests.server.pictures.makers import makers, most_memory
from tests.server.pictures.picture_site import PictureSite, drawn, encoded, every_kind, keep_pictures, picture_site

pytestmark = pytest.mark.slow

BROWSER = "image/avif,image/webp,*/*"


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(
    width: int,
    height: int,
    *more: bytes,
    depth: int = 8,
    colour: int = 2,
    rows: bytes | None = None,
    interlaced: int = 0,
) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    data = zlib.compress(rows if rows is not None else bytes(1000), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(more) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def bombs() -> dict[str, bytes]:
    """Small files that ask for much."""
    much = zlib.compress(bytes(200 << 20), 9)
    jpeg = every_kind()["photo.jpg"]
    frame = jpeg.index(b"\xff\xc0")
    gif = encoded(drawn(8, 8, "P"), "GIF")
    webp = bytearray(encoded(Image.new("RGBA", (50, 50)), "WEBP", lossless=True))
    rows = bytes((7000 * 3 + 1) * 7000)
    return {
        "profile.png": png(8, 8, chunk(b"iCCP", b"x\0\0" + much), rows=bytes(8 * 25)),
        "text.png": png(8, 8, *[chunk(b"zTXt", b"x\0\0" + much)] * 3, rows=bytes(8 * 25)),
        "much-in-little.png": png(7000, 7000, rows=rows),
        "interlaced.png": encoded(Image.new("RGB", (100, 100)), "PNG")[:16]
        + struct.pack(">II", 7000, 7000)
        + encoded(Image.new("RGB", (100, 100)), "PNG")[24:],
        "deep.png": png(5000, 10_000, depth=16, colour=6, rows=bytes((5000 * 8 + 1) * 2000), interlaced=1),
        "none.png": png(0, 0),
        "negative.png": png(0x80000001, 0x7FFFFFFF),
        "widest.jpg": jpeg[: frame + 5] + struct.pack(">HH", 65_500, 750) + jpeg[frame + 9 :],
        "largest.jpg": jpeg[: frame + 5] + struct.pack(">HH", 65_500, 65_500) + jpeg[frame + 9 :],
        "canvas.gif": gif[:6] + struct.pack("<HH", 65_535, 762) + gif[10:],
        "frames.gif": gif[:-1] + gif[gif.index(b"\x2c") : -1] * 20_000 + b";",
        "large.webp": bytes(webp[:21] + struct.pack("<I", 0x0FFFFFFF) + webp[25:]),
        "comment.jpg": jpeg[:2] + (b"\xff\xfe\xff\xff" + bytes(65_533)) * 200 + jpeg[2:],
        "exif.jpg": jpeg[:2] + b"\xff\xe1\x00\x20Exif\0\0II*\0\x08\0\0\0\xff\xff" + b"\x12\x01" * 6 + jpeg[2:],
        "svg.png": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
        "postscript.jpg": b"%!PS\n(/etc/passwd) run",
        "text.jpg": b"P3 99999 99999 255",
        "magick.png": b"push graphic-context\nimage over 0,0 0,0 'url(/etc/passwd)'\npop graphic-context",
        "empty.png": b"",
    }


def damaged(count: int) -> dict[str, bytes]:
    """Pictures with a part that is changed, gone, said twice, or said to be larger."""
    chance = random.Random(7)
    kinds = [name for name in every_kind() if not name.endswith((".pdf", ".svg", ".ico")) and name != "huge.png"]
    found = {}
    for number in range(count):
        name = chance.choice(kinds)
        data = bytearray(every_kind()[name])
        for _ in range(chance.choice((1, 1, 3, 20))):
            at = min(chance.randrange(len(data)), chance.randrange(len(data)))
            match chance.randrange(5):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", bytes(4), b"\x7f\xff\xff\xff"))
                case 2:
                    del data[at : at + chance.choice((1, 50, 5000))]
                case 3:
                    data[at:at] = data[at : at + chance.choice((1, 50, 5000))]
                case 4:
                    data[at : at + 8] = chance.randbytes(8)
            if len(data) < 16:
                break
        found[f"{number}.{name.rpartition('.')[2]}"] = bytes(data)
    return found


def ask_for_all(site: PictureSite, files: dict[str, bytes]) -> None:
    """Ask for a form of each file: a right one comes, or the file itself."""
    site.paths |= keep_pictures(site.store, files)
    most = 0
    queries = ("w=64", "w=48&h=48&fit=crop&fm=png", "w=96&auto=format", "fm=jpg")
    for number, (name, data) in enumerate(files.items()):
        found = site.get(name, queries[number % len(queries)], Accept=BROWSER)
        assert found.status_code == 200, name
        if found.content != data:
            try:
                with Image.open(io.BytesIO(found.content)) as picture:
                    picture.load()
                    assert found.headers["content-type"] == Image.MIME[str(picture.format)], name
            except UnidentifiedImageError:
                raise AssertionError(f"{name} became no picture") from None
        if number % 16 == 0:
            most = max([most, *map(most_memory, makers())])
    most = max([most, *map(most_memory, makers())])
    assert 0 < most < MEMORY_BYTES
    assert site.picture("photo.jpg", "w=128").size == (128, 77)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PictureSite]:
    with picture_site(tmp_path, {"photo.jpg": every_kind()["photo.jpg"]}) as running:
        yield running


def test_bombs(site: PictureSite) -> None:
    ask_for_all(site, bombs())
    passwords = Path("/etc/passwd").read_bytes()
    for name in ("svg.png", "postscript.jpg", "magick.png"):
        assert passwords[:20] not in site.get(name, "w=64").content


def test_damaged_files(site: PictureSite) -> None:
    ask_for_all(site, damaged(60))


def test_ten_thousand_damaged_files(site: PictureSite) -> None:
    ask_for_all(site, damaged(10_000))
