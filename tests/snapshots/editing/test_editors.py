"""What both editors save passes, and nothing changes that nobody changed: real editors, on every type of field."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from snapshots.build.build import build, check
from snapshots.store.store import Store
from snapshots.translations.model import LAGGING
from tests.programs.command_line import process
from tests.project.examples.browsing import chromium
from tests.snapshots.editing import editors_in_browser
from tests.snapshots.editing.editors_in_browser import OpenEditor

pytestmark = pytest.mark.slow
Start = Callable[[Any, Path, Path, str], AbstractContextManager[OpenEditor]]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EXAMPLE = Path(__file__).parents[3] / "cli" / "creating" / "example"
DATES = "createdAt: 2026-01-01\nupdatedAt: 2026-01-02\n"
POSTS = """\
uid: api_Posts0000001
name: Posts
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text, required: true}
  - {id: body, type: richtext}
  - {id: summary, type: textarea}
  - {id: note, type: richtext, from: note}
  - {id: price, type: number}
  - {id: day, type: datetime}
  - {id: sold, type: boolean}
  - {id: kind, type: single_select, options: [news, guide]}
  - {id: mood, type: single_select}
  - {id: topics, type: multiple_select, options: [a, b, c]}
  - {id: tags, type: multiple_select}
  - {id: author, type: reference, api: people}
  - {id: readers, type: references, api: people}
  - {id: related, type: references, apis: [people, posts]}
  - {id: cover, type: image}
  - {id: gallery, type: images}
  - {id: menu, type: file}
  - {id: extra, type: json}
  - id: address
    type: group
    fields: [{id: city, type: text, required: true}, {id: zip, type: number}, {id: photo, type: image}]
  - {id: hours, type: groups, fields: [{id: label, type: text}, {id: open, type: datetime}]}
  - id: blocks
    type: groups
    groups:
      - {id: hero, fields: [{id: head, type: text}, {id: pic, type: image}]}
      - {id: quote, fields: [{id: words, type: textarea}]}
"""
FULL = """\
---
title: Full
createdAt: 2026-01-01T09:00:00+01:00
updatedAt: 2026-01-02
publishedAt: 2026-01-03T10:20:30.456+09:00
publishStart: 2026-01-03 10:20:30
publishEnd: 2130-01-01T00:00:00Z
summary: |-
  Two
  lines: "quoted" #1
note: <p>Some <b>HTML</b> &amp; more</p>
price: 12.50
day: 2026-11-01
sold: false
kind: guide
mood: "1.10"
topics: [a, c]
tags: [x, "1.10", yes, "a, b"]
author: mika
readers: [mika, ken]
related: [{api: people, id: ken}, {api: posts, id: bare}]
cover: {url: pics/one.png, alt: A dot}
gallery:
  - {url: pics/one.png, alt: First}
  - {url: https://x.example/b.png, width: 10, height: 20, alt: Second}
menu: pics/menu.pdf
extra: {a: [1, 2.0, {b: null}]}
address: {city: Bonn, zip: 53.50, photo: {url: pics/one.png, alt: Dot}}
hours: [{label: Mon, open: 2026-01-01 09:30}, {label: Tue, open: 2026-01-01T09:30:00}]
blocks:
  - {fieldId: hero, head: Big, pic: {url: pics/one.png, alt: Dot}}
  - {fieldId: quote, words: "He said\\nso"}
status: published
---
# Heading {#here}

Text with **bold**, *it*, `code`, [a link](https://x.example "t"), ~~gone~~, 1\\. no list, and a hard\\
break.

| a | b |
|---|:-:|
| 1 | x \\| y |

1. one
2. two
   1. deep
   ```js
   let code
   ```

> quoted[^1]

![A dot](pics/one.png)

[^1]: Note.
"""
FILES: dict[str, str | bytes] = {
    "workspace.yaml": "id: site\nlanguages: [en, de, ja]\ntimezone: Europe/Berlin\n",
    "apis/posts.yaml": POSTS,
    "apis/people.yaml": "uid: api_People000001\nname: People\nendpoint: people\nkind: list\n"
                        "fields: [{id: name, type: text, required: true}, {id: mail, type: text}]\n",
    "apis/facts.yaml": "uid: api_Facts0000001\nname: Facts\nendpoint: facts\nkind: list\nmultilingual: true\n"
                       "fields: [{id: title, type: text, required: true}, {id: size, type: number}]\n",
    "apis/shop.yaml": "uid: api_Shop00000001\nname: Shop\nendpoint: shop\nkind: object\n"
                      "fields: [{id: heading, type: text, required: true}, {id: open, type: boolean}]\n",
    "content/people/mika.yaml": f"name: Mika\nmail: m@x.example\n{DATES}",
    "content/people/ken.yaml": "{name: Ken, createdAt: 2026-01-01, updatedAt: 2026-01-02}\n",
    "content/facts/oven.en.json": '{"title": "Oven", "size": 3, "createdAt": "2026-01-01"}\n',
    "content/shop.yaml": "{heading: Hello, createdAt: 2026-01-01, updatedAt: 2026-01-02}\n",
    "content/posts/full.en.md": FULL,
    "content/posts/full.de.md": f"---\ntitle: Voll\n{DATES}price: 5\nauthor: ken\n---\nText\n",
    "content/posts/bare.en.md": f"---\ntitle: Bare\n{DATES}---\n",
    "content/posts/gone.en.md": f"---\ntitle: Gone\n{DATES}---\n",
    "content/posts/gone.de.md": f"---\ntitle: Weg\n{DATES}---\n",
    "content/posts/pics/one.png": PIXEL,
    "content/posts/pics/menu.pdf": b"%PDF-1.4\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


class Workspace:
    """The workspace in a git repository, and what is built of it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "site"
        self._store = Store(directory / "store", directory / "cache")
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        self._git("init", "-q", "-b", "main")
        self.commit()

    def _git(self, *arguments: str) -> str:
        named = ["-c", "user.name=Mika", "-c", "user.email=mika@x.example"]
        return subprocess.run(
            ["git", *named, *arguments], cwd=self.root, check=True, capture_output=True, text=True
        ).stdout

    def commit(self) -> list[str]:
        """Commit what was saved: the paths that changed."""
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "Saved")
        return self._git("show", "--name-only", "--format=", "-z").split("\0")[:-1]

    def problems(self) -> list[str]:
        """All that is wrong. That a translation is older than an original that was saved after it is true, and left
        out."""
        found = check(self.root, self._store.cache).kept
        return [str(problem) for problem in found if problem.kind != LAGGING]

    def built(self) -> tuple[str, dict[tuple[str, str, str], Any]]:
        """The digest of what is built, and the values by language, API and ID."""
        version = build(self.root, self._store, now=0, allow_breaking=True).version
        values = {}
        for lang in ("en", "de", "ja"):
            for api in ("posts", "people", "facts", "shop"):
                for file in self._store.root.glob(f"*/snapshots/{version}/{lang}/{api}/*.parquet"):
                    rows = duckdb.sql(f"SELECT id, _.json FROM read_parquet('{file}')").fetchall()
                    values |= {(lang, api, entry_id): json.loads(text) for entry_id, text in rows}
        return version.partition("-")[2], values


@pytest.mark.parametrize("editor", ["decap", "sveltia"])
def test_a_day_of_an_editor(browser: Any, tmp_path: Path, editor: str) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.problems() == []
    before, content = workspace.built()
    printed = process("editor-config", "--editor", editor, cwd=workspace.root)
    assert "cannot open" not in printed.err
    start: Start = getattr(editors_in_browser, editor)
    picture = tmp_path / "oven.png"
    picture.write_bytes(PIXEL)
    with start(browser, workspace.root, tmp_path / "admin", printed.out) as opened:
        for collection, entry, field, text in BACK_AGAIN:
            for new in (f"{text}, edited", text):
                opened.open(collection, entry)
                assert opened.value(field) in (text, f"{text}, edited")
                opened.fill(field, new)
                opened.save()
        opened.fetch_files()
        assert workspace.built() == (before, content)
        assert set(workspace.commit()) >= REWRITTEN

        opened.open("posts")
        opened.fill("title", "Brand new")
        opened.save()

        opened.open("posts")
        opened.fill("title", "Half done")
        opened.fill("price", "5")
        opened.fill("price", "")
        opened.fill("day", "2026-05-06T10:30")
        opened.add_item("hours")
        opened.add_picture("cover", picture, "An oven")
        opened.save()

        opened.open("facts")
        opened.fill("title", "Flour")
        opened.save()

        opened.open("posts", "bare")
        opened.translate("de", "title", "Nackt")
        opened.save()

        opened.delete("posts", "gone", "Gone")
        opened.fetch_files()

    workspace.commit()
    assert workspace.problems() == []
    _, saved = workspace.built()
    assert {place: saved[place] for place in content.keys() & saved.keys()} == {
        place: content[place] for place in content.keys() & saved.keys()
    }
    assert saved.keys() - content.keys() == {
        ("en", "posts", "brand-new"), ("en", "posts", "half-done"), ("en", "facts", "flour"), ("de", "posts", "bare"),
    }  # fmt: skip
    assert content.keys() - saved.keys() == {("en", "posts", "gone"), ("de", "posts", "gone")}
    bare = content["en", "posts", "bare"]
    assert saved["en", "posts", "brand-new"] == {**bare, "title": "Brand new"}
    assert saved["de", "posts", "bare"] == {**bare, "title": "Nackt"}
    half_done = saved["en", "posts", "half-done"]
    cover = half_done["cover"]
    assert (cover["width"], cover["height"], cover["alt"]) == (1, 1, "An oven")
    assert "/assets/" in cover["url"]
    # What is typed is the time where the editor is, or where the workspace is.
    assert half_done["day"] == {"decap": "2026-05-06T01:30:00.000Z", "sveltia": "2026-05-06T08:30:00.000Z"}[editor]
    assert half_done["price"] is None


@pytest.mark.parametrize("editor", ["decap", "sveltia"])
def test_the_example_is_edited(browser: Any, tmp_path: Path, editor: str) -> None:
    """With entries in a list of one file that others refer to, and main language versions without it in their names."""
    root = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    if editor == "decap":
        for file in root.glob("content/*/*.md"):
            if not file.stem.endswith((".ja", ".draft")):
                file.rename(file.with_name(f"{file.stem}.en.md"))
    printed = process("editor-config", "--editor", editor, cwd=root)
    assert "cannot open" not in printed.err
    start: Start = getattr(editors_in_browser, editor)
    before = build(root, Store(tmp_path / "store", tmp_path / "cache"), now=0).version
    with start(browser, root, tmp_path / "admin", printed.out) as opened:
        for name in ("Country rye, large", "Country rye"):
            opened.open("breads", "country-rye")
            opened.fill("name", name)
            opened.save()
        opened.fetch_files()
    [saved] = (file for file in root.glob("content/breads/country-rye*.md") if not file.stem.endswith(".ja"))
    assert "contains: [" not in saved.read_text()  # as nobody has saved it yet
    assert build(root, Store(tmp_path / "store", tmp_path / "cache"), now=0).version == before


BACK_AGAIN = [
    ("posts", "full", "title", "Full"),
    ("facts", "oven", "title", "Oven"),
    ("people", "ken", "name", "Ken"),
    ("shop", "shop-en", "heading", "Hello"),
]
REWRITTEN = {"content/posts/full.en.md", "content/facts/oven.en.json", "content/people/ken.yaml", "content/shop.yaml"}
"""Files that are not as an editor would write them, so that a save shows."""
