"""Content that says it is not for everybody: never published by a guess, whatever the format, spelling or key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snapshots.build.build import build, check
from snapshots.columns import FileKind
from snapshots.problems import WorkspaceRefused
from snapshots.store.store import open_store
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000
HEAD = "uid: api_p\nendpoint: posts\nkind: list\nmultilingual: true\n"
FIELDS = "fields: [{id: title, type: text}]\n"
WORDS = ("draft", "status", "published", "publish", "hidden", "private", "unlisted", "archived")

TRUE = ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1", "tRUE")
FALSE = ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N", "0", "fALSE")


def workspace(root: Path, api: str, files: dict[str, str]) -> Path:
    files = {"workspace.yaml": "id: w\nlanguages: [en, ja]\n", "apis/posts.yaml": HEAD + api, **files}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def ids(root: Path, kind: FileKind = FileKind.PUBLISHED, **options: bool) -> set[str]:
    """Return the IDs in the data files of one kind, after a build."""
    store = open_store(root / ".cms")
    made = build(root, store, now=NOW, allow_breaking=True, **options)
    place = store.workspace("w")
    files = [file for file in place.manifest(made.version).files if file.kind is kind]
    return {one for file in files for one in (row["id"] for row in stored_rows(place.bring_file(made.version, file)))}


def errors(root: Path) -> list[str]:
    found = check(root, root / ".cms" / "cache").kept
    return [f"{one.file}:{one.line} {one.text}" for one in found if one.severity == "error"]


def in_every_format(name: str, key: str, written: str) -> dict[str, str]:
    """Return files, each with a version that has ``key``, written as YAML writes it: plain and quoted, and as text."""
    text = json.dumps(written)
    raw = written if written in ("true", "false", "1", "0") else text
    return {
        f"content/posts/{name}-md.md": f"---\ntitle: T\n{key}: {written}\n---\nText.\n",
        f"content/posts/{name}-mdq.md": f"---\ntitle: T\n{key}: '{written}'\n---\n",
        f"content/posts/{name}-fmtoml.md": f'+++\ntitle = "T"\n{key} = {raw}\n+++\nText.\n',
        f"content/posts/{name}-fmjson.md": f'{{"title": "T", "{key}": {raw}}}\nText.\n',
        f"content/posts/{name}-yaml.yaml": f"title: T\n{key}: {written}\n",
        f"content/posts/{name}-toml.toml": f'title = "T"\n{key} = {text}\n',
        f"content/posts/{name}-json.json": f'{{"title": "T", "{key}": {raw}}}',
        f"content/posts/{name}-list.yml": f"- {{id: {name}-list, title: T, {key}: {written}}}\n",
        f"content/posts/{name}-lines.jsonl": f'{{"id": "{name}-lines", "title": "T", "{key}": {raw}}}\n',
    }


def names(file: str) -> str:
    return Path(file).stem


@pytest.mark.parametrize("key", ["draft", "Draft", "DRAFT"])
def test_whatever_is_plainly_true_or_false_is(tmp_path: Path, key: str) -> None:
    drafts, shown = dict[str, str](), dict[str, str]()
    for at, written in enumerate(TRUE):
        drafts |= in_every_format(f"t{at}", key, written)
    for at, written in enumerate(FALSE):
        shown |= in_every_format(f"f{at}", key, written)
    root = workspace(tmp_path, FIELDS, drafts | shown)
    assert errors(root) == []
    assert ids(root) == set(map(names, shown))
    assert ids(root, FileKind.DRAFTS) == set(map(names, drafts))


def test_a_key_without_a_value_says_nothing(tmp_path: Path) -> None:
    files = {}
    for at, key in enumerate((*WORDS, "Hidden", "DRAFT")):
        for number, written in enumerate(("", "~", "null", "''", "' '")):
            files[f"content/posts/e{at}-{number}.md"] = f"---\n{key}: {written}\n---\n"
    root = workspace(tmp_path, FIELDS, {name: text for name, text in files.items() if "status: '" not in text})
    assert errors(root) == []
    assert len(ids(root)) == len(files) - 2


@pytest.mark.parametrize("word", WORDS)
def test_what_is_not_read_is_an_error_unless_it_is_for_everybody(tmp_path: Path, word: str) -> None:
    hides, shows = ("false", "true") if word.startswith("publish") else ("true", "false")
    wrong, right = dict[str, str](), dict[str, str]()
    for number, key in enumerate((word, word.title(), word.upper())):
        doubtful = ["maybe", "2999-01-01", "2", "[true]", "{a: b}", "nil", "t"]
        if word == "status":
            doubtful += ["true", "false", "archived"]
            if key != "status":
                right[f"content/posts/s{number}.md"] = f"---\n{key}: Published\n---\n"
        elif word != "draft":
            doubtful += [hides, "'No'" if hides == "false" else "'Yes'", "0" if hides == "false" else "1"]
            right |= in_every_format(f"r{number}", key, shows)
        for at, written in enumerate(doubtful):
            wrong[f"content/posts/w{number}-{at}.md"] = f"---\ntitle: T\n{key}: {written}\n---\n"
        wrong[f"content/posts/w{number}.json"] = json.dumps({"title": "T", key: 3}, indent=0)
        wrong[f"content/posts/w{number}-lines.jsonl"] = f'{{"id": "x{number}", "{key}": "maybe"}}\n'
    root = workspace(tmp_path, FIELDS, wrong | right)
    found = errors(root)
    assert {one.partition(":")[0] for one in found} == set(wrong)
    assert len(found) == len(wrong)
    with pytest.raises(WorkspaceRefused):
        ids(root)
    assert ids(root, lenient=True) == set(map(names, right))
    assert ids(root, FileKind.DRAFTS, lenient=True) == set()


def test_the_error_has_its_line_and_three_ways_that_settle_it(tmp_path: Path) -> None:
    page = "---\ntitle: T\nunlisted: yes\n---\n"
    root = workspace(tmp_path, FIELDS, {"content/posts/a.md": page, "content/posts/b.md": "---\ntitle: T\n---\n"})
    (found,) = errors(root)
    assert found == (
        'content/posts/a.md:3 unlisted is "yes", which the definition does not read, and may mean \'not for '
        "everybody'. In the definition, read it with 'meta: {draft: unlisted}', leave such versions out with 'hidden: "
        "[unlisted]', or say with 'meta: {unlisted: null}' that it means nothing here"
    )
    for way, published, drafts in (
        ("meta: {draft: unlisted}\n", {"b"}, {"a"}),
        ("hidden: [unlisted]\n", {"b"}, set()),
        ("hidden: unlisted\n", {"b"}, set()),
        ("meta: {unlisted: null}\n", {"a", "b"}, set()),
    ):
        workspace(root, way + FIELDS, {})
        assert errors(root) == []
        assert ids(root) == published, way
        assert ids(root, FileKind.DRAFTS) == drafts, way


@pytest.mark.parametrize("word", [*WORDS, "Draft", "Published", "secret"])
def test_hidden_leaves_out_whatever_is_not_plainly_for_everybody(tmp_path: Path, word: str) -> None:
    hides = "false" if word.lower().startswith("publish") else "true"
    shows = {"true": "no", "false": "yes"}[hides] if word != "status" else "published"
    files = {}
    for at, written in enumerate((hides, "maybe", "2", "[a]", "2020-01-01")):
        files |= in_every_format(f"h{at}", word, written) if at < 2 else {}
        files[f"content/posts/o{at}.md"] = f"---\n{word}: {written}\n---\n"
    right = in_every_format("right", word, shows) | {"content/posts/no.md": "---\ntitle: T\n---\n"}
    root = workspace(tmp_path, f"hidden: [{word}]\n{FIELDS}", files | right)
    assert errors(root) == []
    assert ids(root) == set(map(names, right))
    assert ids(root, FileKind.DRAFTS) == set()


def test_hidden_can_name_what_is_shown_and_read_below_a_key(tmp_path: Path) -> None:
    api = (
        "hidden:\n  - {key: status, unless: [live, 2]}\n  - {key: extra.published}\n  - {key: draft, unless: no more}\n"
    )
    items = [
        {"id": "live", "status": "live"},
        {"id": "two", "status": 2},
        {"id": "true", "status": True},
        {"id": "old", "status": "archived"},
        {"id": "inside", "extra": {"published": False}},
        {"id": "shown", "extra": {"published": True}},
        {"id": "done", "draft": "no more"},
    ]
    files = {"content/posts.json": json.dumps(items)}
    root = workspace(tmp_path, f"{api}meta: {{status: null}}\n{FIELDS}", files)
    assert ids(root) == {"live", "two", "shown", "done"}
    workspace(root, api + FIELDS, {})  # what is shown is no wrong status either
    assert ids(root) == {"live", "two", "shown", "done"}


def test_what_a_field_or_meta_reads_is_understood(tmp_path: Path) -> None:
    files = {
        "content/posts/a.md": "---\nhidden: yes\nstatus: good\n---\n",
        "content/posts/b.md": "---\nhidden: no\npublished: 2020-01-01\n---\n",
    }
    api = "meta: {status: null, publishedAt: published}\n"
    fields = "fields: [{id: hidden, type: text}, {id: state, type: text, from: status}]\n"
    root = workspace(tmp_path, api + fields, files)
    assert errors(root) == []
    assert ids(root) == {"a", "b"}
    # What a field reads stays a mark of unpublished changes, too, unless meta says otherwise.
    files = {"content/posts/c.md": "---\nhidden: no\ndraft: yes\n---\n"}
    workspace(root, api + "fields: [{id: draft, type: text}, {id: hidden, type: text}, {id: s, type: text}]\n", files)
    (root / "content/posts/a.md").unlink()
    assert ids(root) == {"b"}
    workspace(root, "meta: {draft: null}\nfields: [{id: draft, type: text}, {id: hidden, type: text}]\n", {})
    assert ids(root, lenient=True) == {"c"}


def test_a_draft_that_is_neither_true_nor_false_has_three_ways_that_settle_it(tmp_path: Path) -> None:
    files = {"content/posts/a.md": "---\nparams: {wip: maybe}\n---\n", "content/posts/b.md": "---\ntitle: T\n---\n"}
    root = workspace(tmp_path, f"meta: {{draft: params.wip}}\n{FIELDS}", files)
    (found,) = errors(root)
    assert "Write true or false. Or, in the definition" in found
    for way, published in (("hidden: [params.wip]\n", {"b"}), ("meta: {draft: null}\n", {"a", "b"})):
        assert f"'{way.rstrip()}'" in found
        workspace(root, way + FIELDS, {})
        assert errors(root) == []
        assert ids(root) == published


@pytest.mark.parametrize("key", ["published", "params.Publish"])
def test_what_shows_by_true_cannot_be_read_as_what_hides_by_true(tmp_path: Path, key: str) -> None:
    files = {"content/posts/a.md": "---\npublished: false\nparams: {Publish: false}\n---\n"}
    root = workspace(tmp_path, f"meta: {{draft: {key}}}\n{FIELDS}", files)
    (found,) = errors(root)
    assert f"'meta: {{status: {key}}}'" in found
    with pytest.raises(WorkspaceRefused):
        ids(root)


def test_published_can_be_the_status(tmp_path: Path) -> None:
    files = {
        "content/posts/a.md": "---\npublished: no\n---\n",
        "content/posts/b.md": "---\npublished: true\n---\n",
        "content/posts/c.md": "---\ntitle: T\n---\n",
        "content/posts/d.md": "---\npublished: maybe\n---\n",
        "content/posts/e.md": "---\nstatus: draft\n---\n",
    }
    root = workspace(tmp_path, f"meta: {{status: published}}\n{FIELDS}", files)
    assert [one.partition(" ")[0] for one in errors(root)] == ["content/posts/d.md:2", "content/posts/e.md:2"]
    assert ids(root, lenient=True) == {"b", "c"}
    assert ids(root, FileKind.DRAFTS, lenient=True) == {"a"}


def test_where_draft_stands_under_another_key_its_own_name_is_read_by_nothing(tmp_path: Path) -> None:
    files = {
        "content/posts/a.md": "---\nwip: on\n---\n",
        "content/posts/b.md": "---\ndraft: true\n---\n",
        "content/posts/c.md": "---\nDraft: true\n---\n",
        "content/posts/d.md": "---\nwip: maybe\n---\n",
        "content/posts/e.md": "---\nwip: off\ndraft: false\n---\n",
    }
    root = workspace(tmp_path, f"meta: {{draft: wip}}\n{FIELDS}", files)
    assert [one.partition(" ")[0] for one in errors(root)] == [f"content/posts/{one}.md:2" for one in "bcd"]
    assert ids(root, lenient=True) == {"e"}
    workspace(root, f"meta: {{draft: null}}\n{FIELDS}", {"content/posts/f.md": "---\n'': maybe\n---\n"})
    assert [one.partition(" ")[0] for one in errors(root)] == ["content/posts/c.md:2"]


def test_drafts_languages_objects_and_collections(tmp_path: Path) -> None:
    files = {
        "content/posts/a.md": "---\ntitle: T\n---\n",
        "content/posts/a.draft.md": "---\ntitle: U\ndraft: no\n---\n",
        "content/posts/a.ja.md": "---\ntitle: J\nhidden: 'true'\n---\n",
        "content/posts/b.md": "---\ndraft: false\nDraft: yes\n---\n",
        "apis/site.yaml": "uid: api_s\nendpoint: site\nkind: object\nfields: []\n",
        "content/site.yaml": "private: 'on'\n",
        "apis/people.yaml": "uid: api_q\nendpoint: people\nkind: list\nsource: p.json\nfrom: $.people\nfields: []\n",
        "p.json": '{"people": {"ann": {"draft": "yes"}, "bob": {"archived": 1}, "cy": {"archived": 0}}}',
        "apis/words.yaml": (
            "uid: api_w\nendpoint: words\nkind: list\nsource: w.yaml\nfrom: $\n"
            "fields: [{id: text, type: text, from: $value}]\n"
        ),
        "w.yaml": "hidden: Hidden\ndraft: Draft\nstatus: true\n",
    }
    root = workspace(tmp_path, FIELDS, files)
    found = errors(root)
    assert [one.partition(" ")[0] for one in found] == ["content/posts/a.ja.md:3", "content/site.yaml:1", "p.json:1"]
    assert "item 'bob': archived is the number 1" in found[2]
    assert ids(root, lenient=True) == {"a", "cy", "hidden", "draft", "status"}
    assert ids(root, FileKind.DRAFTS, lenient=True) == {"a", "b", "ann"}


def test_a_collection_is_kept_back_by_what_stands_beside_it(tmp_path: Path) -> None:
    api = "uid: api_{0}\nendpoint: {0}\nkind: list\nsource: {0}.json\nfrom: $.data.items\nfields: []\n"
    around = {
        "a": '"draft": true, "data": {ITEMS}',
        "b": '"data": {"published": "no", ITEMS}',
        "c": '"status": "Draft", "data": {ITEMS}',
        "d": '"status": "ok", "hidden": "by nobody", "published": true, "data": {ITEMS}',
    }
    files = {f"apis/{name}.yaml": api.format(name) for name in around}
    for name, text in around.items():
        items = json.dumps([{"id": f"{name}1"}, {"id": f"{name}2"}])
        files[f"{name}.json"] = "{" + text.replace("ITEMS", f'"items": {items}') + "}"
    root = workspace(tmp_path, FIELDS, files)
    found = errors(root)
    assert len(found) == 6
    assert "item 1 ('a1'): draft stands beside the collection" in found[0]
    assert "say in the definition with 'meta: {published: null}'" in found[2]
    assert ids(root, lenient=True) == {"d1", "d2"}
    settled = root / "apis" / "a.yaml"
    settled.write_text(settled.read_text() + "meta: {draft: null}\n")
    assert ids(root, lenient=True) == {"a1", "a2", "d1", "d2"}


@pytest.mark.parametrize(
    ("key", "back", "shown"),
    [
        ("headless", ["true", "1", "maybe"], ["false", "''"]),
        ("ignore", ["yes"], ["no"]),
        ("noindex", ["true"], ["false"]),
        ("visibility", ["private", "unlisted", "false", "true"], ["public", "Visible"]),
        ("robots", ["noindex", "'follow, NOINDEX'", "none", "[noindex]", "{index: false}", "{noindex: yes}", "false"],
         ["all", "'index, follow'", "{index: true, follow: false}"]),
        ("sitemap", ["false", "{disable: true}", "{exclude: maybe}"], ["true", "{priority: 0.5}", "{disable: no}"]),
        ("output", ["false", "never"], ["true", "html"]),
        ("render", ["no"], ["yes"]),
        ("permalink", ["false"], ["/a/", "{build: x}"]),
        ("_build", ["never", "{render: never}", "{list: local}", "{render: link, list: false}"],
         ["{render: always, list: true}", "{publishResources: false}"]),
        ("build", ["{list: never}", "false"], ["{render: ''}", "7"]),
        ("expiryDate", ["2020-01-01", "2999-01-01"], ["''", "false"]),
        ("EXPIRES", ["never"], ["~"]),
        ("unpublishDate", ["2020-01-01"], ["null"]),
    ],
)  # fmt: skip
def test_words_with_more_values_than_true_and_false(
    tmp_path: Path, key: str, back: list[str], shown: list[str]
) -> None:
    files = {f"content/posts/b{at}.md": f"---\n{key}: {written}\n---\n" for at, written in enumerate(back)}
    files |= {f"content/posts/s{at}.md": f"---\n{key}: {written}\n---\n" for at, written in enumerate(shown)}
    root = workspace(tmp_path, FIELDS, files)
    assert [one.partition(":")[0] for one in errors(root)] == sorted(file for file in files if "/b" in file)
    assert ids(root, lenient=True) == {f"s{at}" for at in range(len(shown))}
    workspace(root, f"hidden: [{key}]\n{FIELDS}", {})
    assert errors(root) == []
    assert ids(root) == {f"s{at}" for at in range(len(shown))}
    workspace(root, f"meta: {{{key}: null}}\n{FIELDS}", {})
    assert errors(root) == []
    assert ids(root) == {*(f"s{at}" for at in range(len(shown))), *(f"b{at}" for at in range(len(back)))}
