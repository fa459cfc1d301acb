"""A store with pictures of every kind, and an application that serves it."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms
from starlette.testclient import TestClient

from server.settings import Settings
from snapshots.store.assets.files import asset_name
from snapshots.store.store import Store, open_store
from tests.sites.quiet_app import quiet_app

WORKSPACE = "acme"


def drawn(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """A smooth picture whose four corners differ: red, green, blue and white, from the top left on."""
    corners = Image.new("RGB", (2, 2))
    for at, colour in zip(((0, 0), (1, 0), (0, 1), (1, 1)), ("red", "lime", "blue", "white"), strict=True):
        corners.paste(colour, (*at, at[0] + 1, at[1] + 1))
    return corners.resize((width, height), Image.Resampling.BILINEAR).convert(mode)


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    opened = io.BytesIO()
    picture.save(opened, kind, **options)
    return opened.getvalue()


def turned_exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = "where it was taken"
    return exif


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def is_like(picture: Image.Image, at: tuple[float, float], colour: tuple[int, int, int], most: int = 40) -> bool:
    """Whether the colour at a place, given in shares of width and height, is about the one given."""
    place = (round(at[0] * (picture.width - 1)), round(at[1] * (picture.height - 1)))
    found = picture.convert("RGB").getpixel(place)
    assert isinstance(found, tuple)
    return all(abs(a - b) <= most for a, b in zip(found, colour, strict=True))


@cache
def every_kind() -> dict[str, bytes]:
    """Pictures by file name."""
    other = Image.new("RGB", (200, 100), "navy")
    moving = {"save_all": True, "append_images": [other]}
    jpeg = encoded(drawn(1000, 600), "JPEG", quality=92)
    return {
        "photo.jpg": jpeg,
        "progressive.jpg": encoded(drawn(1000, 600), "JPEG", quality=92, progressive=True),
        "grey.jpg": encoded(drawn(400, 300, "L"), "JPEG"),
        "cmyk.jpg": encoded(drawn(400, 300, "CMYK"), "JPEG", quality=95),
        "turned.jpg": encoded(drawn(600, 400), "JPEG", quality=95, exif=turned_exif(6)),
        "turned.png": encoded(drawn(600, 400), "PNG", exif=turned_exif(6)),
        "turned.webp": encoded(drawn(600, 400), "WEBP", quality=95, exif=turned_exif(6)),
        "turned.avif": encoded(drawn(600, 400), "AVIF", quality=95, exif=turned_exif(6)),
        "profile.jpg": encoded(drawn(600, 400), "JPEG", quality=95, icc_profile=_profile()),
        "through.png": encoded(drawn(400, 300, "RGBA"), "PNG"),
        "deep.png": encoded(drawn(400, 300, "L").convert("I").point(lambda value: value * 257).convert("I;16"), "PNG"),
        "few.png": encoded(drawn(400, 300).quantize(8), "PNG"),
        "photo.webp": encoded(drawn(1000, 600), "WEBP", quality=92),
        "photo.avif": encoded(drawn(1000, 600), "AVIF", quality=85),
        "still.gif": encoded(drawn(200, 100, "P"), "GIF"),
        "moving.gif": encoded(drawn(200, 100), "GIF", **moving),
        "moving.webp": encoded(drawn(200, 100), "WEBP", **moving),
        "moving.png": encoded(drawn(200, 100), "PNG", **moving),
        "moving.avif": encoded(drawn(200, 100), "AVIF", **moving),
        "drawn.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"></svg>',
        "favicon.ico": encoded(drawn(64, 64), "ICO"),
        "cut.jpg": jpeg[: len(jpeg) // 2],
        "huge.png": encoded(Image.new("1", (10_000, 6_000)), "PNG"),
        "tiny.png": encoded(drawn(1, 1), "PNG"),
        "thin.png": encoded(drawn(2000, 3), "PNG"),
        "named-wrongly.png": jpeg,
        "menu.pdf": b"%PDF-1.4 x",
    }


def _profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def keep_pictures(store: Store, pictures: dict[str, bytes]) -> dict[str, str]:
    """Put files among the assets of the workspace; return their paths on a server, by file name."""
    directory = store.workspace(WORKSPACE).assets
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, data in pictures.items():
        stored = asset_name(name, io.BytesIO(data))
        (directory / stored).write_bytes(data)
        paths[name] = f"/assets/{WORKSPACE}/{stored}"
    return paths


class PictureSite:
    """An application with pictures."""

    def __init__(self, store: Store, client: TestClient, paths: dict[str, str]) -> None:
        self.store, self.client, self.paths = store, client, paths

    def get(self, name: str, query: str = "", method: str = "GET", **headers: str) -> Any:
        target = self.paths[name] + (f"?{query}" if query else "")
        return self.client.request(method, target, headers={name.replace("_", "-"): v for name, v in headers.items()})

    def picture(self, name: str, query: str, **headers: str) -> Image.Image:
        found = self.get(name, query, **headers)
        assert found.status_code == 200, found.text
        picture = opened(found.content)
        assert Image.MIME[str(picture.format)] == found.headers["content-type"]
        return picture

    @property
    def kept(self) -> list[Path]:
        """The forms that are kept."""
        return sorted(
            path
            for path in (self.store.cache / ".pictures").rglob("*-*")
            if path.is_file() and path.parent.name != ".pictures"
        )

    def forget(self) -> None:
        """Drop all forms."""
        shutil.rmtree(self.store.cache / ".pictures", ignore_errors=True)


@contextmanager
def picture_site(directory: Path, pictures: dict[str, bytes], **settings: Any) -> Iterator[PictureSite]:
    store = open_store(directory / "store")
    paths = keep_pictures(store, pictures)
    with TestClient(quiet_app(Settings(store=str(store.root), **settings))) as client:
        yield PictureSite(store, client, paths)
