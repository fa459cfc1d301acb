"""Assets over HTTP: whole and in ranges, kept for ever, of the right type, and never as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from server.settings import Settings
from snapshots.build.build import build
from snapshots.store.store import Store, open_store
from tests.sites.quiet_app import quiet_app

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"><script>alert(1)</script></svg>'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    place = tmp_path_factory.mktemp("site")
    files = {
        "workspace.yaml": "id: acme\nlanguages: [en]\n",
        "apis/pages.yaml": "uid: p\nendpoint: pages\nkind: list\nfields: [{id: body, type: richtext}]\n",
        "content/pages/a.md": "---\ncreatedAt: 2026-01-02\n---\n![x](x.svg) [y](y.pdf)\n",
        "content/pages/x.svg": SVG.decode(),
        "content/pages/y.pdf": "0123456789" * 1000,
    }
    for name, text in files.items():
        path = place / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    store = open_store(place / "store")
    build(place / "site", store, now=1_780_000_000_000)
    return store


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(quiet_app(Settings(store=str(store.root)))) as client:
        yield client


def name(store: Store, extension: str) -> str:
    return next(path.name for path in store.workspace("acme").assets.glob(f"*.{extension}"))


def test_a_file_is_delivered_whole_to_anyone_and_kept_for_ever(client: TestClient, store: Store) -> None:
    found = client.get(f"/assets/acme/{name(store, 'svg')}")
    assert (found.status_code, found.content) == (200, SVG)
    assert found.headers["content-type"] == "image/svg+xml"
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in found.headers["content-security-policy"]
    assert found.headers["access-control-allow-origin"] == "*"
    again = client.get(f"/assets/acme/{name(store, 'svg')}", headers={"If-None-Match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == found.headers["etag"]
    head = client.head(f"/assets/acme/{name(store, 'pdf')}")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "10000", b"")
    assert head.headers["content-type"] == "application/pdf"


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [("bytes=0-3", 206, b"0123"), ("bytes=9998-", 206, b"89"), ("bytes=-3", 206, b"789")],
)
def test_ranges(client: TestClient, store: Store, asked: str, status: int, content: bytes | None) -> None:
    found = client.get(f"/assets/acme/{name(store, 'pdf')}", headers={"Range": asked})
    assert (found.status_code, found.content) == (status, content)
    assert re.fullmatch(r"bytes [0-9]+-[0-9]+/10000", found.headers["content-range"])


@pytest.mark.parametrize("asked", ["lines=0-3", "x-words=1"])
def test_a_range_in_another_unit_is_ignored(client: TestClient, store: Store, asked: str) -> None:
    found = client.get(f"/assets/acme/{name(store, 'pdf')}", headers={"Range": asked})
    assert (found.status_code, len(found.content)) == (200, 10000)


@pytest.mark.parametrize("any_of", ["*", '"other", *', '"other"'])
def test_any_copy_is_as_good(client: TestClient, store: Store, any_of: str) -> None:
    found = client.get(f"/assets/acme/{name(store, 'svg')}", headers={"If-None-Match": any_of})
    assert found.status_code == (304 if any_of == "*" else 200)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("asked", ["bytes=5-4", "bytes=", "x"])
def test_a_range_that_is_none_is_told(client: TestClient, store: Store, asked: str, method: str) -> None:
    found = client.request(method, f"/assets/acme/{name(store, 'pdf')}", headers={"Range": asked})
    assert found.status_code == 400
    assert found.headers["content-type"] == "application/json"
    if method == "GET":
        assert found.json() == {
            "message": "The Range header is not valid. Write it like bytes=0-499, bytes=500- or bytes=-500."
        }


def test_a_range_behind_the_end_is_told_with_the_size(client: TestClient, store: Store) -> None:
    found = client.get(f"/assets/acme/{name(store, 'pdf')}", headers={"Range": "bytes=10000-"})
    assert (found.status_code, found.headers["content-range"]) == (416, "bytes */10000")
    assert found.json() == {"message": "The file has 10000 bytes, and the Range begins after its end."}
    assert "immutable" not in found.headers.get("cache-control", "")


def test_nothing_else_is_there(client: TestClient, store: Store) -> None:
    (Path(store.workspace("acme").assets) / ("0" * 32 + ".html")).write_text("page")
    (Path(store.workspace("acme").assets) / (".x." + "0" * 32 + ".png.tmp")).write_text("half")
    real = name(store, "svg")
    for path in (
        "acme/" + "0" * 32 + ".html", "acme/.x." + "0" * 32 + ".png.tmp", "acme/" + "0" * 32 + ".png", "acme/x.svg",
        "acme/", "acme", f"acme/{real}/", f"other/{real}", f"..%2Facme/{real}",
        f"acme/..%2F..%2Facme%2Fassets%2F{real}",
        "acme/%00.png",
        f"acme/{real.upper()}", "acme/..%2Fcurrent", f"ACME/{real}",
    ):  # fmt: skip
        found = client.get(f"/assets/{path}")
        assert (path, found.status_code) == (path, 404)
        assert list(found.json()) == ["message"]
    assert client.post(f"/assets/acme/{real}").status_code == 405
