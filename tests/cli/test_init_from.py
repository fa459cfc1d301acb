"""``cms init --from``: definitions for the folders of sites, which check without an error and keep every file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command_line import Cms, in_process
from tests.site_folders import ASTRO, HUGO, JEKYLL, PLAIN, write_folder

DECAP = {
    "static/admin/config.yml": (
        "backend: {name: git-gateway}\ni18n: {structure: multiple_folders, locales: [en, pt_BR]}\ncollections:\n"
        "  - {name: news, folder: content/news, create: true, i18n: true, fields: []}\n"
        "  - {name: none, folder: content/none, fields: []}\n"
    ),
    "content/news/en/a.md": "---\ntitle: A\ndate: 2024-01-01\ncover: /a.jpg\n---\nA.\n",
    "content/news/pt_BR/a.md": "---\ntitle: Á\ndate: 2024-01-02\ncover: /b.jpg\n---\nÁ.\n",
}
ODD = {
    "we[i]rd/a.md": '---\n"no": 1\n"a b": 2\n"a_b": 3\n"{x}": 4\nid: not an id\nviews: 5\nTitle: T\ntitle: t\n---\nx\n',
    "we[i]rd/b.md": '---\nlang: klingon\nstatus: fine\nauthors: [{name: A}]\nmeta: {a: 1}\n"new\\nline": {}\n---\n',
    "broken/c.md": "---\ntitle: [\n---\n",
    "empty/d.md": "",
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("name", "files", "says"),
    [
        ("Hugo", HUGO, {"apis/posts.yaml": ["- content/posts/{path}.{lang?}.md", "lang: null", "multilingual: true"]}),
        (
            "Jekyll",
            JEKYLL,
            {"apis/posts.yaml": ["{year}-{month}-{day}-{name}.MD"], "apis/people.yaml": ['id: "{name}"']},
        ),
        (
            "Astro",
            ASTRO,
            {"apis/blog.yaml": ["src/content/blog/{lang}/{path}.mdx", "TODO: not all of these are dates"]},
        ),
        ("Decap", DECAP, {"apis/news.yaml": ["content/news/{lang}/{path}.md", "id: cover, type: image"]}),
        ("plain", PLAIN, {"apis/notes.yaml": ["notes/{path}.md", "notes/{path}.markdown"]}),
        ("plain", ODD, {"apis/we-i-rd.yaml": ["we[[]i]rd/{path}.md", "id: null"]}),
    ],
    ids=["hugo", "jekyll", "astro", "decap", "plain", "odd"],
)
def test_the_definitions_check_without_an_error_and_the_content_stays(
    cms: Cms, tmp_path: Path, name: str, files: Mapping[str, str], says: Mapping[str, list[str]]
) -> None:
    site = write_folder(tmp_path / "my-site", files)
    ran = cms("init", "--from", site)
    assert ran.status == 0, ran.err
    for file, parts in says.items():
        text = (site / file).read_text()
        assert [part for part in parts if part.strip('"- ') not in text.replace('"', "") and part not in text] == []
    assert f"looking at a {name} site" in (site / "workspace.yaml").read_text()
    assert {file: (site / file).read_text() for file in files} == dict(files)
    found = cms("check", site, "--json").json["problems"]
    errors = [problem for problem in found if problem["severity"] == "error"]
    assert [problem["file"] for problem in errors] == [file for file in files if file.startswith("broken/")]


def test_a_second_directory_gets_a_copy(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO)
    assert cms("init", tmp_path / "copy", "--from", site).status == 0
    assert not (site / "workspace.yaml").exists()
    assert cms("check", tmp_path / "copy").status == 0
    assert (tmp_path / "copy/content/posts/hello.md").read_text() == HUGO["content/posts/hello.md"]


def test_nothing_is_written_over(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO, {"apis/x.yaml": "mine"})
    ran = cms("init", "--from", site)
    assert (ran.status, "apis is there already" in ran.err) == (1, True)
    assert not (site / "workspace.yaml").exists()


def test_a_folder_without_content_says_so(cms: Cms, tmp_path: Path) -> None:
    assert (
        "holds neither Markdown files nor a site"
        in cms("init", "--from", write_folder(tmp_path / "x", {"a.txt": ""})).err
    )
    assert "is no folder" in cms("init", "--from", tmp_path / "none").err


def test_a_name_that_is_not_utf_8_is_left_to_the_check(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", PLAIN)
    Path(os.fsdecode(os.fsencode(site) + b"/notes/\xff.md")).write_text("x")
    assert cms("init", "--from", site).status == 0
    assert "the name is not valid UTF-8" in cms("check", site).out


def test_a_configuration_alone_makes_no_jekyll_site(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", {"_config.yml": "title: Hexo\n", "source/_posts/a.md": "x\n"})
    assert cms("init", "--from", site).status == 0
    assert "source/{path}.md" in (site / "apis/source.yaml").read_text()
