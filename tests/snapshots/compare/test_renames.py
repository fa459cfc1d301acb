"""Which entries were renamed: by the rule, against a naive model, and in versions that were really built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.build.build import build
from snapshots.compare.diff import SnapshotDiff, diff
from snapshots.compare.renames import find_renames
from snapshots.compare.versions import Version
from snapshots.store.store import open_store

NOW = 1_780_000_000_000
PLACES = [("en", False), ("de", False), ("en", True)]
CONTENT = st.dictionaries(st.sampled_from(PLACES), st.sampled_from([b"", b"x", b"y"]), min_size=1)
ENTRIES = st.dictionaries(st.sampled_from("abcdef"), CONTENT)


def rows(entries: Mapping[str, Mapping[tuple[str, bool], bytes]]) -> list[Version]:
    return [
        Version(entry, lang, draft, entry, content, "")
        for entry, places in entries.items()
        for (lang, draft), content in places.items()
    ]


@given(ENTRIES, ENTRIES)
def test_an_entry_is_renamed_where_its_whole_content_is_that_of_one_new_entry_alone(before, after) -> None:  # type: ignore[no-untyped-def]
    def of(side, other):  # type: ignore[no-untyped-def]
        only = {
            entry: {at: one for at, one in places.items() if at not in other.get(entry, {})}
            for entry, places in side.items()
        }
        return {entry: places for entry, places in only.items() if places}

    went, came = of(before, after), of(after, before)
    new = {entry for entry in came if entry not in before}
    expected = {
        (a, b)
        for a in went
        for b in new
        if went[a] == came[b]
        and any(went[a].values())
        and [one for one in went if went[one] == went[a]] == [a]
        and [one for one in new if came[one] == came[b]] == [b]
    }
    found = find_renames("posts", rows(went), rows(came), {}, new)
    assert {(one.before, one.after) for one in found} == expected
    assert all(one.exact and set(one.places) == set(went[one.before]) for one in found)


WORKSPACE = "id: site\nlanguages: [en, de, ja]\n"
API = """\
uid: api_Posts00000001
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: body, type: richtext}
  - {id: related, type: references, api: posts}
"""
BODY = "A long enough text about flour, water, salt, the old mill, its wheel and the people who bake bread there daily."
JA = "開店は日曜日の朝です。みなさまのお越しを心よりお待ちしております。焼きたてのパンとコーヒーをご用意しました。"
Files = dict[str, str]


def compared(tmp_path: Path, before: Files, after: Files, *, api: str = API) -> SnapshotDiff:
    versions = []
    root = tmp_path / "site"
    for name in ("apis", "content/posts"):
        (root / name).mkdir(parents=True)
    (root / "workspace.yaml").write_text(WORKSPACE)
    store = open_store(tmp_path / "store")
    for number, (files, definition) in enumerate(((before, API), (after, api))):
        (root / "apis/posts.yaml").write_text(definition)
        for path in (root / "content/posts").iterdir():
            path.unlink()
        for name, text in files.items():
            front, _, body = text.partition("|")
            (root / f"content/posts/{name}.md").write_text(
                f"---\ncreatedAt: 2026-01-0{number + 1}\n{front}\n---\n{body}\n"
            )
        versions.append(build(root, store, now=NOW + number, allow_breaking=True).version)
    return diff(store.workspace("site"), *versions)


def entry(name: str, body: str = BODY, **titles: str) -> Files:
    return {name if lang == "en" else f"{name}.{lang}": f"title: {title}|{body}" for lang, title in titles.items()}


OPENING = {"en": "Opening", "de": "Eröffnung", "ja": "開店"}
CASES: dict[str, tuple[Files, Files, list[tuple[str, str, bool, tuple[str, ...]]]]] = {
    "in all languages": (entry("a", **OPENING), entry("b", **OPENING), [("a", "b", True, ())]),
    "in one, and the others keep the old name": (
        entry("a", **OPENING),
        {**entry("b", en="Opening"), **entry("a", de="Eröffnung", ja="開店")},
        [("a", "b", True, ("de", "ja"))],
    ),
    "a copy is none": (entry("a", **OPENING), {**entry("a", **OPENING), **entry("b", **OPENING)}, []),
    "a copy of what stays, while another one goes": (
        {**entry("a", en="Same"), **entry("c", en="Other", body="Nothing of the kind at all, and by no means")},
        {**entry("a", en="Same"), **entry("b", en="Same")},
        [],
    ),
    "two of equal content are no pairs": (
        {**entry("a", en="Same"), **entry("c", en="Same")},
        {**entry("b", en="Same"), **entry("d", en="Same")},
        [],
    ),
    "one of two of equal content": ({**entry("a", en="Same"), **entry("c", en="Same")}, entry("b", en="Same"), []),
    "with its draft": (
        {"a": "title: A|x", "a.draft": "title: Changed|x"},
        {"b": "title: A|x", "b.draft": "title: Changed|x"},
        [("a", "b", True, ())],
    ),
    "a draft that is published under another name is not the same": (
        {"a.draft": f"title: A|{BODY}"}, {"b": f"title: A|{BODY}"}, []
    ),
    "it refers to itself": (
        {"a": "title: A\nrelated: [a]|x"}, {"b": "title: A\nrelated: [b]|x"}, [("a", "b", True, ())]
    ),
    "nothing in it": ({"a": "title: ~|"}, {"b": "title: ~|"}, []),
    "a word changed": (
        entry("a", **OPENING),
        entry("b", body=BODY.replace("mill", "tower"), **OPENING),
        [("a", "b", False, ())],
    ),
    "a word changed in a script without spaces": (
        entry("a", body=JA, ja="開店"),
        entry("b", body=JA.replace("日曜日", "土曜日"), ja="開店"),
        [("a", "b", False, ())],
    ),
    "half of it changed": (
        entry("a", en="A"), entry("b", en="A", body=BODY[:60] + "Then the rest is new and quite other."), []
    ),
    "as near to two": (
        entry("a", en="A"),
        {
            **entry("b", en="A", body=BODY.replace("mill", "tower")),
            **entry("c", en="A", body=BODY.replace("mill", "house")),
        },
        [],
    ),
    "a language came with it": (entry("a", en="Opening"), entry("b", en="Opening", de="Eröffnung"), []),
    "only another time": (
        {"a": f"title: A|{BODY}"}, {"b": f"title: A\npublishStart: 2027-01-01|{BODY}"}, [("a", "b", True, ())]
    ),
    "two of them": (
        {**entry("a", en="A"), **entry("c", en="C")},
        {**entry("b", en="A"), **entry("d", en="C")},
        [("a", "b", True, ()), ("c", "d", True, ())],
    ),
    "swapped names are changes": (
        {**entry("a", en="A"), **entry("b", en="B")}, {**entry("a", en="B"), **entry("b", en="A")}, []
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_versions_that_were_built(tmp_path: Path, name: str) -> None:
    before, after, expected = CASES[name]
    found = compared(tmp_path, before, after)
    assert [(one.before, one.after, one.exact, one.left) for one in found.renames] == expected


def test_a_field_that_comes_without_a_value_hides_no_rename(tmp_path: Path) -> None:
    found = compared(tmp_path, entry("a", **OPENING), entry("b", **OPENING), api=API + "  - {id: mood, type: text}\n")
    assert [(one.before, one.after, one.exact) for one in found.renames] == [("a", "b", True)]
    assert found.renames[0].places == (("en", False), ("de", False), ("ja", False))
