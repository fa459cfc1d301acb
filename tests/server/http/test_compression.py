"""Compressed answers: what a client takes, what it gets, and that it is the same answer."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import zstandard
from starlette.testclient import TestClient

from server.http.compression import SMALLEST, coding_for, compressed
from server.settings import Settings
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

DECODE: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.decompress,
    "br": lambda body: bytes(brotli.decompress(body)),
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, "identity"),
        (b"", "identity"),
        (b"gzip", "gzip"),
        (b"GZip", "gzip"),
        (b"x-gzip", "gzip"),
        (b"deflate", "identity"),
        (b"gzip, deflate, br, zstd", "zstd"),
        (b"gzip;q=0.8, br;q=1.0, zstd;q=0.7", "br"),
        (b"gzip ; q=0.5 ,\tbr;q=0.4", "gzip"),
        (b"gzip;q=0", "identity"),
        (b"gzip;q=0.000, br", "br"),
        (b"*", "zstd"),
        (b"*, zstd;q=0", "br"),
        (b"*;q=0.3, gzip", "gzip"),
        (b"*;q=0", "identity"),
        (b"identity, gzip;q=0.5", "identity"),
        (b"identity;q=0.5, gzip;q=0.5", "gzip"),
        (b"identity;q=0, br", "br"),
        (b"identity;q=0", "identity"),
        (b"gzip;q=2", "identity"),
        (b"gzip;q=nan, br;q=0.001", "br"),
        (b"gzip;q=-1", "identity"),
        (b"gzip;level=9", "gzip"),
        (b",,;,gzip", "gzip"),
        (b"\xff\xfe, gzip", "gzip"),
        (b"gzip," * 200, "identity"),
    ],
)
def test_what_a_client_takes(accepted: bytes | None, coding: str) -> None:
    assert coding_for(accepted, SMALLEST) == coding


def test_small_bodies_are_left_alone_unless_they_must_not_be() -> None:
    assert coding_for(b"gzip", SMALLEST - 1) == "identity"
    assert coding_for(b"gzip, identity;q=0", SMALLEST - 1) == "gzip"
    assert coding_for(b"gzip, *;q=0", SMALLEST - 1) == "gzip"
    assert coding_for(b"gzip, identity;q=none, *;q=-1", SMALLEST - 1) == "identity"


@pytest.mark.parametrize("coding", DECODE)
def test_every_coding_can_be_read_back(coding: str) -> None:
    body = b"words and more words " * 500
    assert DECODE[coding](compressed(coding, body)) == body


def test_every_answer_is_the_same_in_every_coding(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("a long title " * 100)
    _, key = site.key()
    with TestClient(quiet_app(Settings(store=str(site.store.root)))) as client:
        eventually(lambda: client.get("/v1/acme/_schema", headers={"X-API-KEY": key}).status_code == 200)
        plain = client.get("/v1/acme/posts", headers={"X-API-KEY": key, "Accept-Encoding": "identity"})
        for _ in range(2):
            for coding, decode in DECODE.items():
                sent = {"X-API-KEY": key, "Accept-Encoding": coding}
                with client.stream("GET", "/v1/acme/posts", headers=sent) as answer:
                    body = b"".join(answer.iter_raw())
                assert decode(body) == plain.content
                assert answer.headers.get("content-encoding", "identity") == coding
                assert answer.headers["content-length"] == str(len(body))
                assert answer.headers.get_list("vary") == ["Accept-Encoding"]
                head = client.head("/v1/acme/posts", headers=sent)
                for name in ("content-length", "content-encoding", "vary", "content-type", "x-snapshot"):
                    assert head.headers.get(name) == answer.headers.get(name), name
                assert head.content == b""
        small = client.get("/v1/acme/posts?fields=id", headers={"X-API-KEY": key, "Accept-Encoding": "gzip"})
        assert "content-encoding" not in small.headers
        assert small.headers["vary"] == "Accept-Encoding"
