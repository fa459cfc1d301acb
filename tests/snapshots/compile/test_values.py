"""Values: what each field type accepts, what comes out, and what the messages say."""

from __future__ import annotations

import json
import math
import unicodedata
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snapshots.compile.fields import field_compiler
from snapshots.compile.richtext import RichText
from snapshots.compile.values import (
    MAX_INTEGER,
    Compiled,
    InvalidValue,
    normalise_search,
)
from snapshots.documents.document import Markdown, Plain, RawValue, is_null
from snapshots.ids import slug_id, valid_id
from snapshots.model import ALWAYS, NEVER, Field, FieldType
from snapshots.times import format_datetime
from tests.generated.any_text import CHARACTERS

TOKYO = ZoneInfo("Asia/Tokyo")
NOTHING = (None, None, None)
ARRAYS = {FieldType.MULTIPLE_SELECT, FieldType.REFERENCES, FieldType.IMAGES, FieldType.GROUPS}
BERRY = {"url": "/berry.jpg", "width": None, "height": None, "alt": None}


def compiled(kind: str, raw: RawValue, *, options: tuple[str, ...] | None = None, normalise: bool = False) -> Compiled:
    field = Field("f", "F", FieldType(kind), options=options, target="api_made")
    return field_compiler(field, TOKYO, RichText(), {"api_made": {}} if normalise else {})(raw)


def same(value: Any) -> Compiled:
    return value, value, None


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("text", "Rye", ("Rye", "Rye", "rye")),
        ("text", Plain("1.10"), ("1.10", "1.10", "1.10")),
        ("text", Plain("0123"), ("0123", "0123", "0123")),
        ("text", Plain("on"), ("on", "on", "on")),
        ("text", Plain("2026-11-01"), ("2026-11-01", "2026-11-01", "2026-11-01")),
        ("text", "null", ("null", "null", "null")),
        ("text", "", ("", "", "")),
        ("text", " <b>  A\n", (" <b>  A\n", " <b>  A\n", " <b>  a\n")),
        ("textarea", "a\r\nÉ", ("a\r\nÉ", "a\r\nÉ", "a\r\né")),
        ("text", "E\u0301", ("E\u0301", "E\u0301", "é")),
        ("text", Markdown("*a*"), ("*a*", "*a*", "*a*")),
        ("richtext", "<p>A <b>b</b></p><p>c</p>", ("<p>A <b>b</b></p><p>c</p>",) * 2 + ("a b c",)),
        ("richtext", Plain("1 < 2"), ("1 &lt; 2", "1 &lt; 2", "1 < 2")),
        ("richtext", Markdown("# A\n*b*"), ('<h1 id="user-content-a">A</h1>\n<p><em>b</em></p>\n',) * 2 + ("a b",)),
        ("richtext", "*b*", ("*b*", "*b*", "*b*")),
        ("richtext", Markdown(" \n"), NOTHING),
        ("number", 5, (5.0, 5, None)),
        ("number", 5.0, (5.0, 5, None)),
        ("number", -0.0, (0.0, 0, None)),
        ("number", Plain("-0"), (0.0, 0, None)),
        ("number", Plain("5.0"), (5.0, 5, None)),
        ("number", Plain("1e3"), (1000.0, 1000, None)),
        ("number", Plain("-12.50"), (-12.5, -12.5, None)),
        ("number", Plain("1E-2"), (0.01, 0.01, None)),
        ("number", MAX_INTEGER, (float(MAX_INTEGER), MAX_INTEGER, None)),
        ("number", Plain("-9007199254740992"), (-float(MAX_INTEGER), -MAX_INTEGER, None)),
        ("datetime", "2026-11-01", (1_793_458_800_000, "2026-10-31T15:00:00.000Z", None)),
        ("datetime", Plain("2026-11-01 12:00Z"), (1_793_534_400_000, "2026-11-01T12:00:00.000Z", None)),
        ("boolean", True, same(True)),
        ("boolean", Plain("false"), same(False)),
        ("boolean", Plain("TRUE"), same(True)),
        ("single_select", "any", same("any")),
        ("single_select", Plain("5"), same("5")),
        ("multiple_select", ["b", Plain("a"), "b"], same(["b", "a", "b"])),
        ("multiple_select", "a", same(["a"])),
        ("multiple_select", [], same([])),
        ("reference", Plain("Mika_01-x"), same("Mika_01-x")),
        ("references", ["b", Plain("007")], same(["b", "007"])),
        ("references", "b", same(["b"])),
        ("image", "/berry.jpg", same(BERRY)),
        ("image", Plain("https://img.example/a b.jpg"), same(BERRY | {"url": "https://img.example/a b.jpg"})),
        ("image", {"url": "/berry.jpg"}, same(BERRY)),
        (
            "image",
            {"alt": "", "height": Plain("200"), "width": 300.0, "url": "/berry.jpg"},
            same(BERRY | {"width": 300, "height": 200, "alt": ""}),
        ),
        ("image", {"url": "/berry.jpg", "width": Plain("~"), "alt": None}, same(BERRY)),
        ("images", ["/berry.jpg", {"url": "/berry.jpg", "alt": "b"}], same([BERRY, BERRY | {"alt": "b"}])),
        ("images", "/berry.jpg", same([BERRY])),
        ("images", {"url": "/berry.jpg"}, same([BERRY])),
        ("images", [], same([])),
        ("file", "/menu.pdf", same({"url": "/menu.pdf", "fileSize": None})),
        ("file", {"fileSize": Plain("0"), "url": "/menu.pdf"}, same({"url": "/menu.pdf", "fileSize": 0})),
        ("json", [Plain("1e2"), 5.0, Plain("0x1F"), "5"], ('[100,5,"0x1F","5"]', [100, 5, "0x1F", "5"], None)),
        (
            "json",
            {"a": Plain("~"), "": Plain("yes"), "b": {"c": Plain("True")}},
            ('{"a":null,"":"yes","b":{"c":true}}', {"a": None, "": "yes", "b": {"c": True}}, None),
        ),
        ("json", [], ("[]", [], None)),
        ("json", "", ('""', "", None)),
        ("json", False, ("false", False, None)),
    ],
)
def test_accepted(kind: str, raw: RawValue, expected: Compiled) -> None:
    found = compiled(kind, raw)
    assert found == expected
    # 5 == 5.0 == True in Python, and a subclass of str is no str to every encoder
    assert [type(part) for part in found] == [type(part) for part in expected]
    for part in found:
        for item in part if isinstance(part, list) else [part]:
            assert type(item) in {type(None), str, float, int, bool, dict}


@pytest.mark.parametrize("raw", [None, Plain(""), Plain("~"), Plain("null"), Plain("Null"), Plain("NULL")])
@pytest.mark.parametrize("kind", list(FieldType))
def test_no_value(kind: FieldType, raw: RawValue) -> None:
    empty: Compiled = ([], [], None) if kind in ARRAYS else NOTHING
    assert is_null(raw)
    assert compiled(kind, raw) == empty


@pytest.mark.parametrize("raw", ["", "null", "~", Plain("nULL"), Plain("none"), False, 0, [], {}, Markdown("a")])
def test_values_that_are_not_null(raw: RawValue) -> None:
    assert not is_null(raw)


def test_an_empty_list_is_not_shared() -> None:
    compile_tags = field_compiler(Field("f", "F", FieldType.MULTIPLE_SELECT), UTC, RichText(), {})
    assert compile_tags(None)[0] is not compile_tags(None)[0]


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        ("text", 5, "expected text, got the number 5; put it in quotes"),
        ("text", True, "expected text, got true; put it in quotes"),
        ("text", ["a"], 'expected text, got a list of 1; write "a" without the list'),
        ("text", ["a", "b"], "expected text, got a list of 2"),
        ("text", {"en": "a", "ja": "b"}, "expected text, got a mapping (en, ja)"),
        ("textarea", "a\0b", "a NUL character at character 2: remove it"),
        (
            "text",
            "é\ud800",
            "half of a surrogate pair (U+D800) at character 2: remove it, or write the whole character",
        ),
        ("richtext", 5, "expected HTML text, got the number 5; put it in quotes"),
        ("richtext", "a\0", "a NUL character at character 2: remove it"),
        (
            "richtext",
            "<p>\ud800",
            "half of a surrogate pair (U+D800) at character 4: remove it, or write the whole character",
        ),
        ("richtext", "<ul>" * 9000, "more than 500 HTML elements are open at once: close elements such as <ul>"),
        ("number", "5", 'expected a number, got the text "5"; remove the quotes'),
        ("number", "abc", 'expected a number, got the text "abc"; write it like 3 or 3.5'),
        ("number", Plain("abc"), 'expected a number, got "abc"; write it like 3, -0.5 or 1e3'),
        ("number", True, "expected a number, got true; write it like 3 or 3.5"),
        ("number", [1], "expected a number, got a list of 1; write it like 3 or 3.5"),
        ("datetime", 2026, None),
        ("datetime", "soon", None),
        ("boolean", Plain("yes"), 'expected true or false, got "yes"; write true'),
        ("boolean", Plain("Off"), 'expected true or false, got "Off"; write false'),
        ("boolean", "true", 'expected true or false, got the text "true"; remove the quotes'),
        ("boolean", 1, "expected true or false, got the number 1; write true or false"),
        ("boolean", 0.0, "expected true or false, got the number 0.0; write true or false"),
        ("single_select", ["a"], 'expected one option, got a list of 1; write "a" without the list'),
        ("single_select", "a\0", "a NUL character at character 2: remove it"),
        ("multiple_select", ["a", 5], "expected a list of options, got the number 5 as item 2"),
        ("multiple_select", {"a": 1}, "expected a list of options, got a mapping (a)"),
        ("multiple_select", 5, "expected a list of options, got the number 5; put it in quotes"),
        ("reference", "William Turkel", None),
        ("reference", "a" * 65, None),
        ("reference", "a\n", r"'a\n' is not an entry ID: 1 to 64 characters of A-Z a-z 0-9 _ - are allowed"),
        ("reference", 5, "expected one entry ID, got the number 5; put it in quotes"),
        ("reference", ["a", "b"], "expected one entry ID, got a list of 2"),
        ("references", ["a", "é b"], '"é b" is not an entry ID: 1 to 64 characters of A-Z a-z 0-9 _ - are allowed'),
        ("references", ["a", ["b"]], "expected a list of entry IDs, got a list of 1 as item 2"),
        ("images", ["/a.jpg", ["/b.jpg"]], "expected an image's URL or {url, width, height, alt}, got a list of 1"),
        (
            "file",
            {"url": "/a.pdf", "fileSize": -1},
            "the file's fileSize: expected a whole number of bytes, 0 or more, got -1",
        ),
        ("file", {"url": "/a.pdf", "size": 1}, 'a file has no "size"; allowed are "url", "fileSize"'),
        ("json", {"a": [2**53 + 1]}, None),
        ("json", {"a": float("inf")}, None),
        ("json", {"a\0": 1}, "a NUL character at character 2: remove it"),
        ("json", ["\ud800"], None),
        ("image", " /a.jpg", None),
        ("image", "/a\n.jpg", None),
        ("image", 5, "expected an image's URL or {url, width, height, alt}, got the number 5"),
        ("image", ["/a.jpg"], "expected an image's URL or {url, width, height, alt}, got a list of 1"),
        ("image", {"alt": "a"}, "an image needs a url"),
        ("image", {"url": "", "alt": "a"}, "an image needs a url"),
        ("image", {"url": "/a", "widht": 5}, 'an image has no "widht"; did you mean "width"?'),
        (
            "image",
            {"url": "/a", "zzz": 5},
            'an image has no "zzz"; allowed are "url", "width", "height", "alt"',
        ),
        (
            "image",
            {"url": "/a", "width": "5"},
            'the image\'s width: expected a number, got the text "5"; remove the quotes',
        ),
        (
            "image",
            {"url": "/a", "height": 0.5},
            "the image's height: expected a whole number of pixels, 1 or more, got 0.5",
        ),
        (
            "image",
            {"url": "/a", "height": 0},
            "the image's height: expected a whole number of pixels, 1 or more, got 0",
        ),
        ("image", {"url": "/a", "alt": 5}, "expected text as the image's alt, got the number 5; put it in quotes"),
        ("image", {"url": "/a", "alt": "\0"}, "a NUL character at character 1: remove it"),
    ],
)
def test_refused(kind: str, raw: RawValue, message: str | None) -> None:
    with pytest.raises(InvalidValue) as error:
        compiled(kind, raw)
    found = str(error.value)
    assert message is None or found == message
    assert found.encode()
    assert found.isprintable()
    assert len(found) < 300


@pytest.mark.parametrize(
    "raw",
    [
        "+1", "01", ".5", "5.", "1_000", "0x1F", "0o7", "1,5", "1 000", " 1", "NaN", "nan", ".inf", "-.inf", "Infinity",
        "1e999", "9007199254740993", "1e300", "-1e16", "9" * 5000, "1." + "0" * 5000, "٣", "1e", "--1", " ",
    ],
)  # fmt: skip
def test_refused_numbers(raw: str) -> None:
    for form in (raw, Plain(raw) if raw else "x"):
        with pytest.raises(InvalidValue) as error:
            compiled("number", form)
        assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "raw",
    [
        math.inf,
        -math.inf,
        math.nan,
        1e300,
        2**53 + 1,
        pytest.param(-(10**400), id="400 digits"),
        pytest.param(10**5000, id="5000 digits"),
    ],
)
def test_refused_json_numbers(raw: float) -> None:
    with pytest.raises(InvalidValue) as error:
        compiled("number", raw)
    assert len(str(error.value)) < 300
    with pytest.raises(InvalidValue) as error:
        compiled("text", raw)
    assert len(str(error.value)) < 300


def test_options() -> None:
    options = ("bread", "cake")
    assert compiled("single_select", Plain("cake"), options=options) == same("cake")
    assert compiled("multiple_select", ["cake", "bread"], options=options) == same(["cake", "bread"])
    wrong: list[tuple[str, RawValue]] = [("single_select", "cakes"), ("multiple_select", ["bread", "cakes"])]
    for kind, raw in wrong:
        with pytest.raises(InvalidValue, match=r'"cakes" is not an option; did you mean "cake"\?'):
            compiled(kind, raw, options=options)
    with pytest.raises(InvalidValue, match=r'"Z" is not an option; allowed are "bread", "cake"$'):
        compiled("single_select", "Z", options=options)
    many = tuple(f"option{n}" for n in range(30))
    with pytest.raises(InvalidValue, match=r'"option9" and 20 more$'):
        compiled("single_select", "Z", options=many)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("William J. Turkel", "William-J--Turkel"),
        ("mkfs.ext4", "mkfs-ext4"),
        ("日本", "0c878e35b59d"),
        ("ok_1-x", "ok_1-x"),
    ],
)
def test_references_to_entries_with_made_ids(raw: str, expected: str) -> None:
    assert compiled("reference", raw, normalise=True) == same(expected)
    assert compiled("references", [Plain(raw), raw], normalise=True) == same([expected, expected])
    assert slug_id(raw) == expected


def test_an_empty_text_gives_no_id() -> None:
    assert compiled("reference", "", normalise=True) == (None, None, None)


def test_a_long_text_gives_a_short_id_of_its_own() -> None:
    one, other, third = (slug_id("a/" * 40 + end) for end in ("x y", "x-y", "b" * 10_000))
    assert len({one, other, third}) == 3
    assert all(len(made) == 64 and valid_id(made) and made.startswith("a-a-a-") for made in (one, other, third))
    assert one == slug_id("a/" * 40 + "x y")
    assert slug_id("a" * 64) == "a" * 64
    assert compiled("reference", "a/" * 40 + "x y", normalise=True)[0] == one


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", True), ("A-z_0", True), ("a" * 64, True), ("", False), ("a" * 65, False), ("a b", False), ("é", False),
     ("a\n", False), ("١", False)],
)  # fmt: skip
def test_valid_id(text: str, expected: bool) -> None:
    assert valid_id(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ABC", "abc"), ("E\u0301", "é"), ("ÄÖ", "äö"), ("ΟΔΟΣ", "οδος"), ("ＡＢ", "ａｂ"), ("İ", "i̇")],
)
def test_normalise_search(text: str, expected: str) -> None:
    assert normalise_search(text) == expected


def significant_digits(number: str) -> str:
    return number.lower().partition("e")[0].replace(".", "").strip("-0")


@given(st.floats(-MAX_INTEGER, MAX_INTEGER) | st.integers(-MAX_INTEGER, MAX_INTEGER))
@example(0.1 + 0.2)
@example(5e-324)
@example(-1e-7)
def test_numbers_come_out_canonical_and_equal(number: float) -> None:
    typed, out, search = compiled("number", number)
    text = msgspec.json.encode(out).decode()
    assert typed == number == json.loads(text)
    assert type(typed) is float
    assert search is None
    if typed.is_integer():
        assert text == str(int(number))
    else:
        assert significant_digits(text) == significant_digits(repr(typed))
    assert compiled("number", Plain(json.dumps(number))) == (typed, out, search)


@given(st.integers(ALWAYS, NEVER))
def test_datetimes_round_trip(ms: int) -> None:
    assert compiled("datetime", format_datetime(ms)) == (ms, format_datetime(ms), None)


@given(st.text(CHARACTERS))
def test_text_is_kept_as_written(text: str) -> None:
    kept = text.replace("\0", "")
    expected = unicodedata.normalize("NFC", kept).lower()
    assert compiled("text", kept) == (kept, kept, expected)
    assert normalise_search(kept) == expected


RAW_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, categories=None), max_size=8)
    | st.text(CHARACTERS, max_size=8).map(Plain)
    | st.text(CHARACTERS, max_size=8).map(Markdown),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "width", "alt", "x"]), inner),
    max_leaves=5,
)


@given(st.sampled_from(list(FieldType)), RAW_VALUES)
def test_anything_is_a_value_or_invalid(kind: FieldType, raw: RawValue) -> None:
    try:
        typed, out, search = compiled(kind, raw)
    except InvalidValue as error:
        assert str(error).encode()  # noqa: PT017 - either outcome is right, but never another exception
        return
    assert (search is not None) == (typed is not None and kind in {"text", "textarea", "richtext"})
    assert json.loads(msgspec.json.encode(out)) == out


def test_the_way_to_every_fault_is_told() -> None:
    def steps(kind: str, raw: RawValue) -> list[tuple[str | int, ...]]:
        with pytest.raises(InvalidValue) as found:
            compiled(kind, raw)
        return [way for way, _ in found.value.faults]

    assert steps("images", ["/a.jpg", 5, {"url": "/b.jpg"}, {"src": "/c.jpg"}]) == [(1,), (3,)]
    assert steps("images", {"src": "/c.jpg"}) == [()]
    assert steps("json", {"a": [1, {"b": 2**60}]}) == [("a", 1, "b")]
    assert steps("number", Plain("x")) == [()]
