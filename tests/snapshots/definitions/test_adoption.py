"""Content that was not written for the format: what definitions can say about it, compiled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from snapshots.build.build import check
from snapshots.compile.entries import UNKNOWN_KEY, ApiCompiler, Repeated
from snapshots.compile.richtext import RichText
from snapshots.definitions.workspace import load_workspace
from snapshots.documents.read import read_documents
from snapshots.problems import Problems
from snapshots.sources.listing import scan


def compiled(root: Path, api: str, files: dict[str, str]) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """The versions of the one API a workspace has, its problems, and the keys that nothing reads."""
    head = "uid: api_x\nendpoint: x\nkind: list\nmultilingual: true\n"
    files = {
        "workspace.yaml": "id: w\nlanguages: [en, pt-BR]\nlang_map: {pt: pt-BR}\n",
        "apis/x.yaml": head + api,
        **files,
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    problems, repeated = Problems(), Repeated()
    definitions = load_workspace(root, problems)
    assert definitions is not None
    (made,) = definitions.workspace.apis
    compiler = ApiCompiler(
        definitions.workspace,
        made,
        definitions.sources[made.uid],
        ZoneInfo("UTC"),
        {made.uid: definitions.sources[made.uid].id_map},
        RichText(definitions.rich_text),
    )
    for number, file in enumerate(scan(root, definitions, problems)):
        content, steps = (root / file.path).read_bytes(), definitions.sources[made.uid].collection
        documents = read_documents(file.path, file.format, content, problems, steps)
        compiler.compile(file, number, documents, problems, repeated, (0, 0))
    rows = compiler.rows()
    languages = definitions.workspace.languages
    versions = [
        {"id": entry_id, "lang": languages[lang], **json.loads(body)}
        for entry_id, lang, body in zip(rows.columns["id"], rows.lang, rows.json, strict=True)
    ]
    return (
        versions,
        [f"{p.file}:{p.line} {p.kind}" for p in problems.kept],
        sorted(repeated.counts.get(UNKNOWN_KEY, {})),
    )


def test_translations_are_linked_by_a_key(tmp_path: Path) -> None:
    versions, problems, _ = compiled(
        tmp_path,
        'source: "{lang}/{name}.md"\nid: "{original|name}"\nfields: [{id: title, type: text}]\n',
        {
            "en/hello.md": "---\ntitle: Hello\n---\n",
            "pt/ola.md": "---\noriginal: hello\ntitle: Olá\n---\n",
            "pt/so.md": "---\noriginal:\ntitle: Só\n---\n",
        },
    )
    assert problems == []
    assert versions == [
        {"id": "hello", "lang": "en", "title": "Hello"},
        {"id": "hello", "lang": "pt-BR", "title": "Olá"},
        {"id": "so", "lang": "pt-BR", "title": "Só"},
    ]


def test_one_document_gives_a_version_in_each_language_it_speaks(tmp_path: Path) -> None:
    people = """\
- {name: A B, bio: {en: e, pt: p}}
- {name: Ü, bio: {pt: p}}
- {name: silent}
- {name: odd, bio: {en: e, "pt:": lost}}
- name: flat
  bio: text
"""
    versions, problems, unknown = compiled(
        tmp_path,
        'source: people.yaml\nid: "{name}"\n'
        'fields: [{id: name, type: text}, {id: bio, type: text, from: "bio.{lang}"}]\n',
        {"people.yaml": people},
    )
    assert [(v["id"], v["lang"], v["bio"]) for v in versions] == [
        ("A-B", "en", "e"),
        ("A-B", "pt-BR", "p"),
        ("U-fe8539db5b10", "pt-BR", "p"),
        ("silent", "en", None),
        ("odd", "en", "e"),
    ]
    assert problems == ["people.yaml:6 wrong-value"]
    assert unknown == ["bio.pt:"]


def test_languages_may_be_the_keys_themselves(tmp_path: Path) -> None:
    versions, problems, unknown = compiled(
        tmp_path,
        'source: verbs.yaml\nid: "{type}"\nfields: [{id: name, type: text, required: true, from: "{lang}"}]\n',
        {"verbs.yaml": "- {type: get, en: get, pt: obter}\n- {type: put, en: put, de: setzen}\n"},
    )
    assert problems == []
    assert [(v["id"], v["lang"], v["name"]) for v in versions] == [
        ("get", "en", "get"),
        ("get", "pt-BR", "obter"),
        ("put", "en", "put"),
    ]
    assert unknown == ["de"]


def test_dates_and_values_out_of_the_path(tmp_path: Path) -> None:
    versions, problems, _ = compiled(
        tmp_path,
        'source: "_posts/{year}-{month}-{day}-{slug}.md"\nid: "{slug}"\n'
        'meta: {publishedAt: "{year}-{month}-{day}"}\n'
        "fields: [{id: year, type: number, from: $year}, {id: path, type: text, from: $path},"
        ' {id: on, type: datetime, from: "{year}-{month}-{day}"}]\n',
        {"_posts/2024-02-29-leap.md": "x"},
    )
    assert problems == []
    assert versions == [
        {
            "id": "leap",
            "lang": "en",
            "year": 2024,
            "path": "_posts/2024-02-29-leap.md",
            "on": "2024-02-29T00:00:00.000Z",
        }
    ]


@pytest.mark.parametrize(
    ("meta", "ids", "problems"),
    [("", ["b"], ["content/x/a.yaml:1 status"]), ('meta: {status: ""}\n', ["a", "b"], [])],
)
def test_a_key_that_means_something_else_can_be_moved_out_of_the_way(
    tmp_path: Path, meta: str, ids: list[str], problems: list[str]
) -> None:
    versions, found, unknown = compiled(
        tmp_path,
        f"{meta}fields: [{{id: membership, type: text, from: status}}]\n",
        {"content/x/a.yaml": "status: volunteer\n", "content/x/b.yaml": "status: published\n"},
    )
    assert [version["id"] for version in versions] == ids
    assert [problem for problem in found if not problem.startswith("apis/")] == problems
    assert unknown == []


def test_ids_by_hand_where_a_template_gives_none(tmp_path: Path) -> None:
    versions, problems, _ = compiled(
        tmp_path,
        'source: "p/{name}.md"\nid: "{name}"\nid_map: {"[[": double-bracket, "g++": gpp}\nfields: []\n',
        {"p/[[.md": "", "p/g++.md": "", "p/g--.md": "", "p/mkfs.ext4.md": ""},
    )
    assert problems == []
    assert sorted(version["id"] for version in versions) == ["double-bracket", "g--", "gpp", "mkfs-ext4"]


def test_a_file_s_name_is_no_id_for_the_items_of_its_list(tmp_path: Path) -> None:
    versions, problems, _ = compiled(
        tmp_path, "fields: []\n", {"content/x/one.yaml": "{}", "content/x/many.yaml": "- {id: a}\n- {}\n"}
    )
    assert [version["id"] for version in versions] == ["a", "one"]
    assert problems == ["content/x/many.yaml:2 id"]


def test_a_name_that_yaml_would_take_for_nothing_is_a_name(tmp_path: Path) -> None:
    versions, problems, _ = compiled(
        tmp_path,
        'source: "p/{name}.md"\nfields: [{id: command, type: text, required: true, from: $name}]\n',
        {"p/null.md": "", "p/true.md": "", "p/1.10.md": "---\nid: x\n---\n"},
    )
    assert problems == []
    assert [version["command"] for version in versions] == ["1.10", "null", "true"]


def test_one_run_reports_what_else_is_wrong_with_a_version_in_no_language(tmp_path: Path) -> None:
    files = {
        "apis/notes.yaml": "uid: api_Notes0000001\nname: Notes\nendpoint: notes\nkind: list\n"
        "meta: {status: state, publishEnd: gone}\nfields: [{id: n, name: N, type: number}]\n",
        "content/notes/a.yaml": "createdAt: 2026-01-01\nlang: fr\nn: many\n",
        "content/notes/b.yaml": "createdAt: 2026-01-01\nn: 1\nstate: gone\n",
        "content/notes/c.yaml": "createdAt: 2026-01-01\npublishStart: 2026-01-02\nn: 1\ngone: 2026-01-01\n",
        "content/notes.jsonl": '{"id": "j", "createdAt": "2026-01-01", "n": "5", "n": "6"}\n',
        "content/notes/d.json": '{"createdAt": "2026-01-01",\n"n": 1,\n"n": "x"}\n',
    }
    root = tmp_path / "workspace"
    for name, text in {"workspace.yaml": "id: acme\nlanguages: [en, ja]\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert sorted(f"{p.file}:{p.line} {p.kind}" for p in check(root, tmp_path / "cache").kept) == [
        "content/notes.jsonl:1 duplicate-key",
        "content/notes.jsonl:1 wrong-value",
        "content/notes/a.yaml:2 unknown-language",
        "content/notes/a.yaml:3 wrong-value",
        "content/notes/b.yaml:3 status",
        "content/notes/c.yaml:4 publish-period",
        "content/notes/d.json:2 wrong-value",
        "content/notes/d.json:3 duplicate-key",
    ]


def test_references_find_ids_given_by_hand(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    for name, text in {
        "workspace.yaml": "id: acme\nlanguages: [en]\n",
        "apis/signs.yaml": "uid: api_Signs0000001\nname: Signs\nendpoint: signs\nkind: list\nid: '{name}'\n"
        'id_map: {"[[": double, "((": round}\nfields: [{id: see, name: See, type: references, api: signs}]\n',
        "content/signs/one.yaml": 'createdAt: 2026-01-01\nsee: ["[[", one]\n',
        "content/signs/[[.yaml": "createdAt: 2026-01-01\n",
        "content/signs/((.yaml": "createdAt: 2026-01-01\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert check(root, tmp_path / "cache").kept == []


def warned(root: Path, api: str, files: dict[str, str]) -> list[str]:
    compiled(root, api, files)
    return [f"{p.file}:{p.line} {p.message}" for p in check(root, root / ".cms").kept if p.kind != "no-date"]


@pytest.mark.parametrize("ending", ["md", "toml", "json"])
def test_keys_that_say_what_a_version_is_can_be_switched_off_or_renamed(tmp_path: Path, ending: str) -> None:
    values = {"id": "Not an ID", "lang": "formal", "draft": "no", "draftKey": "?", "status": "fine"}
    values |= {"locale": "pt", "key": "k"}
    texts = {
        "md": "---\n" + "".join(f"{key}: '{value}'\n" for key, value in values.items()) + "---\n",
        "toml": "".join(f"{key} = '{value}'\n" for key, value in values.items()),
        "json": json.dumps(values),
    }
    api = "meta: {id: key, lang: locale, draft: null, draftKey: ~, status: }\n"
    fields = [f"{{id: my_{name}, type: text, from: {name}}}" for name in ("id", "lang", "draft", "draftKey", "status")]
    made, problems, unknown = compiled(
        tmp_path, f"{api}fields: [{', '.join(fields)}]\n", {f"content/x/k.{ending}": texts[ending]}
    )
    assert (problems, unknown) == ([], [])
    names = ("id", "lang", "draft", "draftKey", "status")
    assert made == [{"id": "k", "lang": "pt-BR", **{f"my_{name}": values[name] for name in names}}]


def test_a_path_and_a_key_that_differ_are_both_named(tmp_path: Path) -> None:
    files = {
        "content/x/a.pt.md": "---\nlang: en\n---\n",
        "content/x/b.md": "---\nlang: pt\n---\n",
        "content/x/c.en.md": "---\nlang: en\nid: d\n---\n",
        "content/x/not an id.md": "---\nid: e\n---\n",
        "content/x/many.yaml": "- id: f\n- id: g\n",
    }
    assert warned(tmp_path, "fields: []\n", files) == [
        "content/x/a.pt.md:2 the path says language 'pt-BR', the key 'lang' says 'en', which takes precedence; make "
        "them agree, "
        "or write 'meta: {lang: null}' in the definition if the key means something else",
        "content/x/c.en.md:3 the path says ID 'c', the key 'id' says 'd', which takes precedence; make them agree, or "
        "write 'meta: {id: null}' in the definition if the key means something else",
    ]


@pytest.mark.parametrize(("part", "warnings"), [("{id}", 1), ("{slug}", 0), ("{name}", 0), ("*", 0)])
def test_only_a_path_that_names_the_id_can_contradict_it(tmp_path: Path, part: str, warnings: int) -> None:
    files = {"posts/2024-a.md": "---\nid: a\n---\n"}
    assert len(warned(tmp_path, f"source: 'posts/{part}.md'\nfields: []\n", files)) == warnings
