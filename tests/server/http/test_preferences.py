"""``Prefer`` (RFC 7240): whether strict reading is asked for."""

from __future__ import annotations

import pytest

from server.http.preferences import is_strict


@pytest.mark.parametrize(
    ("header", "strict"),
    [
        (None, False),
        (b"", False),
        (b"handling=strict", True),
        (b"handling=lenient", False),
        (b"handling", False),
        (b"handling=", False),
        (b'handling=""', False),
        (b"strict", False),
        (b"handling=strictly", False),
        (b"handling:strict", False),
        (b"Handling=STRICT", True),
        (b'handling="strict"', True),
        (b'handling="st\\rict"', True),
        (b"handling = strict", True),
        (b"\thandling\t=\tstrict\t", True),
        (b"handling=strict; foo=bar", True),
        (b'handling=strict;foo="a, handling=lenient"', True),
        (b"respond-async, wait=100, handling=strict", True),
        (b"respond-async;handling=strict", False),
        (b'foo="a, handling=strict, b"', False),
        (b'foo="a\\", handling=strict, b"', False),
        (b'foo="a\\\\", handling=strict', True),
        (b'foo="a;b", handling=strict', True),
        (b'foo="never ends, handling=strict', False),
        (b'foo="\\', False),
        (b",,;,handling=strict", True),
        (b"handling=lenient, handling=strict", False),
        (b"handling=strict, handling=lenient", True),
        (b"handling, handling=strict", False),
        (b"\xff\xfe, handling=strict", True),
        (b"x," * 1100 + b"handling=strict", False),
    ],
)
def test_what_asks_for_it(header: bytes | None, strict: bool) -> None:
    assert is_strict(header) is strict


@pytest.mark.parametrize("text", ['"', '\\"', "\\", ";", ",", " ", '"\\', "a;"])
def test_no_header_takes_long(text: str) -> None:
    """A header of the greatest length that is read, of what is hard to take apart."""
    assert not is_strict((text * 2048)[:2048].encode())
