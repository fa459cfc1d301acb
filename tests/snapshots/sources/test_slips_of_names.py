"""Files that are not read, names and values that nearly say something: each is told once, with what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from snapshots.build.build import build, check
from snapshots.store.store import Store
from tests.sites.imported import write_files

BLOG = """\
uid: api_blog
endpoint: blog
kind: list
multilingual: true
page_url: /blog/{id}/
fields:
  - {id: title, type: text, required: true}
  - {id: author, type: text, required: true}
  - {id: tags, type: multiple_select}
  - {id: kind, type: multiple_select, options: ["news", "guide", "a, b"]}
  - {id: cover, type: image}
  - {id: next, type: reference, api: blog}
  - {id: body, type: richtext}
"""
SITE = "uid: api_site\nendpoint: site\nkind: object\nfields: [{id: title, type: text}]\n"
ENTRY = "---\ncreatedAt: 2026-01-01\ntitle: T\nauthor: A\n"


def workspace(root: Path, files: dict[str, str], *, settings: str = "", blog: str = BLOG) -> Path:
    given = {
        "workspace.yaml": f"id: w\nlanguages: [en, ja, pt-BR]\ntimezone: Europe/Berlin\n{settings}",
        "apis/blog.yaml": blog,
        "apis/site.yaml": SITE,
        "content/blog/hello.md": ENTRY + "---\n",
    }
    return write_files(root, {**given, **files})


def said(root: Path) -> list[str]:
    found = [f"{p.file}:{p.line} {p.severity}: {p.text}" for p in check(root, root / ".cms").kept]
    assert [
        f"{p.file}:{p.line} {p.severity}: {p.text}" for p in check(root, root / ".cms").kept
    ] == found  # from the cache
    return found


NOT_READ = {
    "opening.md.txt": "is not read: name it opening.md",
    "opening.ja.md.docx": "is not read: name it opening.ja.md",
    "team.docx": "a document (.docx) is not read: write its text as Markdown",
    "prices.CSV": "a table (.csv) is not read: write its rows as YAML, or as JSON, one a line, in a .jsonl",
    "2026/notes.txt": "a .txt file is not read: write its text as Markdown",
    "old.html": "a .html file is not read",
}


@pytest.mark.parametrize(("name", "message"), list(NOT_READ.items()))
def test_a_file_that_is_not_read_is_named_with_what_to_do(tmp_path: Path, name: str, message: str) -> None:
    (line,) = said(workspace(tmp_path, {f"content/blog/{name}": "x"}))
    assert line.startswith(f"content/blog/{name}:1 warning: {message}")


def test_files_that_somebody_wants_are_not_named(tmp_path: Path) -> None:
    files = {
        "content/blog/prices.csv": "a,b\n",  # a text links to it
        "content/blog/menu.docx": "x",  # a field names it
        "content/blog/.notes.txt": "x",
        "content/blog/picture.psd": "x",
        "content/notes.txt": "x",  # in no API's folder
        "content/README.md": "x",
        "notes.txt": "x",
        "content/blog/hello.md": ENTRY + "cover: menu.docx\n---\n[prices](prices.csv)\n",
        "drafts/idea.docx": "x",
    }
    root = workspace(tmp_path, files)
    assert [line for line in said(root) if "no-alt" not in line and "alt" not in line] == []
    (root / "content/blog/hello.md").write_text(ENTRY + "---\n")
    assert [line.partition(":")[0] for line in said(root)] == ["content/blog/menu.docx", "content/blog/prices.csv"]


def test_an_exclude_leaves_them_out_and_counts_as_used(tmp_path: Path) -> None:
    files = {"content/blog/team.docx": "x"}
    assert said(workspace(tmp_path, files, blog=BLOG + 'exclude: "**/*.docx"\n')) == []


def test_a_site_that_delivers_its_own_files_has_slips_of_names_only(tmp_path: Path) -> None:
    files = {"content/blog/team.docx": "x", "content/blog/opening.md.txt": "x"}
    (line,) = said(workspace(tmp_path, files, settings="assets: false\n"))
    assert line.startswith("content/blog/opening.md.txt")


def test_patterns_name_only_what_they_would_read(tmp_path: Path) -> None:
    pages = "uid: api_p\nendpoint: pages\nkind: list\nsource: '**/{name}.page.md'\nfields: []\n"
    files = {"apis/pages.yaml": pages, "src/a.page.md": "", "src/b.page.txt": "x", "src/requirements.txt": "x"}
    lines = said(workspace(tmp_path, files))
    assert [line.partition(":")[0] for line in lines if "not read" in line] == ["src/b.page.txt"]


def test_a_file_beside_the_folders_that_no_api_reads_is_named(tmp_path: Path) -> None:
    files = {"content/blgo.yaml": "title: x\n", "content/site.fr.yaml": "title: x\n", "content/site.yaml": "title: x\n"}
    assert [line for line in said(workspace(tmp_path, files)) if "no date" not in line] == [
        "content/blgo.yaml:1 warning: no API reads this file: move it into the folder of an API, or leave it out with "
        "an 'exclude'; did you mean 'blog'?",
        "content/site.fr.yaml:1 warning: is not read: its name says language 'fr', and the workspace has en, ja, "
        "pt-BR: add fr to 'languages' in workspace.yaml, or name the file without it",
    ]


LANGUAGES = {
    "hello.fr": "language 'fr', and the workspace has en, ja, pt-BR: add fr to 'languages' in workspace.yaml",
    "hello.zh-Hant": "language 'zh-Hant', and the workspace has",
    "hello.JA": "language 'JA', and the workspace has en, ja, pt-BR: name the file with ja",
    "hello.pt_BR": "name the file with pt-BR, or write 'lang_map: {pt_BR: pt-BR}' in workspace.yaml",
    "hello.v2": "the file name gives the ID 'hello.v2'",
    "hello.old": "the file name gives the ID 'hello.old'",
    "he llo.fr": "the file name gives the ID 'he llo.fr'",
}


@pytest.mark.parametrize(("name", "message"), list(LANGUAGES.items()))
def test_a_language_that_is_not_configured_says_so(tmp_path: Path, name: str, message: str) -> None:
    (line,) = said(workspace(tmp_path, {f"content/blog/{name}.md": ENTRY + "---\n"}))
    assert line.startswith(f"content/blog/{name}.md:1 error: ")
    assert message in line


def test_an_object_in_such_a_language_is_told_and_still_builds(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"content/site/home.de.yaml": "createdAt: 2026-01-01\ntitle: x\n"})
    (line,) = said(root)
    assert "the file's name says language 'de', and is read as en" in line
    assert build(root, Store(tmp_path / "s", tmp_path / "c"), now=0).entries == 2


HERE = "is a path on one computer"
PICTURES = {
    "cover: 'C:\\Users\\me\\a.jpg'\n---\n": HERE,
    "cover: C:/Users/me/a.jpg\n---\n": HERE,
    "cover: {url: 'file:///home/me/a.jpg'}\n---\n": HERE,
    "cover: '\\\\server\\share\\a.jpg'\n---\n": HERE,
    "---\n![x](C:\\pics\\a.jpg)\n": HERE,
    "---\n![x](C:\\My Pics\\a.jpg)\n": HERE,
    '---\n<img alt="" src="C:\\pics\\a.jpg">\n': HERE,
    "---\n![x](file:///home/me/a.jpg)\n": HERE,
    "---\n![x](FILE:/home/me/a.jpg)\n": HERE,
    "cover: 'pics\\a.jpg'\n---\n": "there is no such file: write / instead of \\",
}


@pytest.mark.parametrize(("rest", "message"), list(PICTURES.items()))
@pytest.mark.parametrize("settings", ["", "assets: false\n"])
def test_a_picture_on_somebodys_computer_is_an_error(tmp_path: Path, rest: str, message: str, settings: str) -> None:
    lines = said(workspace(tmp_path, {"content/blog/hello.md": ENTRY + rest}, settings=settings))
    errors = [line for line in lines if " error: " in line]
    is_told = not settings or message == HERE  # a site's own files are never looked for
    assert [message in line for line in errors] == ([True] if is_told else [])


@pytest.mark.parametrize(
    "rest",
    [
        "cover: https://c.example/a.jpg\n---\n",
        "---\nWrite `![x](C:\\pics\\a.jpg)` and C:\\pics\\a.jpg\n",
        "---\n```\n![x](C:\\My Pics\\a.jpg)\n```\n",
        "---\n[a file](https://x.example/?file:///a)\n",
    ],
)
def test_what_only_looks_like_one_is_none(tmp_path: Path, rest: str) -> None:
    lines = said(workspace(tmp_path, {"content/blog/hello.md": ENTRY + rest}))
    assert [line for line in lines if HERE in line] == []


def test_ids_that_differ_only_in_case_are_told_once_and_build(tmp_path: Path) -> None:
    files = {f"content/blog/{name}.md": ENTRY + "---\n" for name in ("HELLO", "HELLO.ja", "Hello", "other")}
    root = workspace(tmp_path, files)
    assert [line.partition(", and many")[0] for line in said(root)] == [
        "content/blog/Hello.md:1 warning: the ID 'Hello' differs from 'HELLO' in upper and lower case only: they are "
        "two entries",
        "content/blog/hello.md:1 warning: the ID 'hello' differs from 'HELLO' in upper and lower case only: they are "
        "two entries",
    ]
    assert build(root, Store(tmp_path / "s", tmp_path / "c"), now=0).entries == 5


def test_a_reference_in_another_case_is_told_what_was_meant(tmp_path: Path) -> None:
    files = {"content/blog/a.md": ENTRY + "next: Hello\n---\n[x](/blog/HELLO/)\n"}
    assert said(workspace(tmp_path, files)) == [
        "content/blog/a.md:5 warning: next: there is no entry 'Hello' in blog; did you mean 'hello'?",
        "content/blog/a.md:7 warning: a link leads to 'HELLO' in blog, and there is no such entry; did you mean "
        "'hello'?",
    ]


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("tags: a, b", 'warning: "a, b" is one value here; to give several, write [a, b]'),
        ("tags: パン、麦", 'warning: "パン、麦" is one value here; to give several, write [パン, 麦]'),
        ("tags:\n  -a\n  -b", 'warning: "-a -b" is one value here; to give several, write [a, b]'),
        ("kind: news, guide", 'error: kind: "news, guide" is not an option'),
        ("kind: a, b", None),
        ("tags: ['a, b']", None),
        ("tags: [a, b]", None),
        ("tags: rock-n-roll", None),
        ("tags:", None),
        ("status: Published", None),
        (
            "status: Publish",
            "error: status is 'Publish'; it must be published, scheduled or draft; did you mean 'published'?",
        ),
        ("status: WIP", "error: status is 'WIP'; it must be published, scheduled or draft; did you mean 'draft'?"),
        ("status: xyz", "error: status is 'xyz'; it must be published, scheduled or draft"),
        ("updatedAt: 2026-03-29T02:30", "warning: updatedAt: 2026-03-29T02:30 does not exist in Europe/Berlin"),
        ("updatedAt: 2026-10-25T02:30", "warning: updatedAt: 2026-10-25T02:30 comes twice in Europe/Berlin"),
        (
            "publishEnd: 2020-01-01",
            "warning: publishEnd: 2019-12-31T23:00:00.000Z was over when the entry was first there",
        ),
        ("publishEnd: 2026-02-01", None),
        ("publishEnd: 2020-01-01\nstatus: draft", None),
    ],
)
def test_values_that_nearly_say_something(tmp_path: Path, written: str, line: str | None) -> None:
    lines = said(workspace(tmp_path, {"content/blog/hello.md": f"{ENTRY}{written}\n---\n"}))
    assert [one.partition(" ")[2].startswith(line or "-") for one in lines] == ([True] if line else [])


def test_an_end_before_the_file_was_there_by_git(tmp_path: Path) -> None:
    undated = "---\ntitle: T\nauthor: A\npublishEnd: 2020-01-01\n---\n"
    root = workspace(tmp_path, {"content/blog/old.md": undated})
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    assert "was over" not in "".join(said(root))  # without git, nothing tells when it was first there
    subprocess.run([*git, "init", "-q", "."], cwd=root, check=True)
    subprocess.run([*git, "add", "content/blog/hello.md"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-qm", "x"], cwd=root, check=True)
    root.joinpath("content/blog/old.md").write_text(undated + "\n")
    assert [line.partition(" ")[0] for line in said(root) if "was over" in line] == ["content/blog/old.md:4"]
    subprocess.run([*git, "add", "."], cwd=root, check=True)
    subprocess.run([*git, "commit", "-qm", "y", "--date=2019-01-01T00:00Z"], cwd=root, check=True)
    assert [line.partition(" ")[0] for line in said(root) if "was over" in line] == ["content/blog/old.md:4"]


@pytest.mark.parametrize("text", ["Just text.\n", "# A heading\n\nText.\n", "title: x\n\nText\n"])
def test_no_front_matter_at_all_is_one_message(tmp_path: Path, text: str) -> None:
    (line,) = said(workspace(tmp_path, {"content/blog/hello.md": text}))
    assert line == (
        "content/blog/hello.md:1 error: there is no front matter, so title and author have no value: begin the file "
        "with a line of ---, a line such as 'title: …' for each, and another line of ---"
    )
    (root := tmp_path / "other").mkdir()
    blog = BLOG.replace(", required: true", "")
    (line,) = said(workspace(root, {"content/blog/hello.md": text}, blog=blog))  # nothing is missing
    assert "no date known" in line
