"""``source`` patterns: what matches, which named parts come out, which directories are entered."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.definitions.patterns import InvalidPattern, Pattern, parse_pattern

LANGUAGES = ("en", "pt", "pt-BR", "pt_BR")


@pytest.mark.parametrize(
    ("pattern", "path", "parts"),
    [
        ("a/b.md", "a/b.md", {}),
        ("./a/b.md", "a/b.md", {}),
        ("a/b.md", "a/bxmd", None),
        ("a/{id}.md", "a/x.md", {"id": "x"}),
        ("a/{id}.md", "a/x/y.md", None),
        ("a/{id}.md", "a/.md", None),
        ("a/{id}.md", "a/x.y.md", {"id": "x.y"}),
        ("a/{id}.{rest}.md", "a/x.y.z.md", {"id": "x", "rest": "y.z"}),
        ("{y}-{m}-{d}-{name}.md", "2024-01-02-a-b.md", {"y": "2024", "m": "01", "d": "02", "name": "a-b"}),
        ("{a}/{a}.md", "x/x.md", {"a": "x"}),
        ("{a}/{a}.md", "x/y.md", None),
        ("a/{id}.{lang}.md", "a/x.en.md", {"id": "x", "lang": "en"}),
        ("a/{id}.{lang}.md", "a/x.y.pt-BR.md", {"id": "x.y", "lang": "pt-BR"}),
        ("a/{id}.{lang}.md", "a/x.fr.md", None),
        ("p.{lang}/{name}.md", "p.pt_BR/[[.md", {"lang": "pt_BR", "name": "[["}),
        ("{lang}/{id}.{lang}.md", "en/x.en.md", {"lang": "en", "id": "x"}),
        ("{lang}/{id}.{lang}.md", "en/x.pt.md", None),
        ("{section}-{n}/{section}.md", "my-part-1/my-part.md", {"section": "my-part", "n": "1"}),
        ("{y}-{m}/{y}-{m}-{id}.md", "20-4/20-4-1-x.md", {"y": "20", "m": "4", "id": "1-x"}),
        ("{a}-{a}.md", "x-y-x-y.md", {"a": "x-y"}),
        ("*-{id}.md", "a-b-c.md", {"id": "c"}),
        ("*/x.md", "a/x.md", {}),
        ("*/x.md", "a/b/x.md", None),
        ("a*c/?.md", "abc/d.md", {}),
        ("a*c/?.md", "ac/dd.md", None),
        ("a**c.md", "abbc.md", {}),
        ("a**c.md", "ab/bc.md", None),
        ("**/x.md", "x.md", {}),
        ("**/x.md", "a/b/x.md", {}),
        ("a/**/x.md", "a/x.md", {}),
        ("a/**/x.md", "ab/x.md", None),
        ("a/**/**/{id}.md", "a/b/c/d.md", {"id": "d"}),
        ("a/**", "a/b/c.md", {}),
        ("a/**", "a/b", {}),
        ("a/**", "a", None),
        ("[a-c]/[!x].md", "b/y.md", {}),
        ("[a-c]/[!x].md", "b/x.md", None),
        ("[a-c]/[^x].md", "d/y.md", None),
        ("[]]/[!]].md", "]/x.md", {}),
        ("[a--]x", "-x", {}),
        ("a[b.md", "a[b.md", {}),
        ("a+(b).md", "a+(b).md", {}),
        ("{id}.md", "a\nb.md", {"id": "a\nb"}),
    ],
)
def test_matching(pattern: str, path: str, parts: dict[str, str] | None) -> None:
    compiled = parse_pattern(pattern, LANGUAGES)
    assert compiled.parts(path) == parts
    if parts is not None:
        assert reaches(compiled, path)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{a}{b}{c}{d}{e}{f}{g}{h}.md", "a" * 250),
        ("{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}.md", "a-" * 125),
        ("*a*a*a*a*a*a*a*a.md", "a" * 250),
        ("*{a}a{b}a{c}a{id}.md", "a" * 250),
        ("{y}-{m}-{d}/{y}-{m}-{d}-{id}.md", "-" * 250 + "/" + "-" * 250),
        ("{id}.{lang}.md", "a." * 120),
        ("**/a/**/{id}.md", "a/" * 1_000 + "a"),
    ],
)
def test_no_name_takes_long(pattern: str, name: str) -> None:
    parsed = parse_pattern(pattern)
    began = time.process_time()
    assert parsed.parts(name) is None
    assert parsed.enter(parsed.start(), name.partition("/")[0]) == frozenset() or "/" in pattern
    assert time.process_time() - began < 2


def test_any_language_can_be_let_in_to_tell_which_are_unknown() -> None:
    pattern = parse_pattern("p.{lang}/{name}.md", ["français"], others=True)
    assert pattern.parts("p.xx/a.md") == {"lang": "xx", "name": "a"}
    assert pattern.parts("p.zh_Hant-TW/a.md") == {"lang": "zh_Hant-TW", "name": "a"}
    assert pattern.parts("p.français/a.md") == {"lang": "français", "name": "a"}
    assert pattern.parts("p.x y/a.md") is None


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("", "empty segment"),
        ("/a.md", "relative"),
        ("a//b.md", "empty segment"),
        ("a/", "empty segment"),
        ("../a.md", "leads out"),
        ("a/../b.md", "leads out"),
        (".git/{id}.md", "never read"),
        ("a/{id.md", "without its '}'"),
        ("a/id}.md", "without its '{'"),
        ("a/{}.md", "cannot be the name"),
        ("a/{1x}.md", "cannot be the name"),
        ("a/*.{md,yaml}", "one pattern for each"),
        ("[z-a].md", "not a set"),
        ("-".join(f"{{p{n}}}" for n in range(9)), "at most 8"),
        ("**/a/**/b/**/{id}.md", "too many ways"),
        ("**/{a}{b}{c}/{a}-{b}-{c}.md", "too many ways"),
        ("*{a}*{b}*{id}.md", "too many ways"),
    ],
)
def test_what_is_no_pattern(pattern: str, says: str) -> None:
    with pytest.raises(InvalidPattern, match=says):
        parse_pattern(pattern)


def reaches(pattern: Pattern, path: str) -> bool:
    """Whether a walk that enters only what the pattern's states allow meets the file."""
    *directories, _ = path.split("/")
    state = pattern.start()
    for directory in directories:
        state = pattern.enter(state, directory)
    return pattern.takes_files(state)


@pytest.mark.parametrize(
    ("pattern", "entered", "not_entered"),
    [
        ("pages.{lang}/{platform}/{name}.md", ["pages.en", "pages.en/x"], ["pages", "pages.en/x/y", "other"]),
        ("a/**/z/{id}.md", ["a", "a/b/c", "a/z/z"], ["b"]),
        ("_data/x.yml", ["_data"], ["_data/y", "x"]),
        ("*.md", [], ["a"]),
    ],
)
def test_only_directories_that_can_match_are_entered(pattern: str, entered: list[str], not_entered: list[str]) -> None:
    compiled = parse_pattern(pattern, LANGUAGES)

    def state(path: str) -> frozenset[int]:
        here = compiled.start()
        for directory in path.split("/"):
            here = compiled.enter(here, directory)
        return here

    assert [path for path in entered if not state(path)] == []
    assert [path for path in not_entered if state(path)] == []


segments = st.text("ab.", min_size=1, max_size=3).filter(lambda s: s.strip("."))
pieces = st.sampled_from(["**", "*", "a", "b", "{x}", "a*", "{y}b", "[ab]", "?"])


@given(st.lists(pieces, min_size=1, max_size=5), st.lists(segments, min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_the_walk_never_misses_a_file_that_matches(pattern: list[str], path: list[str]) -> None:
    seen: set[str] = set()
    unique = [p for p in pattern if p not in ("{x}", "{y}b") or (p not in seen and not seen.add(p))]  # type: ignore[func-returns-value]  # add returns None
    for _ in range(pattern.count("**") - 2):
        unique.remove("**")  # more are refused
    compiled = parse_pattern("/".join(unique or ["a"]))
    if compiled.parts("/".join(path)) is not None:
        assert reaches(compiled, "/".join(path))
