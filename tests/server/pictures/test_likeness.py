"""The forms of pictures beside those that another library makes of the same files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.server.pictures.picture_site import PictureSite, encoded, opened, picture_site

pytestmark = pytest.mark.slow

LEAST = 0.98


@cache
def photo(width: int = 2400, height: int = 1600) -> Image.Image:
    """Colours at random, in patches of many sizes, as in a photograph."""
    chance = np.random.default_rng(5)
    total = np.zeros((height, width, 3), np.float32)
    for cells, weight in ((3, 60), (12, 40), (50, 20), (200, 8)):
        noise = chance.normal(0, weight, (cells, cells, 3))
        parts = [
            np.asarray(
                Image.fromarray(noise[..., band].astype(np.float32)).resize((width, height), Image.Resampling.BICUBIC)
            )
            for band in range(3)
        ]
        total += np.stack(parts, -1)
    return Image.fromarray(np.clip(total + 128, 0, 255).astype(np.uint8))


def likeness(one: Image.Image, other: Image.Image) -> float:
    """The structural similarity (SSIM) of the brightness of two pictures, over squares of 8 pixels: 1 for the same."""
    x, y = (np.asarray(picture.convert("L"), np.float64) for picture in (one, other))

    def mean(values: Any) -> Any:
        sums = np.cumsum(np.cumsum(np.pad(values, ((1, 0), (1, 0))), 0), 1)
        return (sums[8:, 8:] - sums[:-8, 8:] - sums[8:, :-8] + sums[:-8, :-8]) / 64

    of_x, of_y = mean(x), mean(y)
    spread, both = mean(x * x) - of_x**2 + mean(y * y) - of_y**2, mean(x * y) - of_x * of_y
    steady, steadier = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    found = ((2 * of_x * of_y + steady) * (2 * both + steadier)) / ((of_x**2 + of_y**2 + steady) * (spread + steadier))
    return float(found.mean())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PictureSite]:
    files = {
        "photo.jpg": encoded(photo(), "JPEG", quality=92),
        "photo.png": encoded(photo(), "PNG", compress_level=1),
        "photo.webp": encoded(photo(), "WEBP", quality=92, method=0),
    }
    with picture_site(tmp_path_factory.mktemp("photos"), files) as running:
        yield running


@pytest.mark.parametrize("name", ["photo.jpg", "photo.png", "photo.webp"])
@pytest.mark.parametrize("width", [128, 640, 1920])
def test_a_form_is_like_that_of_another_library(site: PictureSite, name: str, width: int) -> None:
    path = site.store.workspace("acme").assets / site.paths[name].rpartition("/")[2]
    with Image.open(path) as source:
        expected = source.convert("RGB").resize((width, round(1600 * width / 2400)), Image.Resampling.LANCZOS)
    assert likeness(site.picture(name, f"w={width}&fm=png"), expected) >= LEAST


@pytest.mark.parametrize("fm", ["jpg", "webp", "avif"])
def test_what_the_formats_lose_is_little(site: PictureSite, fm: str) -> None:
    exact = site.picture("photo.jpg", "w=640&fm=png")
    found = {q: likeness(site.picture("photo.jpg", f"w=640&fm={fm}&q={q}"), exact) for q in (50, 75, 90)}
    assert 0.9 < found[50] < found[75] < found[90]
    assert found[90] >= LEAST


def test_likeness_tells_pictures_apart() -> None:
    small = photo().resize((300, 200))
    assert likeness(small, small) == pytest.approx(1)
    assert likeness(small, small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)) < 0.5
    blurred = small.resize((60, 40)).resize((300, 200))
    assert likeness(small, blurred) < LEAST
    assert opened(encoded(small, "PNG")).size == (300, 200)
