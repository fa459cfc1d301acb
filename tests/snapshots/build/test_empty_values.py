"""An empty text is no value, and a blank file no translation: the snapshot is that of files without them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from snapshots.build.build import build, check
from snapshots.store.store import Store

WORKSPACE = "id: w\nlanguages: [en, de, ja]\ntimezone: Europe/Berlin\nlaunches: {spring: 2027-03-01}\n"
TYPES = {
    "number": "type: number",
    "day": "type: datetime",
    "open": "type: boolean",
    "kind": "type: single_select, options: [news, guide]",
    "mood": "type: single_select",
    "topics": "type: multiple_select, options: [a, b]",
    "tags": "type: multiple_select",
    "author": "type: reference, api: people",
    "readers": "type: references, api: people",
    "anyone": "type: references, apis: [people, posts]",
    "cover": "type: image",
    "gallery": "type: images",
    "menu": "type: file",
    "address": "type: group, fields: [{id: city, type: text}]",
    "hours": "type: groups, fields: [{id: label, type: text, required: true}]",
    "blocks": "type: groups, groups: [{id: hero, fields: [{id: text, type: text}]}]",
}
TEXTS = {"title": "type: text", "summary": "type: textarea", "note": "type: richtext", "extra": "type: json"}
META = ("id", "lang", "status", "draft", "draftKey", "publishedAt", "updatedAt", "publishStart", "publishEnd", "launch")
PEOPLE = "uid: api_people\nendpoint: people\nkind: list\nid: '{key}'\nfields: [{id: name, type: text}]\n"
PEOPLE_FILES = {f"content/people/{name}.yaml": f"key: {name}\ncreatedAt: 2026-01-01\n" for name in ("mika", "ken")}


def posts(required: str = "", more: str = "") -> str:
    fields = "\n".join(f"  - {{id: {name}, {kind}{required}}}" for name, kind in {**TYPES, **TEXTS}.items())
    return f"uid: api_posts\nendpoint: posts\nkind: list\nmultilingual: true\n{more}fields:\n{fields}\n"


def write(root: Path, files: Mapping[str, str | bytes], api: str = "") -> Path:
    every = {"workspace.yaml": WORKSPACE, "apis/posts.yaml": api or posts(), "apis/people.yaml": PEOPLE}
    for name, text in {**every, **PEOPLE_FILES, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def built(root: Path) -> tuple[str, dict[str, bytes]]:
    """The digest of what is built, and the data files; there are no problems."""
    store = root.with_name(f"{root.name}-store")
    result = build(root, Store(store, root.with_name(f"{root.name}-cache")), now=0)
    assert list(result.problems.kept) == []
    return result.version.partition("-")[2], {
        str(file.relative_to(store)): file.read_bytes() for file in store.rglob("*.parquet")
    }


def told(root: Path) -> list[str]:
    found = check(root, root.with_name(f"{root.name}-cache"))
    return [f"{one.file}:{one.line}: {one.message}" for one in found.kept]


def in_each_format(values: dict[str, object]) -> dict[str, str]:
    """One entry in every format, with the same values."""
    text = json.dumps(values)
    return {
        "content/posts/a.md": f"---\n{yaml.safe_dump(values)}---\n",
        "content/posts/b.yaml": yaml.safe_dump(values),
        "content/posts/c.json": text,
        "content/posts/d.jsonl": json.dumps({**values, "id": "d"}) + "\n",
        "content/posts/e.yaml": yaml.safe_dump([{**values, "id": "e"}]),
    }


def test_an_empty_text_is_no_value(tmp_path: Path) -> None:
    """In every type but the texts, and in all that says when and to whom an entry is shown."""
    given: dict[str, object] = {"title": "T", "createdAt": "2026-01-01"}
    bare = built(write(tmp_path / "bare", in_each_format(given)))
    assert built(write(tmp_path / "empty", in_each_format({**given, **dict.fromkeys((*TYPES, *META), "")}))) == bare
    assert len(bare[1]) > 1


def test_an_empty_text_is_a_text(tmp_path: Path) -> None:
    """The other way round: in a text, and in free JSON, it is the value."""
    given: dict[str, object] = {"title": "T", "createdAt": "2026-01-01"}
    bare = built(write(tmp_path / "bare", in_each_format(given)))
    for name in ("summary", "note", "extra"):
        root = write(tmp_path / name, in_each_format({**given, name: ""}))
        assert built(root)[0] != bare[0], name


@pytest.mark.parametrize("empty", ["", None])
def test_empty_items_of_lists_are_left_out(tmp_path: Path, empty: object) -> None:
    def lists(*between: object) -> dict[str, str]:
        values = {
            "tags": ["x", *between, "y"],
            "topics": [*between, "a"],
            "readers": ["mika", *between, "ken"],
            "anyone": [*between, {"api": "people", "id": "mika"}, *between, "ken"],
            "gallery": [{"url": "/a.png", "alt": "A"}, *between, *({"url": one, "alt": ""} for one in between)],
            "hours": [{"label": "Mon"}, *between],
            "blocks": [*between, {"fieldId": "hero", "text": "T"}],
        }
        return in_each_format({"title": "T", "createdAt": "2026-01-01", **values})

    assert built(write(tmp_path / "empty", lists(empty))) == built(write(tmp_path / "bare", lists()))


def test_members_without_values(tmp_path: Path) -> None:
    """A picture of which nothing is given is none; in a group each member is a value of its own."""

    def members(cover: object, city: object) -> dict[str, str]:
        values = {"cover": cover, "address": {"city": "B"}, "hours": [{"label": "L", "photo": cover, "size": city}]}
        return in_each_format({"title": "T", "createdAt": "2026-01-01", **values})

    api = posts().replace(
        "{id: label, type: text, required: true}",
        "{id: label, type: text, required: true}, {id: photo, type: image}, {id: size, type: number}",
    )
    bare = built(write(tmp_path / "bare", members(None, None), api))
    for number, cover in enumerate(({"url": "", "alt": "", "width": ""}, {"url": None}, {}, "")):
        assert built(write(tmp_path / f"empty{number}", members(cover, ""), api)) == bare


def test_an_empty_text_in_a_required_field(tmp_path: Path) -> None:
    text = "".join(f"{name}: ''\n" for name in TYPES)
    texts = "createdAt: 2026-01-01\ntitle: T\nsummary: S\nnote: N\nextra: 1\n"
    root = write(tmp_path / "w", {"content/posts/a.yaml": texts + text}, posts(", required: true"))
    expected = [
        f"content/posts/a.yaml:{line}: {name}: required, but has no value" for line, name in enumerate(TYPES, 6)
    ]
    assert sorted(told(root)) == sorted(expected)


def test_lines_behind_empty_items(tmp_path: Path) -> None:
    """What is wrong is told at its own place, whatever was left out before it."""
    post = (
        "title: T\ncreatedAt: 2026-01-01\nreaders:\n  - ''\n  - mika\n  - nobody\n"
        "hours:\n  - ''\n  -\n  - label: ''\n  - label: L\nanyone:\n  - ''\n  - {api: people, id: none}\n"
    )
    assert told(write(tmp_path / "w", {"content/posts/a.yaml": post})) == [
        "content/posts/a.yaml:6: readers: there is no entry 'nobody' in people",
        "content/posts/a.yaml:10: hours[2].label: required, but has no value",
        "content/posts/a.yaml:14: anyone: there is no entry 'none' in people",
    ]


def test_what_an_empty_text_does_not_settle(tmp_path: Path) -> None:
    """Scheduled entries need a start, items of lists an ID, and IDs that are built of keys a value."""
    files = {
        "content/posts/a.yaml": "title: T\ncreatedAt: 2026-01-01\nstatus: scheduled\npublishStart: ''\n",
        "content/posts/b.yaml": "- {title: T, createdAt: 2026-01-01, id: ''}\n",
        "content/posts/c.yaml": "title: T\ncreatedAt: 2026-01-01\ncover: {url: '', alt: A}\n",
        "content/people/x.yaml": "key: ''\ncreatedAt: 2026-01-01\n",
    }
    assert [line.partition("; ")[0] for line in told(write(tmp_path / "w", files))] == [
        "content/people/x.yaml:1: no ID: nothing that the API's 'id' template names has a value here",
        "content/posts/a.yaml:3: status is scheduled, but there is no publishStart: add one",
        "content/posts/b.yaml:1: no ID: add an 'id' key (1 to 64 characters of A-Z a-z 0-9 _ -)",
        "content/posts/c.yaml:3: cover: an image needs a url",
    ]


def test_a_language_with_empty_texts_alone_has_no_version(tmp_path: Path) -> None:
    """Where one file holds all languages, a translation that is all empty is none."""
    api = (
        "uid: api_posts\nendpoint: posts\nkind: list\nmultilingual: true\n"
        "fields: [{id: title, type: text, from: 'title.{lang}'}, {id: day, type: datetime, from: 'day.{lang}'}]\n"
    )
    english = {"content/posts/a.yaml": "title: {en: Hello}\nday: {en: 2026-01-01}\ncreatedAt: 2026-01-01\n"}
    with_empty = {"content/posts/a.yaml": "title: {en: Hello, de: '', ja: ''}\nday: {en: 2026-01-01, de: ''}\n"
                                          "createdAt: 2026-01-01\n"}  # fmt: skip
    assert built(write(tmp_path / "empty", with_empty, api)) == built(write(tmp_path / "bare", english, api))


ENTRY = "---\ntitle: T\ncreatedAt: 2026-01-01\n---\n"
BLANK = {"md": ("", "\n", " \r\n\t\n", "\ufeff\n", "---\n---\n", "---\n\n---\n\n"),
         "yaml": ("", "\n", "\ufeff \n", "{}\n"), "json": ("", "\n", "{}\n"), "toml": ("", "\n")}  # fmt: skip


def test_a_blank_translation_is_none_yet(tmp_path: Path) -> None:
    """Whatever the format, the language and the folders; unpublished changes of a translation too."""
    blank = {
        f"content/posts/{extension}{number}.{ending}.{extension}": text
        for extension, texts in BLANK.items()
        for number, text in enumerate(texts)
        for ending in ("de", "ja", "de.draft")
    }
    entries = {f"content/posts/{name.split('/')[-1].split('.')[0]}.en.md": ENTRY for name in blank}
    assert built(write(tmp_path / "blank", {**entries, **blank})) == built(write(tmp_path / "bare", entries))
    folders = posts(more="source: blog/{lang}/{id}.md\n")
    bare = write(tmp_path / "bare folders", {"blog/en/a.md": ENTRY}, folders)
    assert built(write(tmp_path / "folders", {"blog/en/a.md": ENTRY, "blog/de/a.md": "\n"}, folders)) == built(bare)


def test_a_blank_file_in_the_main_language_is_told(tmp_path: Path) -> None:
    """It may have been emptied by mistake, and there is nothing to fall back to."""
    api = posts().replace("title, type: text", "title, type: text, required: true")
    blank = {f"content/posts/{extension}.{extension}": "\n" for extension in ("md", "yaml", "json")}
    assert [re.split(": write|: begin", line)[0] for line in told(write(tmp_path / "w", blank, api))] == [
        "content/posts/json.json:1: the file has no content",
        "content/posts/md.md:1: there is no front matter, so title has no value",
        "content/posts/yaml.yaml:1: the file has no content",
    ]


def test_a_translation_with_anything_in_it_is_one(tmp_path: Path) -> None:
    api = posts().replace("title, type: text", "title, type: text, required: true")
    files = {
        "content/posts/a.md": ENTRY,
        "content/posts/a.de.md": "---\ncreatedAt: 2026-01-01\n---\n",
        "content/posts/a.ja.md": "\nText\n",
    }
    assert [line.partition(": begin")[0] for line in told(write(tmp_path / "w", files, api)) if "no value" in line] == [
        "content/posts/a.de.md:1: title: required, but has no value",
        "content/posts/a.ja.md:1: there is no front matter, so title has no value",
    ]
