"""``renamed_from`` of a field: files with the old key give what files with the new one give, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snapshots.build.build import BuildResult, build, check
from snapshots.compare.compatibility import schema_changes
from snapshots.store.store import Store
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import write_files

PEOPLE = "uid: api_people\nendpoint: people\nkind: list\nfields: []\n"
POSTS = """\
uid: api_posts
endpoint: posts
kind: list
fields:
  - {id: heading, renamed_from: title, type: text, required: true}
  - {id: stars, from: rank, renamed_from: rating, type: number}
  - {id: line, from: seo.line, renamed_from: seo.text, type: text}
  - {id: writer, renamed_from: author, type: reference, api: people}
  - id: boxes
    renamed_from: blocks
    type: groups
    groups:
      - {id: one, fields: [{id: to, renamed_from: who, type: references, api: people}, {id: n, type: number}]}
      - {id: two, fields: [{id: html, renamed_from: to, type: richtext}]}
  - {id: meta, type: group, fields: [{id: a, renamed_from: b, type: text}]}
  - {id: text, renamed_from: body, type: richtext}
"""
NEW: dict[str, Any] = {
    "createdAt": "2026-01-01",
    "heading": "H",
    "rank": 4,
    "seo": {"line": "L"},
    "writer": "ann",
    "boxes": [{"fieldId": "one", "to": ["ann", "gone"], "n": 1}, {"fieldId": "two", "html": "<p>x</p>"}],
    "meta": {"a": "x"},
}
OLD: dict[str, Any] = {
    "createdAt": "2026-01-01",
    "title": "H",
    "rating": 4,
    "seo": {"text": "L"},
    "author": "ann",
    "blocks": [{"fieldId": "one", "who": ["ann", "gone"], "n": 1}, {"fieldId": "two", "to": "<p>x</p>"}],
    "meta": {"b": "x"},
}


def files_of(values: dict[str, Any], text_key: str) -> dict[str, str]:
    """The values in each format, in files that lie line by line on the other ones."""
    lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in values.items())
    whole = {**values, text_key: "<p>T</p>"}
    return {
        "content/posts/md.md": f"---\n{lines}\n---\nT\n",
        "content/posts/yaml.yaml": f"{lines}\n{text_key}: <p>T</p>\n",
        "content/posts/json.json": json.dumps(whole, indent=1),
        "content/posts.jsonl": json.dumps({**whole, "id": "jsonl"}) + "\n",
        "content/people/ann.yaml": "createdAt: 2026-01-01\n",
    }


def workspace(root: Path, files: dict[str, str], posts: str = POSTS) -> Path:
    base = {"workspace.yaml": "id: w\nlanguages: [en]\n", "apis/posts.yaml": posts, "apis/people.yaml": PEOPLE}
    return write_files(root, {**base, **files})


def built(root: Path, store: Path) -> tuple[BuildResult, Any]:
    opened = Store(store, store / "cache")
    result = build(root, opened, now=0)
    return result, opened.workspace("w").manifest(result.version)


def test_old_keys_give_the_same_files_and_problems_as_new_ones(tmp_path: Path) -> None:
    old, old_manifest = built(workspace(tmp_path / "old", files_of(OLD, "body")), tmp_path / "s1")
    new, new_manifest = built(workspace(tmp_path / "new", files_of(NEW, "text")), tmp_path / "s2")
    assert old_manifest.content == new_manifest.content
    assert [file.sha256 for file in old_manifest.files] == [file.sha256 for file in new_manifest.files]
    assert [str(problem) for problem in old.problems.kept] == [str(problem) for problem in new.problems.kept]
    assert {problem.kind for problem in old.problems.kept} == {"dangling-reference"}
    assert old.entries == 5


def test_without_renamed_from_the_data_files_stay(tmp_path: Path) -> None:
    lines = [line for line in POSTS.splitlines() if line.strip() != "renamed_from: blocks"]
    bare = "\n".join(lines) + "\n"
    for name in ("title", "rating", "seo.text", "author", "who", "to", "b", "body"):
        bare = bare.replace(f", renamed_from: {name},", ",")
    assert "renamed_from" not in bare
    _, with_it = built(workspace(tmp_path / "w", files_of(NEW, "text")), tmp_path / "s1")
    _, without = built(workspace(tmp_path / "v", files_of(NEW, "text"), bare), tmp_path / "s2")
    assert [file.sha256 for file in with_it.files] == [file.sha256 for file in without.files]


@pytest.mark.parametrize(
    ("text", "line", "names"),
    [
        ("createdAt: 2026-01-01\ntitle: a\nheading: b\n", 3, "title (line 2) is the former name of heading (line 3)"),
        ("heading: b\nseo:\n  line: a\n  text: b\n", 4, "seo.text (line 4) is the former name of seo.line (line 3)"),
        (
            "heading: b\nboxes:\n  - fieldId: one\n    to: ann\n    n: 1\n    who: ann\n",
            6,
            "boxes[0].who (line 6) is the former name of boxes[0].to (line 4)",
        ),
        ("heading: b\nblocks: []\nboxes: []\n", 3, "blocks (line 2) is the former name of boxes (line 3)"),
    ],
)
def test_both_keys_in_one_file_are_an_error_that_names_both_lines(
    tmp_path: Path, text: str, line: int, names: str
) -> None:
    root = workspace(tmp_path, {"content/posts/x.yaml": text, "content/people/ann.yaml": "createdAt: 2026-01-01\n"})
    (problem,) = [one for one in check(root, tmp_path / "cache").kept if one.severity == "error"]
    assert (problem.file, problem.line) == ("content/posts/x.yaml", line)
    assert problem.message == f"{names}, and a file has one of them: remove the other"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("{id: a, renamed_from: b, type: text}, {id: b, type: text}", "cannot be renamed from 'b'"),
        ("{id: a, renamed_from: x, type: text}, {id: b, renamed_from: x, type: text}", "cannot be renamed from 'x'"),
        ("{id: a, renamed_from: a, type: text}", "cannot be renamed from 'a'"),
        ("{id: a, renamed_from: status, type: text}", "cannot be renamed from 'status'"),
        ("{id: a, renamed_from: x.b, type: text}", "'x.b' must stand beside 'a', in the same mapping"),
        ("{id: a, from: $name, renamed_from: b, type: text}", "only a field that is read from a key"),
        ("{id: a, renamed_from: $name, type: text}", "'$name' is not a key"),
        ("{id: g, type: group, fields: [{id: a, renamed_from: b, type: text}, {id: b, type: text}]}", "'a' cannot be"),
    ],
)
def test_a_former_key_has_to_be_free(tmp_path: Path, field: str, message: str) -> None:
    posts = f"uid: api_posts\nendpoint: posts\nkind: list\nfields: [{field}]\n"
    found = check(workspace(tmp_path, {}, posts), tmp_path / "cache")
    assert any(message in one.message and one.line == 4 for one in found.kept if one.severity == "error")


def test_a_renamed_field_is_told_as_one_breaking_change(tmp_path: Path) -> None:
    before = "uid: api_posts\nendpoint: posts\nkind: list\nfields: [{id: title, type: text}, {id: n, type: number}]\n"
    after = before.replace("{id: title", "{id: heading, renamed_from: title")
    _, old = built(workspace(tmp_path / "w", {}, before), tmp_path / "s1")
    _, new = built(workspace(tmp_path / "w", {}, after), tmp_path / "s2")
    (change,) = schema_changes(old.workspace, new.workspace)
    assert (change.change, change.breaking, change.field, change.before, change.after) == (
        *("field_renamed", True, "heading", "title", "heading"),
    )
    assert str(change) == (
        'posts: the field "title" is "heading" now: answers no longer have it under its old name, and filters on that '
        "get 400"
    )


def test_clients_are_never_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(workspace(tmp_path, files_of(OLD, "body")))
    cms: Cms = in_process(monkeypatch, capsys)
    assert cms("snapshot", "build").status == 0
    for command in (["query", "_schema"], ["openapi"], ["types", "typescript", "--client"], ["query", "posts"]):
        ran = cms(*command)
        assert ran.status == 0
        assert "heading" in ran.out
        assert "renamed" not in ran.out
        assert "former" not in ran.out
