"""One run of a check says everything (decision 53), and each fault once, where it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from snapshots.build.build import build, check
from snapshots.columns import FileKind
from snapshots.problems import WorkspaceRefused
from snapshots.store.store import Store

WORKSPACE = "id: w\nlanguages: [en, ja]\n"
BLOG = """\
uid: api_blog
endpoint: blog
kind: list
multilingual: true
meta: {createdAt: date, publishedAt: date}
fields:
  - {id: title, type: text, required: true}
  - {id: date, type: datetime}
  - {id: rank, type: number, from: meta.rank}
  - {id: authors, type: references, api: authors}
  - {id: body, type: richtext}
"""
AUTHORS = "uid: api_authors\nendpoint: authors\nkind: list\nid: '{name}'\nfields: [{id: name, type: text}]\n"
GOOD = "---\ntitle: T\ndate: 2026-01-01\n---\nText.\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in {
        "workspace.yaml": WORKSPACE,
        "apis/blog.yaml": BLOG,
        "apis/authors.yaml": AUTHORS,
        **files,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def said(root: Path, *, keep: str = "") -> list[str]:
    found = check(root, root / ".cms")
    return [f"{p.file}:{p.line} {p.severity}: {p.text}" for p in found.kept if keep in p.message]


def test_content_is_checked_although_a_definition_is_wrong(tmp_path: Path) -> None:
    wrong = {
        "apis/pages.yaml": "uid: api_pages\nendpoint: pages\nkind: lst\nfields: []\n",
        "apis/torn.yaml": "uid: [\n",
        "content/blog/bad.md": "---\ntitle: T\nrank: 5\ndate: 2026-13-01\n---\n",
        "content/blog/torn.md": "---\ntitle: [\n---\n",
        "content/blog/untitled.md": "---\ndate: 2026-01-01\n---\n",
        "content/pages/lost.md": "text",
    }
    root = write(tmp_path, wrong)
    places = [line.partition(": ")[0] for line in said(root)]
    assert places == [
        "apis/pages.yaml:3 error",
        "apis/torn.yaml:2 error",
        "content/blog/bad.md:3 warning",
        "content/blog/bad.md:4 error",
        "content/blog/torn.md:3 error",
        "content/blog/untitled.md:1 error",
    ]
    with pytest.raises(WorkspaceRefused) as refused:
        build(root, Store(tmp_path / "store", tmp_path / "cache"), now=0)
    assert refused.value.problems.errors == 5
    assert not list((tmp_path / "store").glob("*/snapshots/*"))


def test_content_is_checked_although_workspace_yaml_is_wrong(tmp_path: Path) -> None:
    wrong = {
        "workspace.yaml": "languages: [en, ja]\ntimezone: Nowhere\nnonsense: 1\n",
        "content/blog/bad.ja.md": "---\ntitle: T\ndate: 2026-13-01\n---\n",
    }
    places = [line.partition(": ")[0] for line in said(write(tmp_path, wrong))]
    assert places == [
        "content/blog/bad.ja.md:3 error",
        "workspace.yaml:1 error",
        "workspace.yaml:2 error",
        "workspace.yaml:3 error",
    ]


def test_a_mended_definition_is_built_at_once(tmp_path: Path) -> None:
    root = write(tmp_path / "w", {"content/blog/a.md": GOOD, "content/authors/mika.md": "---\nname: mika\n---\n"})
    store = Store(tmp_path / "store", tmp_path / "cache")
    first = build(root, store, now=0)
    (root / "apis/authors.yaml").write_text(AUTHORS.replace("list", "lst"))
    with pytest.raises(WorkspaceRefused):
        build(root, store, now=1)
    (root / "apis/authors.yaml").write_text(AUTHORS)
    again = build(root, store, now=2)
    assert (again.changed, again.version, again.entries) == (False, first.version, 2)


def test_references_to_an_api_with_an_error_are_not_blamed(tmp_path: Path) -> None:
    files = {
        "apis/authors.yaml": AUTHORS.replace("kind: list", "kind: lst"),
        "content/blog/a.md": GOOD.replace("title: T", "title: T\nauthors: [William J. Turkel]"),
    }
    assert [line.partition(": ")[0] for line in said(write(tmp_path, files))] == ["apis/authors.yaml:3 error"]


def test_one_bad_date_is_one_error(tmp_path: Path) -> None:
    root = write(tmp_path, {"content/blog/a.md": "---\ntitle: T\ndate: 2026-13-01\n---\n"})
    (error,) = said(root)
    assert error.startswith("content/blog/a.md:3 error: createdAt: no such date-time")


def test_one_bad_value_of_two_languages_is_one_error(tmp_path: Path) -> None:
    api = BLOG.replace("type: text, required: true", "type: text, from: 'title.{lang}'")
    text = "title: {en: A, ja: B}\ndate: 2026-01-01\nmeta: {rank: many}\n"
    (error,) = said(write(tmp_path, {"apis/blog.yaml": api, "content/blog/a.yaml": text}))
    assert error.startswith("content/blog/a.yaml:3 error: rank: expected a number")


def test_full_width_digits_are_called_that(tmp_path: Path) -> None:
    text = "---\ntitle: T\ndate: ２０２６-01-01 10：30\nmeta: {rank: １.５}\n---\n"
    date, rank = said(write(tmp_path, {"content/blog/a.md": text}))
    assert date.startswith("content/blog/a.md:3 ")
    assert date.endswith("it has full-width characters: write 2026-01-01 10:30")
    assert rank.startswith("content/blog/a.md:4 ")
    assert rank.endswith("it has full-width digits: write 1.5")


def test_the_message_on_a_long_id_names_every_way_out(tmp_path: Path) -> None:
    long = "l" * 80
    files = {f"content/blog/{long}.md": GOOD, "content/blog/b.md": GOOD.replace("title", f"id: {long}\ntitle")}
    (written,) = said(write(tmp_path, files))  # a name of a file is cut
    assert f"{long!r} is not an ID: it has 80 characters, and at most 64 are allowed" in written
    assert all(
        way in written for way in ("shorten it", "remove the key", "meta: {id: null}", "'id' template", "id_map")
    )


BY_CHANCE = {
    "workspace.yaml": "id: w\nlanguages: [en, ja, zh]\n",
    "apis/pages.yaml": "uid: api_pages\nendpoint: pages\nkind: list\nmultilingual: true\n"
    "source: 'docs/{lang}/{path}.md'\nfields: []\n",
}


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("ja/料金.md", "zh/公司.md", False),
        ("ja/料金.md", "zh/料金.md", True),
        ("ja/caf\u00e9.md", "zh/cafe\u0301.md", True),
        ("en/a/b.md", "ja/a-b.md", None),
        ("en/a.b.md", "ja/a b.md", None),
        ("en/a/b.md", "ja/a/b.md", True),
    ],
)
def test_names_that_differ_are_in_one_entry_for_no_chance(
    tmp_path: Path, one: str, other: str, are_one: bool | None
) -> None:
    date = "---\ncreatedAt: 2026-01-01\n---\n"
    root = write(tmp_path, {**BY_CHANCE, f"docs/{one}": date, f"docs/{other}": date})
    problems = [line for line in said(root) if "not translated" not in line]
    if are_one is None:
        (line,) = problems
        assert line.startswith(f"docs/{other}:1 error: ")
        assert all(text in line for text in (f"docs/{one}:1", "both give the ID 'a-b'", "'id'", "'id_map'"))
        stated = "---\nid: a-b\ncreatedAt: 2026-01-01\n---\n"
        write(tmp_path, {f"docs/{one}": stated, f"docs/{other}": stated})
        assert said(root) == []  # what a person says is no chance
    else:
        assert problems == []
        made = build(root, Store(tmp_path / "store", tmp_path / "cache"), now=0)
        place = Store(tmp_path / "store", tmp_path / "cache").workspace("w")
        files = [file for file in place.manifest(made.version).files if file.kind is FileKind.PUBLISHED]
        ids = [pq.read_table(place.bring_file(made.version, file), columns=["id"])["id"].to_pylist() for file in files]
        assert len({entry for some in ids for entry in some}) == (1 if are_one else 2)


@pytest.mark.parametrize("name", ["料金", "Über", "o.xx", "v1.10", "a" * 80, "an essay"])
def test_a_file_of_a_site_can_have_any_name(tmp_path: Path, name: str) -> None:
    api = BY_CHANCE["apis/pages.yaml"].replace("{path}", "{name}") + "page_url: '/{id}/'\n"
    api = api.replace("fields: []", "fields: [{id: next, type: reference, api: pages}]")
    text = f"---\ncreatedAt: 2026-01-01\nnext: {name}\n---\n"
    assert said(write(tmp_path, {**BY_CHANCE, "apis/pages.yaml": api, f"docs/en/{name}.md": text})) == []


@pytest.mark.parametrize("name", ["料金", "Über-uns", "a" * 80])
def test_a_file_without_a_pattern_can_be_named_in_any_script_and_referred_to(tmp_path: Path, name: str) -> None:
    posts = BLOG.replace("api: authors", "api: blog")
    text = GOOD.replace("T\n", f"T\nauthors: [{name}]\n", 1) if len(name) <= 64 else GOOD
    assert said(write(tmp_path, {"apis/blog.yaml": posts, f"content/blog/{name}.md": text})) == []


def test_a_dangling_reference_shows_what_is_written_at_its_item(tmp_path: Path) -> None:
    files = {
        "content/authors/mika.md": "---\nname: mika\ncreatedAt: 2026-01-01\n---\n",
        "content/blog/a.md": GOOD.replace("T\n", "T\nauthors:\n  - mika\n  - William J. Turkel\n  - ken\n"),
        "content/blog/b.json": '{\n"title": "T", "date": "2026-01-01",\n"authors": [\n"mika",\n"A B"\n]\n}\n',
        "content/blog/c.toml": 'title = "T"\ndate = 2026-01-01\nauthors = [\n  "mika",\n  "C D",\n]\n',
    }
    assert said(write(tmp_path, files)) == [
        "content/blog/a.md:5 warning: authors: there is no entry 'William J. Turkel' in authors "
        "(as an ID: 'William-J--Turkel')",
        "content/blog/a.md:6 warning: authors: there is no entry 'ken' in authors",
        "content/blog/b.json:5 warning: authors: there is no entry 'A B' in authors (as an ID: 'A-B')",
        "content/blog/c.toml:5 warning: authors: there is no entry 'C D' in authors (as an ID: 'C-D')",
    ]


def test_what_matches_nothing_is_warned_about(tmp_path: Path) -> None:
    api = 'source: [content/blog/*.md, "posts/*.md", "content/news/{lang}/*.md"]\n'
    api += 'exclude:\n  - "**/none/**"\n  - "**/_*"\n  - "**/_a.md"\n'
    files = {
        "apis/blog.yaml": api + BLOG,
        "content/blog/a.md": GOOD,
        "content/blog/_a.md": GOOD,
        "content/news/fr/a.md": GOOD,
    }
    assert said(write(tmp_path, files), keep="match") + said(tmp_path, keep="leaves no file out") == [
        "apis/blog.yaml:1 warning: source: no file matches 'content/news/{lang}/*.md': correct it or remove it",
        "apis/blog.yaml:1 warning: source: no file matches 'posts/*.md': correct it or remove it",
        "apis/blog.yaml:3 warning: exclude: '**/none/**' matches no file: correct it or remove it",
    ]


def test_a_warning_of_a_pattern_goes_when_a_file_matches(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"apis/blog.yaml": "source: posts/*.md\n" + BLOG, "content/authors/a.md": "---\nname: a\n---\n"}
    )
    assert len(said(root, keep="no file matches")) == 1
    (root / "posts").mkdir()
    (root / "posts/a.md").write_text(GOOD)
    assert said(root, keep="no file matches") == []
    (root / "posts/a.md").unlink()
    assert len(said(root, keep="no file matches")) == 1


def test_a_folder_that_no_api_reads_is_warned_about(tmp_path: Path) -> None:
    files = {
        "content/blgo/deep/a.md": GOOD,
        "content/images/a.png": "",
        "content/drafts/a.md": GOOD,
        "content/blog/b.md": GOOD,
        "other/a.md": GOOD,
        "apis/blog.yaml": 'exclude: "content/drafts/**"\n' + BLOG,
    }
    assert said(write(tmp_path, files)) == [
        "content/blgo:1 warning: no API reads this folder: name it in a 'source', or leave it out with an 'exclude'; "
        "did you mean 'blog'?"
    ]


def test_a_file_with_nearly_the_right_extension_is_named(tmp_path: Path) -> None:
    api = "source: posts/*.md\n" + BLOG
    api = "exclude: '**/x.MD'\n" + api
    names = ("a.md", "b.MD", "c.markdown", "d.mkd", "e.yaml", "f.png", "g.md.bak", "x.MD")
    root = write(tmp_path, {"apis/blog.yaml": api, **{f"posts/{name}": GOOD for name in names}})
    assert said(root) == [
        "posts/b.MD:1 warning: is not read: name it b.md, or add a 'source' that ends with .MD",
        "posts/c.markdown:1 warning: is not read: name it c.md, or add a 'source' that ends with .markdown",
        "posts/d.mkd:1 warning: is not read: name it d.md",
    ]


def test_a_field_may_have_any_name_that_is_not_reserved(tmp_path: Path) -> None:
    names = (
        "lang",
        "state",
        "scheduled",
        "digest",
        "file",
        "line",
        "item",
        "json",
        "row",
        "chunk",
        "size",
        "published",
    )
    api = "uid: u\nendpoint: x\nkind: list\nmeta: {lang: null}\nfields:\n"
    api += "".join(f"  - {{id: {name}, type: text, required: true}}\n" for name in names)
    text = "---\ncreatedAt: 2026-01-01\n" + "".join(f"{name}: my {name}\n" for name in names) + "---\n"
    root = write(tmp_path / "w", {"apis/x.yaml": api, "content/x/a.md": text})
    assert build(root, Store(tmp_path / "store", tmp_path / "cache"), now=0).entries == 1


ITEMS = """\
uid: api_items
endpoint: items
kind: list
source: items.json
meta: {createdAt: date}
fields:
  - {id: title, type: text, required: true}
  - {id: rank, type: number}
  - {id: others, type: references, api: items}
  - {id: body, type: richtext}
  - {id: seo, type: group, fields: [{id: title, type: text}]}
"""
FAULTS = {
    "type": '"title": "T", "rank": "x"',
    "missing": '"rank": 1',
    "date": '"title": "T", "date": "2026-13-01"',
    "status": '"title": "T", "status": "live"',
    "lang": '"title": "T", "lang": "xx"',
    "asset": '"title": "T", "body": "<img src=\\"none.png\\" alt=\\"x\\">"',
    "twice": '"title": "T", "title": "U"',
    "dangling": '"title": "T", "others": ["nobody"]',
    "unknown": '"title": "T", "colour": 1',
    "inside": '"title": "T", "seo": {"titel": 1}',
    "removed": '"title": "T", "body": "<form>x</form>"',
    "undated": '"title": "T", "date": null',
}


def faulty(fault: str, written: str) -> str:
    dated = "" if '"date"' in written else '"date": "2026-01-01", '
    return f'{{"id": "{fault}", {dated}{written}}}'


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_one_of_many_items_names_the_item(tmp_path: Path, fault: str) -> None:
    good, bad = faulty("good", '"title": "T"'), faulty(fault, FAULTS[fault])
    number = "item 2" if fault == "twice" else f"item 2 ({fault!r})"  # its ID is not known where keys clash
    for source, item in (
        (f"[{good}, {bad}]", number),
        (f'{{"all": [{good}, {bad}]}}', f"item 2 ({fault!r})"),
        (f'{{"all": {{"x/good": {good}, "x/{fault}": {bad}}}}}', f"item 'x/{fault}'"),
    ):
        api = ITEMS if source.startswith("[") else f"from: $.all\n{ITEMS}"
        if fault == "twice" and "all" in source:
            continue  # a fault of the whole file
        (found,) = said(write(tmp_path, {"apis/items.yaml": api, "items.json": source}))
        assert found.split(": ")[:2] in (["items.json:1 error", item], ["items.json:1 warning", item])


def test_items_with_one_id_are_told_apart(tmp_path: Path) -> None:
    items = ", ".join(faulty(one, '"title": "T"') for one in ("a", "b", "a"))
    (error,) = said(write(tmp_path, {"apis/items.yaml": ITEMS, "items.json": f"[{items}]"}))
    assert error == (
        "items.json:1 error: item 3 ('a'): two language versions of 'a' in en for items: "
        "the other is items.json:1, item 1 ('a'); remove one or give it another ID"
    )
    keyed = '{"a b": {"title": "T", "date": "2026-01-01"}, "a-b": {"title": "T", "date": "2026-01-01"}}'
    (error,) = said(write(tmp_path, {"apis/items.yaml": f"from: $\n{ITEMS}", "items.json": keyed}))
    assert error.startswith("items.json:1 error: item 'a-b': two language versions of 'a-b' in en")
    assert "the other is items.json:1, item 'a b';" in error


def test_an_item_without_an_id_is_named_by_what_gives_it(tmp_path: Path) -> None:
    people = '[{"called": "Ann M. Lee", "born": 1}, {"born": "2026-01-01"}, 3]'
    api = AUTHORS.replace("name", "called").replace("list\n", "list\nsource: people.json\nmeta: {createdAt: born}\n")
    found = said(write(tmp_path, {"apis/authors.yaml": api, "people.json": people}))
    assert sorted(line.split(": ")[1] for line in found) == ["item 1 ('Ann M. Lee')", "item 2", "item 3"]


def test_items_of_yaml_and_toml_are_named_beside_their_lines(tmp_path: Path) -> None:
    files = {
        "apis/items.yaml": ITEMS.replace("source: items.json", "source: [items.yaml, items.toml]\nfrom: $.all"),
        "items.yaml": "all:\n  one:\n    title: [a]\n    date: 2026-01-01\n",
        "items.toml": '[[all]]\nid = "two"\ntitle = 5\ndate = 2026-01-01\n',
        "apis/listed.yaml": "uid: l\nendpoint: listed\nkind: list\nsource: listed.yaml\nfields: []\n",
        "listed.yaml": "- id: three\n  id: four\n- five\n",
    }
    found = said(write(tmp_path, files))
    assert [line.partition(": expected")[0] for line in found] == [
        "items.toml:3 error: item 1 ('two'): title",
        "items.yaml:3 error: item 'one': title",
        "listed.yaml:2 error: item 1: the key 'id' appears twice: first on line 1",
        "listed.yaml:3 error: item 2",
    ]


def test_the_same_warning_about_many_items_stays_one_message(tmp_path: Path) -> None:
    items = ", ".join(f'{{"id": "i{number}", "title": "T"}}' for number in range(9))
    root = write(tmp_path, {"apis/items.yaml": ITEMS, "items.json": f"[{items}]"})
    found = check(root, root / ".cms").kept
    assert (len(found), len({one.message for one in found})) == (9, 1)
    assert [one.item for one in found][8] == "item 9 ('i8')"
