"""The forms of pictures over HTTP: parameters, sizes, formats, colours, and what has no form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.pictures.picture_site import PictureSite, every_kind, is_like, opened, picture_site

BROWSER = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
OLDER = "image/webp,*/*"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PictureSite]:
    with picture_site(tmp_path_factory.mktemp("pictures"), every_kind()) as running:
        yield running


SIZES: dict[str, tuple[int, int]] = {
    "w=640": (640, 384),
    "w=400": (640, 384),
    "w=641": (750, 450),
    "w=1": (16, 10),
    "w=16&h=16": (16, 10),
    "h=128": (213, 128),
    "h=100&w=640": (213, 128),
    "w=3840": (1000, 600),
    "w=999999999": (1000, 600),
    "w=0640": (640, 384),
    "w=128&h=128&fit=crop": (128, 128),
    "w=3840&h=128&fit=crop": (1000, 128),
    "w=3840&h=3840&fit=crop": (1000, 600),
    "w=128&fit=crop": (128, 77),
    "w=128&h=128&fit=max": (128, 77),
    "w=128&h=128&fit=clip": (128, 77),
    "w=128&h=128&fit=fill": (128, 77),
    "fm=jpg": (1000, 600),
    "fm=jpeg": (1000, 600),
    "q=50": (1000, 600),
    "auto=format": (1000, 600),
    "auto=compress,format&w=256": (256, 154),
    "w=256&w=640": (256, 154),
    "w=0&w=256": (256, 154),
    "x=1&w=256&y=%00": (256, 154),
}


@pytest.mark.parametrize(("query", "size"), SIZES.items(), ids=SIZES)
def test_sizes(site: PictureSite, query: str, size: tuple[int, int]) -> None:
    picture = site.picture("photo.jpg", query)
    assert (picture.format, picture.size) == ("JPEG", size)


WITHOUT_EFFECT = (
    *("", "w=0", "w=-1", "w=", "w=1.5", "w=1e3", "w=٣", "w=+64", "w=9999999999", "W=64", "w=64%00", "w=auto"),
    *("fm=gif", "fm=svg", "fm=", "fm=JPG", "q=0", "q=-1", "q=high", "auto=compress", "auto=", "auto=formats"),
    *("fit=crop", "fit=max", "rect=0,0,1,1", "blur=500", "width=64", "dpr=2", "&&&", "=", "w"),
)


@pytest.mark.parametrize("query", WITHOUT_EFFECT)
def test_other_parameters_and_values_have_no_effect(site: PictureSite, query: str) -> None:
    found = site.get("photo.jpg", query, Accept=BROWSER)
    assert (found.status_code, found.content) == (200, every_kind()["photo.jpg"])
    assert found.headers["etag"] == site.get("photo.jpg").headers["etag"]
    assert "vary" not in found.headers


FORMATS = [
    ("photo.jpg", "fm=webp", "", "WEBP"),
    ("photo.jpg", "fm=avif", "", "AVIF"),
    ("photo.jpg", "fm=png", "", "PNG"),
    ("photo.png", "fm=jpg", "", "JPEG"),
    ("photo.webp", "w=64", "", "WEBP"),
    ("photo.avif", "w=64", "", "AVIF"),
    ("still.gif", "w=64", "", "PNG"),
    ("through.png", "w=64", "", "PNG"),
    ("photo.jpg", "w=64&auto=format", BROWSER, "AVIF"),
    ("photo.jpg", "w=64&auto=format,compress", BROWSER, "AVIF"),
    ("photo.jpg", "w=64&auto=format", OLDER, "WEBP"),
    ("photo.jpg", "w=64&auto=format", "*/*", "JPEG"),
    ("photo.jpg", "w=64&auto=format", "", "JPEG"),
    ("photo.jpg", "w=64&auto=format", "image/avif;q=0, image/webp", "WEBP"),
    ("photo.jpg", "w=64&auto=format", "image/avif;q=0.0;x=1, IMAGE/WEBP;q=0.1", "WEBP"),
    ("photo.jpg", "w=64&auto=format&fm=png", BROWSER, "PNG"),
    ("through.png", "w=64&auto=format", "*/*", "PNG"),
    ("named-wrongly.png", "w=64", "", "JPEG"),
]


@pytest.mark.parametrize(("name", "query", "accept", "kind"), FORMATS)
def test_formats(site: PictureSite, name: str, query: str, accept: str, kind: str) -> None:
    if name == "photo.png":
        name = "few.png"
    assert site.picture(name, query, Accept=accept).format == kind
    varies = "auto" in query and "fm" not in query
    assert site.get(name, query, Accept=accept).headers.get("vary") == ("Accept" if varies else None)


AS_THEY_ARE = (
    "moving.gif",
    "moving.webp",
    "moving.png",
    "moving.avif",
    "drawn.svg",
    "favicon.ico",
    "cut.jpg",
    "huge.png",
)


@pytest.mark.parametrize("name", AS_THEY_ARE)
@pytest.mark.parametrize("query", ["w=64", "w=64&h=64&fit=crop&fm=webp", "auto=format"])
def test_what_has_no_form_goes_out_as_it_is(site: PictureSite, name: str, query: str) -> None:
    for _ in range(2):
        found = site.get(name, query, Accept=BROWSER)
        assert (found.status_code, found.content) == (200, every_kind()[name])
        assert found.headers["etag"] == site.get(name).headers["etag"]
        assert found.headers["content-type"] == site.get(name).headers["content-type"]
        assert found.headers.get("vary") == ("Accept" if "auto" in query else None)


def test_a_file_that_is_no_picture_has_no_forms(site: PictureSite) -> None:
    assert site.get("menu.pdf", "w=64&fm=png").content == every_kind()["menu.pdf"]


@pytest.mark.parametrize("name", ["turned.jpg", "turned.png", "turned.avif"])
def test_orientation_is_applied(site: PictureSite, name: str) -> None:
    picture = site.picture(name, "w=256&fm=png")
    assert picture.size == (256, 384)
    # Turned to the right, the lower left corner comes to the upper left.
    assert is_like(picture, (0, 0), (0, 0, 255))
    assert is_like(picture, (1, 0), (255, 0, 0))
    assert is_like(picture, (0, 1), (255, 255, 255))


def test_the_orientation_of_a_webp_counts_for_nothing_as_in_browsers(site: PictureSite) -> None:
    picture = site.picture("turned.webp", "w=384&fm=png")
    assert picture.size == (384, 256)
    assert is_like(picture, (0, 0), (255, 0, 0))


@pytest.mark.parametrize("fm", ["jpg", "png", "webp", "avif"])
def test_metadata_is_left_off(site: PictureSite, fm: str) -> None:
    for name in ("turned.jpg", "turned.png", "turned.webp", "profile.jpg"):
        picture = site.picture(name, f"w=256&fm={fm}")
        assert dict(picture.getexif()) == {}
        assert b"where it was taken" not in site.get(name, f"w=256&fm={fm}").content


@pytest.mark.parametrize(
    "name", ["photo.jpg", "progressive.jpg", "profile.jpg", "cmyk.jpg", "photo.webp", "photo.avif"]
)
@pytest.mark.parametrize("fm", ["jpg", "webp", "avif", "png"])
def test_colours_stay(site: PictureSite, name: str, fm: str) -> None:
    picture = site.picture(name, f"w=128&fm={fm}&q=90")
    corners = (((0, 0), (255, 0, 0)), ((1, 0), (0, 255, 0)), ((0, 1), (0, 0, 255)), ((1, 1), (255, 255, 255)))
    for at, colour in corners:
        assert is_like(picture, at, colour, 140 if name == "cmyk.jpg" else 45), (
            at,
            picture.convert("RGB").getpixel((0, 0)),
        )


def test_what_is_through_stays_so_and_is_white_where_the_format_cannot(site: PictureSite) -> None:
    from PIL import Image

    from tests.server.pictures.picture_site import encoded, keep_pictures

    clear = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    site.paths |= keep_pictures(site.store, {"clear.png": encoded(clear, "PNG")})
    assert site.picture("clear.png", "w=64").getpixel((5, 5)) == (0, 0, 0, 0)
    assert site.picture("clear.png", "w=64&fm=webp").convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]
    assert is_like(site.picture("clear.png", "w=64&fm=jpg"), (0.5, 0.5), (255, 255, 255), 5)


@pytest.mark.parametrize("name", ["grey.jpg", "deep.png", "few.png", "through.png"])
@pytest.mark.parametrize("fm", ["jpg", "png", "webp", "avif"])
def test_every_kind_of_pixels(site: PictureSite, name: str, fm: str) -> None:
    picture = site.picture(name, f"w=96&fm={fm}")
    assert picture.size == (96, 72)
    assert picture.mode in ("L", "LA", "RGB", "RGBA")
    assert is_like(picture, (1, 1), (255, 255, 255), 60)


@pytest.mark.parametrize(("name", "size"), [("tiny.png", (1, 1)), ("thin.png", (64, 1))])
def test_no_side_comes_to_nothing(site: PictureSite, name: str, size: tuple[int, int]) -> None:
    assert site.picture(name, "w=64&fm=webp").size == size


def test_a_crop_is_taken_from_the_middle(site: PictureSite) -> None:
    whole = site.picture("photo.jpg", "fm=png")
    cut = site.picture("photo.jpg", "w=640&h=128&fit=crop&fm=png")
    assert cut.size == (640, 128)
    middle: Any = whole.getpixel((500, 300))
    assert is_like(cut, (0.5, 0.5), middle, 12)
    above: Any = whole.getpixel((500, 200 + 2))
    assert is_like(cut, (0.5, 0), above, 12)


def test_quality_is_one_of_three(site: PictureSite) -> None:
    found = {q: len(site.get("photo.jpg", f"q={q}").content) for q in (1, 50, 51, 75, 76, 90, 100, 5000)}
    assert found[1] == found[50] < found[51] == found[75] < found[76] == found[90] == found[100] == found[5000]
    assert len(site.get("photo.jpg", "fm=jpg").content) == found[75]
    pngs = {site.get("few.png", f"w=64&q={q}").headers["etag"] for q in (1, 60, 90)}
    assert len(pngs) == 1


def test_the_headers_are_those_of_any_asset(site: PictureSite) -> None:
    whole, found = site.get("photo.jpg"), site.get("photo.jpg", "w=64&fm=webp")
    for name in ("cache-control", "access-control-allow-origin", "cross-origin-resource-policy", "accept-ranges"):
        assert found.headers[name] == whole.headers[name]
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "sandbox" in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["etag"] != whole.headers["etag"]
    assert int(found.headers["content-length"]) == len(found.content)


def test_what_a_client_has_is_not_sent_again(site: PictureSite) -> None:
    first = site.get("photo.jpg", "w=96&fm=webp")
    for named in (first.headers["etag"], f"W/{first.headers['etag']}", f'"x", {first.headers["etag"]}', "*"):
        again = site.get("photo.jpg", "w=96&fm=webp", If_None_Match=named)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = site.get("photo.jpg", "w=128&fm=webp", If_None_Match=first.headers["etag"])
    assert other.status_code == 200
    as_it_is = site.get("moving.gif", "w=64")
    again = site.get("moving.gif", "w=64", If_None_Match=as_it_is.headers["etag"])
    assert again.status_code == 304


def test_a_304_needs_no_picture(site: PictureSite) -> None:
    tag = site.get("photo.jpg", "w=48&fm=webp").headers["etag"]
    site.forget()
    assert site.get("photo.jpg", "w=48&fm=webp", If_None_Match=tag).status_code == 304
    assert site.kept == []


@pytest.mark.parametrize("fresh", [True, False], ids=["just made", "kept"])
def test_head_and_ranges(site: PictureSite, fresh: bool) -> None:
    if fresh:
        site.forget()
    head = site.get("photo.jpg", "w=256&fm=png", "HEAD")
    assert (head.status_code, head.content, head.headers["content-type"]) == (200, b"", "image/png")
    whole = site.get("photo.jpg", "w=256&fm=png").content
    assert int(head.headers["content-length"]) == len(whole)
    part = site.get("photo.jpg", "w=256&fm=png", Range="bytes=8-15")
    assert (part.status_code, part.content) == (206, whole[8:16])
    assert part.headers["content-range"] == f"bytes 8-15/{len(whole)}"
    assert site.get("photo.jpg", "w=256&fm=png", Range="bytes=99999999-").status_code == 416
    assert site.get("photo.jpg", "w=256&fm=png", Range="bytes=x").status_code == 400


def test_a_form_is_made_once_whatever_it_was_called(site: PictureSite) -> None:
    site.forget()
    queries = (
        "w=640&fm=webp",
        "w=500&fm=webp&q=60",
        "fm=webp&w=600&h=3840",
        "w=640&h=384&fm=webp&fit=clip",
        "w=640&auto=format",
    )
    tags = {site.get("photo.jpg", query, Accept=OLDER).headers["etag"] for query in queries}
    assert (len(tags), len(site.kept)) == (1, 1)


def test_a_picture_that_is_not_there_has_no_forms(site: PictureSite) -> None:
    site.get("few.png", "w=64")
    path = site.store.workspace("acme").assets / site.paths["few.png"].rpartition("/")[2]
    data = path.read_bytes()
    path.unlink()
    try:
        assert site.get("few.png", "w=64").status_code == 404
        assert site.get("few.png", "w=64", If_None_Match="*").status_code == 404
    finally:
        path.write_bytes(data)


def test_a_kept_form_is_the_one_that_was_made(site: PictureSite) -> None:
    site.forget()
    made, kept = (site.get("photo.jpg", "w=384&fm=webp") for _ in range(2))
    assert made.content == kept.content
    assert opened(made.content).size == (384, 230)
