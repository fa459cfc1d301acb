"""``strict`` in workspace.yaml: the warnings of the classes it names are errors, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshots.build.build import build, check
from snapshots.problems import WARNING_CLASSES, Problems, WorkspaceRefused
from snapshots.store.store import Store
from tests.sites.imported import write_files

FILES = {
    "apis/posts.yaml": """\
uid: api_posts
endpoint: posts
kind: list
page_url: /posts/{id}/
fields:
  - {id: title, type: text}
  - {id: next, type: reference, api: posts}
  - {id: more, type: references, apis: [posts, pages]}
  - {id: body, type: richtext}
""",
    "apis/pages.yaml": "uid: api_pages\nendpoint: pages\nkind: list\nfields: []\n",
    "content/posts/a.md": "---\ncreatedAt: 2026-01-01\nnext: gone\nmore: [both]\ncolour: red\n---\n[x](/posts/lost/)\n",
    "content/posts/both.md": "---\ncreatedAt: 2026-01-01\n---\n",
    "content/pages/both.yaml": "createdAt: 2026-01-01\n",
}
KINDS = {"dangling-reference", "ambiguous-reference", "dangling-link", "unknown-key"}


def workspace(root: Path, strict: str) -> Path:
    return write_files(root, {**FILES, "workspace.yaml": f"id: w\nlanguages: [en]\n{strict}"})


def kinds(problems: Problems, severity: str) -> set[str]:
    return {kind for given, kind, _ in problems.counts if given == severity}


@pytest.mark.parametrize(
    ("strict", "errors"),
    [
        ("", set()),
        ("strict: []\n", set()),
        ("strict: references\n", {"dangling-reference", "ambiguous-reference"}),
        ("strict: [links]\n", {"dangling-link"}),
        ("strict: [links, references, translations]\n", KINDS - {"unknown-key"}),
        ("strict: [translations]\n", set()),
    ],
)
def test_the_warnings_of_the_named_classes_are_errors(tmp_path: Path, strict: str, errors: set[str]) -> None:
    root = workspace(tmp_path / "w", strict)
    store = Store(tmp_path / "store", tmp_path / "cache")
    for _ in range(2):  # the second time, nothing is compiled
        found = check(root, store.cache)
        assert kinds(found, "error") == errors
        assert kinds(found, "warning") == KINDS - errors
        if errors:
            with pytest.raises(WorkspaceRefused) as refused:
                build(root, store, now=0)
            assert kinds(refused.value.problems, "error") == errors
        else:
            assert build(root, store, now=0).problems.errors == 0
    assert kinds(check(root, store.cache, strict=True), "error") == KINDS


def test_a_changed_list_holds_at_the_next_build(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", tmp_path / "cache")
    root = workspace(tmp_path / "w", "")
    version = build(root, store, now=0).version
    workspace(tmp_path / "w", "strict: [links]\n")
    with pytest.raises(WorkspaceRefused):
        build(root, store, now=1)
    workspace(tmp_path / "w", "strict: [translations]\n")
    assert build(root, store, now=2).version == version  # what is delivered does not depend on it


def test_lenient_does_not_make_them_warnings_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", tmp_path / "cache")
    with pytest.raises(WorkspaceRefused):
        build(workspace(tmp_path / "w", "strict: [links]\n"), store, now=0, lenient=True)


def test_an_unknown_class_is_an_error_that_names_the_known(tmp_path: Path) -> None:
    found = check(workspace(tmp_path / "w", "strict: [refrences]\n"), tmp_path / "cache")
    said = "strict.0: 'refrences' is not one of references, links, translations; did you mean 'references'?"
    assert [(p.file, p.line, p.message) for p in found.kept if p.severity == "error"] == [("workspace.yaml", 3, said)]


def test_more_than_are_kept_are_all_errors() -> None:
    problems = Problems()
    for number in range(400):
        problems.warning("f", number, "dangling-link", "m")
    assert (judged := problems.judged(classes=["links"])).errors == 400
    assert judged.warnings == 0


def test_no_kind_is_in_two_classes() -> None:
    every = [kind for kinds_of in WARNING_CLASSES.values() for kind in kinds_of]
    assert len(every) == len(set(every))
