"""Folders of sites as they are, adopted by definitions beside them: every file is read, none is changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snapshots.build.build import BuildResult, build, check
from snapshots.store.store import Store
from tests.sites.site_folders import ASTRO, HUGO, JEKYLL, LONG, PLAIN, PRESETS, write_folder
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000
DATES = ("createdAt", "publishedAt", "live_from")
NAMES = ("first-post", "second", "third")


def built(tmp_path: Path, *files: Mapping[str, str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """``<lang>/<endpoint>/<id>`` → the fields of every version, and the problems that are no missing dates."""
    result = rebuilt(write_folder(tmp_path / "site", *files), tmp_path)
    return versions(tmp_path, result), [str(problem) for problem in result.problems.kept if problem.kind != "no-date"]


def rebuilt(root: Path, tmp_path: Path) -> BuildResult:
    return build(root, Store(tmp_path / "store", tmp_path / "cache"), now=NOW, allow_breaking=True)


def versions(tmp_path: Path, result: BuildResult) -> dict[str, dict[str, Any]]:
    found = {}
    for path in (tmp_path / f"store/{result.workspace}/snapshots/{result.version}").glob("*/*/*.parquet"):
        for row in stored_rows(path):
            fields = json.loads(row["json"]) | {name: row[name] for name in DATES}
            found[f"{path.parent.parent.name}/{path.parent.name}/{row['id']}"] = fields
    return found


def problems(tmp_path: Path, *files: Mapping[str, str]) -> list[str]:
    found = check(write_folder(tmp_path / "site", *files), tmp_path / "cache")
    return [str(problem) for problem in found.kept if problem.kind != "no-date"]


HUGO_DEFINITIONS = {
    "workspace.yaml": "id: hugo\nlanguages: [en, de, zh-cn]\n",
    "apis/posts.yaml": """\
uid: api_posts
endpoint: posts
kind: list
multilingual: true
source:
  - content/{path}/index.{lang?}.md
  - content/{path}.{lang?}.md
exclude: "**/_includes/**"
meta: {lang: null, publishStart: date, publishedAt: date, createdAt: date}
fields:
  - {id: title, type: text, required: true}
  - {id: path, type: text, from: "{path}"}
  - {id: tags, type: multiple_select}
  - {id: tone, type: text, from: lang}
  - {id: related, type: references, api: posts, by: path}
  - {id: body, type: richtext}
""",
}


def test_a_hugo_site_in_several_languages(tmp_path: Path) -> None:
    found, said = built(tmp_path, HUGO, HUGO_DEFINITIONS)
    assert said == []
    (long,) = [key for key in found if found[key]["title"] == "Long"]
    assert sorted(found) == sorted(
        [
            "de/posts/posts-hello",
            "en/posts/posts-deep-bundle",
            "en/posts/posts-future",
            "en/posts/posts-hello",
            "en/posts/posts-json",
            long,
            "zh-cn/posts/posts-hello",
        ]
    )
    assert len(long.removeprefix("en/posts/")) == 64
    assert found[long]["path"] == f"posts/{LONG}"
    assert found["en/posts/posts-hello"]["tone"] == "informal"
    assert found["en/posts/posts-hello"]["related"] == ["posts-deep-bundle"]
    assert found["en/posts/posts-deep-bundle"]["related"] == ["posts-hello", "posts-json"]
    assert str(found["en/posts/posts-future"]["live_from"]) == "2999-01-01 00:00:00"


def test_a_jekyll_site(tmp_path: Path) -> None:
    definitions = {
        "workspace.yaml": "id: jekyll\nlanguages: [en]\n",
        "apis/posts.yaml": """\
uid: api_posts
endpoint: posts
kind: list
source:
  - "_posts/{year}-{month}-{day}-{name}.md"
  - "_posts/{year}-{month}-{day}-{name}.markdown"
  - "_posts/{year}-{month}-{day}-{name}.MD"
meta: {publishedAt: "{year}-{month}-{day}", createdAt: date}
fields:
  - {id: title, type: text}
  - {id: layout, type: text}
  - {id: tags, type: multiple_select}
  - {id: body, type: richtext}
""",
        "apis/people.yaml": (
            "uid: api_people\nendpoint: people\nkind: list\nsource: _data/people.yml\nid: '{name}'\n"
            "fields: [{id: name, type: text}, {id: city, type: text}]\n"
        ),
    }
    found, said = built(tmp_path, JEKYLL, definitions)
    assert said == []
    assert sorted(found) == ["en/people/Ann-M--Lee", "en/posts/first-post", "en/posts/second", "en/posts/third"]
    dates = [[str(found[f"en/posts/{name}"][date]) for date in ("createdAt", "publishedAt")] for name in NAMES]
    assert dates == [
        ["2025-12-18 00:00:00", "2025-12-18 00:00:00"],
        ["2025-12-19 14:00:00", "2025-12-19 00:00:00"],
        ["2025-12-20 00:00:00", "2025-12-20 00:00:00"],
    ]


def test_an_astro_site(tmp_path: Path) -> None:
    definitions = {
        "workspace.yaml": "id: astro\nlanguages: [en, ja]\n",
        "apis/blog.yaml": """\
uid: api_blog
endpoint: blog
kind: list
multilingual: true
source: ["src/content/blog/{lang}/{path}.mdx", "src/content/blog/{lang}/{path}.md"]
meta: {publishedAt: pubDate}
fields: [{id: title, type: text}, {id: heroImage, type: image}, {id: body, type: richtext}]
""",
    }
    found, said = built(tmp_path, ASTRO, definitions)
    assert len(said) == 1
    assert "an image has no text for those who cannot see it" in said[0]
    assert str(found["en/blog/first"]["publishedAt"]) == "2022-07-08 00:00:00"
    assert sorted(found) == ["en/blog/first", "en/blog/guides-second", "ja/blog/first"]


PRESET_DEFINITIONS = {
    "workspace.yaml": "id: presets\nlanguages: [en, de, pt-BR]\nlang_map: {pt_BR: pt-BR}\n",
    "apis/presets.yaml": """\
uid: api_presets
endpoint: presets
kind: list
source: dist/presets.json
from: $.presets
fields: [{id: name, type: text}, {id: icon, type: text}, {id: key, type: text, from: $key}]
""",
    "apis/texts.yaml": """\
uid: api_texts
endpoint: texts
kind: list
multilingual: true
source: dist/translations/{lang}.json
from: $
fields: [{id: value, type: text, from: $value}]
""",
}


def test_a_preset_database_in_json_with_translation_files(tmp_path: Path) -> None:
    found, said = built(tmp_path, PRESETS, PRESET_DEFINITIONS)
    assert said == []
    assert sorted(found) == [
        "de/texts/bar-name",
        "en/presets/amenity-bar",
        "en/presets/shop",
        "en/texts/bar-name",
        "en/texts/shop-name",
        "pt-BR/texts/bar-name",
        "pt-BR/texts/shop-name",
    ]
    assert found["pt-BR/texts/shop-name"]["value"] == "Loja"
    assert found["en/presets/amenity-bar"]["key"] == "amenity/bar"


NESTED = {
    "workspace.yaml": "id: app\nlanguages: [en, de]\n",
    "apis/texts.yaml": """\
uid: api_texts
endpoint: texts
kind: list
multilingual: true
source: "{lang}.json"
from: $.app.**
fields: [{id: value, type: text, from: $value}, {id: key, type: text, from: $key}]
""",
}


def test_translations_may_be_nested(tmp_path: Path) -> None:
    files = {
        "en.json": '{"app": {"menu": {"home": "Home", "more": {"about": "About"}}, "title.long": "Hello", "none": {}}}',
        "de.json": '{"app": {"menu": {"home": "Start"}}}',
    }
    found, said = built(tmp_path, files, NESTED)
    assert said == []
    assert sorted(found) == [
        "de/texts/menu-home",
        "en/texts/menu-home",
        "en/texts/menu-more-about",
        "en/texts/title-long",
    ]
    assert (found["de/texts/menu-home"]["value"], found["de/texts/menu-home"]["key"]) == ("Start", "menu.home")


def test_a_mistake_in_nested_translations_has_its_line(tmp_path: Path) -> None:
    files = {
        "en.json": '{"app": {\n "menu": {\n  "home": 1,\n  "list": ["a"]\n },\n "menu.home": "twice"\n}}',
        "de.json": '{"app":\n ["a list"]}',
    }
    problems = check(write_folder(tmp_path / "site", files, NESTED), tmp_path / "cache").kept
    assert [str(one) for one in problems if one.kind != "no-date"] == [
        "de.json:1: error: expected a mapping, got a list",
        "en.json:3: error: item 'menu.home': value: expected text, got the number 1; put it in quotes",
        "en.json:4: error: item 'menu.list': value: expected text, got a list of 1; write \"a\" without the list",
    ]


def test_plain_markdown(tmp_path: Path) -> None:
    definitions = {
        "workspace.yaml": "id: plain\nlanguages: [en]\n",
        "apis/notes.yaml": """\
uid: api_notes
endpoint: notes
kind: list
source: ["notes/{path}.md", "notes/{path}.markdown"]
fields: [{id: body, type: richtext}]
""",
    }
    found, said = built(tmp_path, PLAIN, definitions)
    assert said == []
    assert sorted(found) == ["en/notes/a", "en/notes/c", "en/notes/deep-er-b"]


def test_keys_of_the_content_called_key_or_path_give_no_id(tmp_path: Path) -> None:
    definitions = {
        "workspace.yaml": "id: w\nlanguages: [en]\n",
        "apis/a.yaml": "uid: a\nendpoint: a\nkind: list\nsource: a.json\nfrom: $\nfields: [{id: key, type: text}]\n",
        "apis/b.yaml": "uid: b\nendpoint: b\nkind: list\nsource: ['b/{path}.md', c/*.md]\n"
        "fields: [{id: path, type: text}]\n",
        "a.json": '{"one": {"key": "k"}, "two": {"key": "k"}}',
        "b/x/y.md": "---\npath: p\n---\n",
        "c/z.md": "---\npath: p\n---\n",
    }
    found, said = built(tmp_path, definitions)
    assert (sorted(found), said) == (["en/a/one", "en/a/two", "en/b/x-y", "en/b/z"], [])
    assert found["en/a/one"]["key"] == "k"


def test_mistakes_in_a_collection_are_at_their_lines(tmp_path: Path) -> None:
    files = {
        "dist/presets.json": (
            '{\n  "presets": {\n    "a": {"name": "A", "icon": 5},\n    "": {"name": "B"},\n    "c": {\n'
            '      "name": "C",\n      "extra": 1\n    },\n    "a b": {},\n    "a-b": {},\n    "d": "text"\n  }\n}\n'
        ),
        "dist/translations/en.json": '{\n  "x": "X",\n  "y": ["Y"]\n}\n',
        "dist/translations/de.json": "[]\n",
        "dist/translations/pt_BR.json": '{\n  "x": null\n}\n',
    }
    places = [line.split(": ")[0] + " " + line.split(": ")[1] for line in problems(tmp_path, files, PRESET_DEFINITIONS)]
    assert places == [
        "dist/presets.json:3 error",
        "dist/presets.json:4 error",
        "dist/presets.json:7 warning",
        "dist/presets.json:10 error",
        "dist/presets.json:11 error",
        "dist/translations/en.json:3 error",
    ]
    (wrong,) = problems(tmp_path, PRESETS, {"dist/presets.json": '{\n "preset": {}\n}'})[:1]
    assert wrong == (
        "dist/presets.json:1: error: there is no key 'presets' in $, which 'from' of the definition leads to"
    )


def test_a_list_in_a_member_needs_ids(tmp_path: Path) -> None:
    files = {"dist/presets.json": '{"presets": [\n{"id": "a", "name": "A"},\n{"name": "B"}\n]}'}
    (error,) = [line for line in problems(tmp_path, PRESETS, PRESET_DEFINITIONS, files) if "error" in line]
    assert error.startswith("dist/presets.json:3: error: item 2: no ID: add an 'id' key")


def test_two_paths_with_one_id_are_an_error_that_names_both_and_id_map_decides(tmp_path: Path) -> None:
    definitions = {
        "workspace.yaml": "id: plain\nlanguages: [en]\n",
        "apis/notes.yaml": "uid: u\nendpoint: notes\nkind: list\nsource: 'n/{path}.md'\nfields: []\n",
        "n/a/b.md": "x",
        "n/a-b.md": "y",
    }
    (error,) = problems(tmp_path, definitions)
    assert "n/a/b.md:1: error: two language versions of 'a-b' in en for notes: the other is n/a-b.md:1" in error
    mapped = {"apis/notes.yaml": definitions["apis/notes.yaml"] + "id_map: {a/b: a_b}\n"}
    found, said = built(tmp_path, definitions, mapped)
    assert (sorted(found), said) == (["en/notes/a-b", "en/notes/a_b"], [])


def test_references_by_path_that_lead_nowhere_are_named_as_written(tmp_path: Path) -> None:
    post = "---\ntitle: T\ndate: 2024-01-01\nrelated:\n  - /posts/none/\n  - mailto:a@b.example\n---\n"
    only_paths = post.replace("  - mailto:a@b.example\n", "")
    said = problems(tmp_path, HUGO, HUGO_DEFINITIONS, {"content/posts/x.md": post})
    assert [line.partition(": it")[0][:90] for line in said if "x.md" in line] == [
        "content/posts/x.md:4: error: related: 'mailto:a@b.example' is not the path of an entry on this "[:90]
    ]
    said = problems(tmp_path, {"content/posts/x.md": only_paths})
    assert said == [
        "content/posts/x.md:5: warning: related: there is no entry '/posts/none/' in posts (as an ID: 'posts-none')"
    ]


def test_urls_of_other_sites_are_no_references(tmp_path: Path) -> None:
    ours = {"workspace.yaml": HUGO_DEFINITIONS["workspace.yaml"] + "domains: [site.example, '*.mine.example']\n"}
    urls = ["https://site.example/posts/hello", "http://www.mine.example:80/posts/hello.html?a#b"]
    post = "---\ntitle: T\ndate: 2024-01-01\nrelated: [%s]\n---\n"
    files = {
        "content/posts/x.md": post % ", ".join(urls),
        "content/posts/y.md": post % "https://other.example/posts/hello",
    }
    (error,) = problems(tmp_path, HUGO, HUGO_DEFINITIONS, ours, files)
    assert error.startswith(
        "content/posts/y.md:4: error: related: 'https://other.example/posts/hello' is not the path of an "
    )
    assert problems(tmp_path, HUGO_DEFINITIONS) == []


def test_a_changed_setting_is_built_like_a_new_folder(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", HUGO, HUGO_DEFINITIONS, PRESETS)
    presets = PRESET_DEFINITIONS["apis/presets.yaml"]
    posts = HUGO_DEFINITIONS["apis/posts.yaml"]
    notes = "uid: n\nendpoint: notes\nkind: list\nsource: 'content/posts/{name}.md'\nfields: [%s]\n"
    by_path = "{id: related, type: references, api: posts, by: path}"
    steps = [
        {"apis/presets.yaml": presets},
        {
            "apis/presets.yaml": presets.replace("from: $.presets", "from: $").replace(
                "name, type: text", "x, type: text"
            )
        },
        {"apis/posts.yaml": posts.replace('exclude: "**/_includes/**"', 'exclude: "**/json.md"')},
        {"apis/posts.yaml": posts.replace("lang: null, ", "")},
        {"apis/notes.yaml": notes % by_path, "apis/posts.yaml": posts},
        {"apis/posts.yaml": posts + "id: 'x-{path}'\n"},
        {"apis/notes.yaml": notes % by_path.replace(", by: path", "")},
    ]
    for number, step in enumerate(steps):
        write_folder(root, step)
        fresh = check(root, tmp_path / f"fresh-{number}")
        again = check(root, tmp_path / "cache")
        assert [str(problem) for problem in again.kept] == [str(problem) for problem in fresh.kept]
        if not fresh.errors:
            other = tmp_path / f"other-{number}"
            from_nothing = build(root, Store(other / "store", other / "cache"), now=NOW)
            assert versions(tmp_path, rebuilt(root, tmp_path)) == versions(other, from_nothing)
