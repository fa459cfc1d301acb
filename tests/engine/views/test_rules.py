"""What counts as a page view: paths, days, origins, addresses, bots and bodies, each against the written rule."""

from __future__ import annotations

import json
import timeit
import tracemalloc
import unicodedata
from datetime import date, datetime, timedelta, timezone
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.views.collecting.addresses import TrustedProxies
from engine.views.collecting.bots import LONGEST, _listed, is_bot, read_list
from engine.views.collecting.origins import Domains, origin_host
from engine.views.collecting.rules import ViewRules
from engine.views.collecting.targets import Kind, day_number, day_of, jst_day, path_key
from snapshots.model import ViewSettings, Workspace
from tests.generated.any_text import CHARACTERS

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
JST = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/", "/"),
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/a//", "/a/"),
        ("//", "/"),
        ("/a?b=/c", "/a"),
        ("/a/?b", "/a"),
        ("/a#b?c", "/a"),
        ("/?a", "/"),
        ("/%E3%81%82", "/あ"),
        ("/あ", "/あ"),
        ("/e\u0301", "/é"),
        ("/e%CC%81", "/é"),
        ("/a%20b", "/a b"),
        ("/a+b", "/a+b"),
        ("/a%2Fb", "/a/b"),
        ("/a%3Fb", "/a?b"),
        ("/100%2525", "/100%25"),
        ("/50%", "/50%"),
        ("/" + "x" * 1023, "/" + "x" * 1023),
        ("/" + "x" * 1024, None),
        ("/" + "%E3%81%82" * 1023, "/" + "あ" * 1023),
        ("/%FF", None),
        ("/%C3%28", None),
        ("/%ED%A0%80", None),
        ("/\ud800", None),
        ("/a%0Ab", None),
        ("/a\x7f", None),
        ("/a\x85b", None),
        ("", None),
        ("?a", None),
        ("a", None),
        ("https://www.acme.example/a", None),
    ],
)
def test_paths(path: str, key: str | None) -> None:
    assert path_key(path) == key


printable = st.characters(exclude_categories=["Cs", "Cc"])


@given(st.text(printable, max_size=40), st.text(printable, max_size=10))
def test_a_path_has_one_key_however_it_is_written(text: str, query: str) -> None:
    path = "/" + text.replace("%", "").replace("?", "").replace("#", "")
    key = path_key(path)
    assert key is not None
    assert key == path_key(quote(path)) == path_key(quote(path, safe="")) == path_key(f"{path}?{query}")
    assert key == path_key(unicodedata.normalize("NFD", path)) == path_key(f"{path}#{query}")
    assert key in (path_key(path + "/"), path_key((path + "/").removesuffix("/")))
    assert key.startswith("/")
    assert unicodedata.is_normalized("NFC", key)


@given(st.text(CHARACTERS, max_size=60))
def test_any_text_is_a_key_or_malformed(text: str) -> None:
    key = path_key(text)
    if key is None:
        return
    assert key.startswith("/")
    assert len(key) <= 1024
    assert not any(unicodedata.category(c) == "Cc" for c in key)
    before = unicodedata.normalize("NFC", unquote(text.partition("?")[0].partition("#")[0], errors="strict"))
    assert key in (before, before.removesuffix("/"))


@given(st.integers(86_400, 5_000_000_000))
def test_days_are_those_of_japan(seconds: int) -> None:
    moment = datetime.fromtimestamp(seconds, JST)
    day = jst_day(int(moment.timestamp() * 1000))
    assert day_of(day) == moment.date()
    assert day_number(moment.date()) == day


@pytest.mark.parametrize(
    ("moment", "day"),
    [("2026-11-20T14:59:59.999+00:00", "2026-11-20"), ("2026-11-20T15:00:00.000+00:00", "2026-11-21")],
)
def test_a_day_begins_at_midnight_in_japan(moment: str, day: str) -> None:
    assert day_of(jst_day(round(datetime.fromisoformat(moment).timestamp() * 1000))) == date.fromisoformat(day)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://www.acme.example", "www.acme.example"),
        ("http://WWW.Acme.Example:8080", "www.acme.example"),
        ("https://[2001:db8::1]:443", "[2001:db8::1]"),
        ("null", None),
        ("https://www.acme.example/", None),
        ("https://user@www.acme.example", None),
        ("ftp://www.acme.example", None),
        ("file://", None),
        ("http://localhost:3000", None),
        ("http://app.localhost", None),
        ("http://127.0.0.1", None),
        ("http://127.1.2.3:80", None),
        ("http://[::1]", None),
        ("http://[::ffff:127.0.0.1]", None),
    ],
)
def test_origins(origin: str, host: str | None) -> None:
    assert origin_host(origin) == host


@pytest.mark.parametrize(
    ("host", "registered"),
    [
        ("acme.example", True),
        ("www.acme.example", False),
        ("b.example", False),
        ("a.b.example", True),
        ("x.y.b.example", True),
        ("ab.example", False),
        ("acme.example.evil", False),
    ],
)
def test_domains(host: str, registered: bool) -> None:
    assert Domains(["Acme.example", "*.B.example"]).has(host) is registered


@pytest.mark.parametrize(
    ("peer", "forwarded", "visitor"),
    [
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.2.3.4", "198.51.100.1"),
        ("10.0.0.1", "10.9.9.9, 10.8.8.8", "10.9.9.9"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2", "10.0.0.2"),
        ("::ffff:203.0.113.9", None, "203.0.113.9"),
        ("10.0.0.1", ",".join(["198.51.100.1", *["10.0.0.2"] * 31]), "198.51.100.1"),
        ("10.0.0.1", ",".join(["198.51.100.1", *["10.0.0.2"] * 10_000]), "10.0.0.2"),
    ],
)
def test_the_client_behind_trusted_proxies(peer: str, forwarded: str | None, visitor: str) -> None:
    expected = bytes(map(int, visitor.split(".")))
    assert TrustedProxies(["10.0.0.0/8", "192.0.2.1"]).visitor(peer, forwarded) == expected


def test_ipv6_visitors_are_told_apart_by_their_64() -> None:
    proxies = TrustedProxies(["2001:db8:ffff::/48"])
    one = proxies.visitor("2001:db8:0:1::1", None)
    assert one == proxies.visitor("2001:db8:0:1:ffff::2", None)
    assert one == proxies.visitor("2001:db8:ffff::1", "[2001:db8:0:1::3]:443")
    assert one != proxies.visitor("2001:db8:0:2::1", None)
    assert proxies.visitor(None, "1.2.3.4") == b""


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'10\.0\.0' is neither an address nor a CIDR block"):
        TrustedProxies(["10.0.0"])


@pytest.mark.parametrize(
    "user_agent",
    [
        "",
        " ",
        "x" * 1025,
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/130.0.0.0 Safari/537.36",
        "curl/8.5.0",
        "python-requests/2.32.0",
        "Java/17.0.2",
        "undici",
        "node",
        "Go-http-client/1.1",
    ],
)
def test_bots(user_agent: str) -> None:
    assert is_bot(user_agent.encode())


@pytest.mark.parametrize(
    "user_agent",
    [
        CHROME,
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 "
        "Safari/605.1.15",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 "
        "Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0",
        "Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 "
        "Chrome/121.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 "
        "Safari/537.36 Edg/130.0.0.0",
        "Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.18",
    ],
)
def test_people(user_agent: str) -> None:
    assert not is_bot(user_agent.encode())


def test_everything_on_the_list_is_a_bot_and_nothing_else() -> None:
    """Texts are looked for all at once; the package that brings the list takes one expression after the other."""
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA, is_crawler

    alone = [crawler["pattern"].replace("\\", "") for crawler in CRAWLER_USER_AGENTS_DATA]
    listed = [sent for crawler in CRAWLER_USER_AGENTS_DATA for sent in crawler["instances"]]
    for text in [*alone, *listed]:
        for sent in (text, f"Mozilla/5.0 {text}", text[1:], text[:-1]):
            assert _listed().match(sent) == is_crawler(sent), sent


@pytest.mark.parametrize("begin", ["a", "S", "Goo", "Sit", "Spider", "Current", "ContextualBot", "Mozilla/5.0 ("])
def test_no_user_agent_takes_long(begin: str) -> None:
    sent = (begin * LONGEST)[:LONGEST]
    read_list()
    assert min(timeit.repeat(lambda: _listed().match(sent), number=1, repeat=5)) < 0.01


RULES = ViewRules(Workspace("acme", "Acme", ("en",), domains=("acme.example",), views=ViewSettings(5, 7)))


def reported(
    body: bytes = b'{"path": "/a"}',
    content_type: bytes | None = b"text/plain",
    origin: bytes | None = None,
    **more: bytes,
) -> tuple[str, str] | None:
    sent = origin if origin is not None else b"https://acme.example"
    found = RULES.reported(content_type, sent, more.get("user_agent", CHROME.encode()), body)
    return found and (found.kind, found.key)


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ({"path": "/a/"}, (Kind.PATH, "/a")),
        ({"path": "/a", "entryId": "one"}, (Kind.ENTRY, "one")),
        ({"path": "/a", "entryId": None}, (Kind.PATH, "/a")),
        ({"path": "a", "entryId": "one"}, None),
        ({"path": "/%ff", "entryId": "one"}, None),
        ({"path": "/a", "more": [1]}, (Kind.PATH, "/a")),
        ({"entryId": "one"}, None),
        ({"path": None, "entryId": "one"}, None),
        ({"path": 1}, None),
        ({"path": "a"}, None),
        ({"path": "/a", "entryId": ""}, None),
        ({"path": "/a", "entryId": "no id"}, None),
        ({"path": "/a", "entryId": 7}, None),
        ({"path": "/a", "entryId": "x" * 65}, None),
        (["/a"], None),
        ("/a", None),
        (None, None),
    ],
)
def test_bodies(body: object, target: tuple[Kind, str] | None) -> None:
    assert reported(json.dumps(body).encode()) == target


def test_the_largest_body() -> None:
    body = b'{"path": "/a"}'
    assert reported(body + b" " * (8192 - len(body))) is not None
    assert reported(body + b" " * (8193 - len(body))) is None
    assert reported(b"") is None
    assert reported(b"\xff\xfe") is None
    assert reported(b'{"path": "/\xff"}') is None


def test_no_header_is_remembered_at_any_length() -> None:
    long = "x" * 60_000
    tracemalloc.start()
    try:
        for number in range(5_000):
            told = f"{number}{long}".encode()
            reported(content_type=b"text/plain;" + told)
            reported(origin=b"https://" + told)
            reported(user_agent=told)
            is_bot(told)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1 << 20


def test_headers() -> None:
    assert reported(content_type=b"text/plain;charset=UTF-8") is not None
    assert reported(content_type=b"Text/Plain ; charset=utf-8") is not None
    assert reported(content_type=b"application/json") is None
    assert reported(content_type=None) is None
    assert reported(origin=b"https://other.example") is None
    assert reported(origin=b"") is None
    assert reported(user_agent=b"") is None
    assert reported(user_agent=b"x" * 1025) is None
    assert reported(origin=b"https://" + b"x" * 300) is None
    assert reported(user_agent=b"\xff\xfe") is not None
    assert (RULES.limits.dedupe_seconds, RULES.limits.per_address_per_minute) == (300, 7)
