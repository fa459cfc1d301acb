"""A directory to source files: the default names, source patterns, and what is refused on the way."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from snapshots.definitions.model import ApiSource, Definitions
from snapshots.documents.document import Format
from snapshots.model import Api, ApiKind, Workspace
from snapshots.problems import Problems
from snapshots.sources.listing import MAX_FILE_BYTES, SourceFile, scan


def definitions(*apis: tuple[str, ApiKind, list[str]], lang_map: dict[str, str] | None = None) -> Definitions:
    made = tuple(Api(endpoint, endpoint, endpoint, kind, True, ()) for endpoint, kind, _ in apis)
    sources = {endpoint: ApiSource(tuple(patterns), None, (), lang_map or {}, {}, {}) for endpoint, _, patterns in apis}
    return Definitions(Workspace("w", "w", ("ja", "en", "pt-BR"), apis=made), sources, {}, ())


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def found(root: Path, of: Definitions) -> tuple[list[SourceFile], list[str]]:
    problems = Problems()
    files = scan(root, of, problems)
    return files, [f"{p.file}:{p.line} {p.severity} {p.kind}" for p in problems.kept]


BLOG = ("blog", ApiKind.LIST, list[str]())
SITE = ("site", ApiKind.OBJECT, list[str]())


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("content/blog/hello.md", ("md", None, "hello", False, "hello")),
        ("content/blog/hello.en.md", ("md", "en", "hello", False, "hello")),
        ("content/blog/hello.ja.yaml", ("yaml", "ja", "hello", False, "hello")),
        ("content/blog/hello.draft.md", ("md", None, "hello", True, "hello")),
        ("content/blog/hello.en.draft.yml", ("yaml", "en", "hello", True, "hello")),
        ("content/blog/hello.draft.en.md", ("md", "en", "hello.draft", False, "hello.draft")),
        ("content/blog/a/b/hello.pt_BR.json", ("json", "pt-BR", "hello", False, "hello")),
        ("content/blog/v1.0.md", ("md", None, "v1.0", False, "v1.0")),
        ("content/blog/en.md", ("md", None, "en", False, "en")),
        ("content/blog/many.jsonl", ("jsonl", None, None, False, "many")),
        ("content/blog.yaml", ("yaml", None, None, False, "blog")),
        ("content/blog.en.draft.jsonl", ("jsonl", "en", None, True, "blog")),
        ("content/blog.md", None),
        ("content/blog.fr.yaml", None),
        ("content/Blog/hello.md", None),
        ("content/blog/hello.txt", None),
        ("content/blog/hello.md~", None),
        ("content/blog/.hidden.md", None),
        ("content/blog/.git/x.md", None),
        ("content/blogs/hello.md", None),
        ("blog/hello.md", None),
    ],
)
def test_default_names(tmp_path: Path, path: str, says: tuple[str, str | None, str | None, bool, str] | None) -> None:
    write(tmp_path, path)
    files, problems = found(tmp_path, definitions(BLOG, lang_map={"pt_BR": "pt-BR"}))
    assert [problem for problem in problems if "unread-f" not in problem] == []
    assert [(f.path, f.api, f.format, f.lang, f.id, f.draft, f.name) for f in files] == (
        [] if says is None else [(path, "blog", *says)]
    )


def test_an_object_is_one_file_or_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "content/site.md", "content/site.en.yaml", "content/site/parts.yaml", "content/sites.yaml")
    files, problems = found(tmp_path, definitions(SITE, BLOG))
    assert problems == ["content/sites.yaml:1 warning unread-file"]
    assert [(f.path, f.lang, f.id) for f in files] == [
        ("content/site.en.yaml", "en", None),
        ("content/site.md", None, None),
        ("content/site/parts.yaml", None, "parts"),
    ]


def test_a_file_says_its_size_time_and_inode(tmp_path: Path) -> None:
    write(tmp_path, "content/blog/a.md")
    (file,), _ = found(tmp_path, definitions(BLOG))
    status = (tmp_path / file.path).stat()
    assert (file.size, file.mtime_ns, file.inode) == (1, status.st_mtime_ns, status.st_ino)
    assert file.format is Format.MARKDOWN


@pytest.mark.parametrize(
    ("patterns", "path", "says"),
    [
        (["p/{platform}/{name}.md"], "p/linux/[[.md", (None, "[[", {"platform": "linux", "name": "[["}, "[[")),
        (["p/{platform}/x-{id}.md"], "p/linux/x-a.md", (None, "a", {"platform": "linux", "id": "a"}, "x-a")),
        (["{lang}/lessons/**/*.md"], "en/lessons/old/a.md", ("en", "a", {}, "a")),
        (["p/{id}.{lang}.md", "p/{id}.md"], "p/a.en.md", ("en", "a", {"id": "a"}, "a")),
        (["p/{id}.{lang}.md", "p/{id}.md"], "p/a.b.md", (None, "a.b", {"id": "a.b"}, "a.b")),
        (["p/{id}.md", "p/{id}.{lang}.md"], "p/a.en.md", (None, "a.en", {"id": "a.en"}, "a.en")),
        (["p.{lang}/{id}.md"], "p.pt_BR/a.md", ("pt-BR", "a", {"id": "a"}, "a")),
        (["p/{slug}.md"], "p/a.en.md", (None, "a.en", {"slug": "a.en"}, "a.en")),
        (["d/*.jsonl"], "d/a.jsonl", (None, None, {}, "a")),
        (["*.yaml"], "workspace.yaml", None),
        (["apis/*.yaml"], "apis/blog.yaml", None),
        (["apis/*/*.yaml"], "apis/x/blog.yaml", (None, "blog", {}, "blog")),
        (["p/*"], "p/picture.png", None),
    ],
)
def test_source_patterns(
    tmp_path: Path, patterns: list[str], path: str, says: tuple[str | None, str | None, dict[str, str], str] | None
) -> None:
    write(tmp_path, path)
    files, problems = found(tmp_path, definitions(("blog", ApiKind.LIST, patterns), lang_map={"pt_BR": "pt-BR"}))
    assert problems == []
    assert [(f.lang, f.id, f.parts, f.name) for f in files] == ([] if says is None else [says])


def test_draft_marks_a_file_under_a_pattern_too(tmp_path: Path) -> None:
    write(tmp_path, "p/a.en.draft.md", "p/a.en.md")
    files, problems = found(tmp_path, definitions(("blog", ApiKind.LIST, ["p/{id}.{lang}.md"])))
    assert problems == []
    assert [(f.path, f.lang, f.id, f.draft) for f in files] == [
        ("p/a.en.draft.md", "en", "a", True),
        ("p/a.en.md", "en", "a", False),
    ]


def test_a_file_may_feed_several_apis_and_the_order_is_fixed(tmp_path: Path) -> None:
    write(tmp_path, "d/b.md", "d/a.md", "d/a-b.md", "c/z.md")
    files, _ = found(
        tmp_path, definitions(("two", ApiKind.LIST, ["d/*.md"]), ("one", ApiKind.LIST, ["**/*.md", "d/*.md"]))
    )
    assert [(f.path, f.api) for f in files] == [
        ("c/z.md", "one"),
        ("d/a-b.md", "two"),
        ("d/a-b.md", "one"),
        ("d/a.md", "two"),
        ("d/a.md", "one"),
        ("d/b.md", "two"),
        ("d/b.md", "one"),
    ]


def test_an_unknown_language_in_a_path_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "p.en/a.md", "p.xx/a.md", "p.xx/b.draft.md", "p.x y/a.md")
    files, problems = found(tmp_path, definitions(("blog", ApiKind.LIST, ["p.{lang}/{id}.md"])))
    assert [f.path for f in files] == ["p.en/a.md"]
    assert problems == ["p.xx/a.md:1 error unknown-language", "p.xx/b.draft.md:1 error unknown-language"]


def test_links(tmp_path: Path) -> None:
    root = tmp_path / "w"
    write(tmp_path, "secret.md", "secrets/a.md")
    write(root, "content/blog/real.md", "parts/part.md", ".cms/access.md")
    links = {
        "inside.md": "../../parts/part.md",
        "out.md": "../../../secret.md",
        "absolute.md": str(tmp_path / "secret.md"),
        "hidden.md": "../../.cms/access.md",
        "broken.md": "nothing.md",
        "loop.md": "loop.md",
        "folder": "../../parts",
        "folder-out": "../../../secrets",
        "folder.md": "../../parts",
        "picture.png": "../../../secret.md",
    }
    for name, target in links.items():
        (root / "content/blog" / name).symlink_to(target)
    files, problems = found(root, definitions(BLOG))
    assert [f.path for f in files] == ["content/blog/inside.md", "content/blog/real.md"]
    assert problems == [
        "content/blog/absolute.md:1 error link",
        "content/blog/broken.md:1 error link",
        "content/blog/folder:1 warning link",
        "content/blog/folder-out:1 error link",
        "content/blog/folder.md:1 error no-file",
        "content/blog/hidden.md:1 error link",
        "content/blog/loop.md:1 error link",
        "content/blog/out.md:1 error link",
    ]


def test_a_workspace_reached_through_a_link_is_the_workspace(tmp_path: Path) -> None:
    write(tmp_path, "real/content/blog/a.md", "real/parts/b.md")
    (tmp_path / "real/content/blog/b.md").symlink_to("../../parts/b.md")
    (tmp_path / "link").symlink_to("real")
    files, problems = found(tmp_path / "link", definitions(BLOG))
    assert (len(files), problems) == (2, [])


def test_what_is_no_file_is_never_opened(tmp_path: Path) -> None:
    write(tmp_path, "content/blog/a.md", "content/blog/folder.md/x.md")
    os.mkfifo(tmp_path / "content/blog/pipe.md")
    (tmp_path / "content/blog/null.md").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(tmp_path / "content/blog")
        try:
            listening.bind("socket.md")
        finally:
            os.chdir(here)
        files, problems = found(tmp_path, definitions(BLOG))
    assert [f.path for f in files] == ["content/blog/a.md", "content/blog/folder.md/x.md"]
    assert problems == [
        "content/blog/null.md:1 error link",
        "content/blog/pipe.md:1 error no-file",
        "content/blog/socket.md:1 error no-file",
    ]


def test_only_jsonl_may_be_large(tmp_path: Path) -> None:
    write(tmp_path, "content/blog/fits.md", "content/blog/large.md", "content/blog/large.jsonl")
    for name, size in (("fits.md", MAX_FILE_BYTES), ("large.md", MAX_FILE_BYTES + 1), ("large.jsonl", 200_000_000)):
        os.truncate(tmp_path / "content/blog" / name, size)
    files, problems = found(tmp_path, definitions(BLOG))
    assert [f.path for f in files] == ["content/blog/fits.md", "content/blog/large.jsonl"]
    assert problems == ["content/blog/large.md:1 error too-large"]


def test_a_name_that_is_not_utf_8_is_an_error_that_can_be_printed(tmp_path: Path) -> None:
    folder = tmp_path / "content/blog"
    folder.mkdir(parents=True)
    try:
        for name in (b"a\xff.md", "é.md".encode()):
            (folder / os.fsdecode(name)).touch()
        (folder / os.fsdecode(b"d\xfe")).mkdir()
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    files, problems = found(tmp_path, definitions(BLOG))
    assert [f.path for f in files] == ["content/blog/é.md"]
    assert problems == ["content/blog/a\\xff.md:1 error encoding", "content/blog/d\\xfe:1 error encoding"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "content/blog/closed/a.md", "content/blog/b.md")
    (tmp_path / "content/blog/closed").chmod(0)
    files, problems = found(tmp_path, definitions(BLOG))
    (tmp_path / "content/blog/closed").chmod(0o700)
    assert [f.path for f in files] == ["content/blog/b.md"]
    assert problems == ["content/blog/closed:1 error unreadable"]


def test_a_workspace_without_content_has_no_files(tmp_path: Path) -> None:
    assert found(tmp_path, definitions(BLOG, SITE)) == ([], [])


def test_the_spellings_of_extensions(tmp_path: Path) -> None:
    names = ("a.md", "b.MD", "c.markdown", "d.mdx", "e.Yaml", "f.toml", "g.JSON", "h.JSONL")
    write(tmp_path, *(f"content/blog/{name}" for name in names))
    files, problems = found(tmp_path, definitions(BLOG))
    assert problems == []
    assert [f.format for f in files] == ["md", "md", "md", "md", "yaml", "toml", "json", "jsonl"]
    assert [f.id for f in files] == ["a", "b", "c", "d", "e", "f", "g", None]


@pytest.mark.parametrize(
    ("pattern", "path", "parts"),
    [
        ("p/**/{path}.json", "p/a.json", {"path": "a"}),
        ("p/**/{path}.json", "p/a/b/c.json", {"path": "a/b/c"}),
        ("p/{path}.md", "p/a.b/c.d.md", {"path": "a.b/c.d"}),
        ("p/{path}/index.md", "p/a/b/index.md", {"path": "a/b"}),
        ("p/{path}/index.md", "p/index.md", None),
        ("{lang}/{path}.md", "en/a/b.md", {"path": "a/b"}),
        ("{path}.{lang?}.md", "a/b.en.md", {"path": "a/b"}),
        ("{path}.{lang?}.md", "a/b.md", {"path": "a/b"}),
        ("{lang?}/posts/{name}.md", "en/posts/a.md", {"name": "a"}),
        ("{lang?}/posts/{name}.md", "posts/a.md", {"name": "a"}),
        ("posts/{section?}/{name}.md", "posts/a.md", {"name": "a"}),
        ("posts/{section?}/{name}.md", "posts/x/a.md", {"section": "x", "name": "a"}),
        ("posts/{section?}/{name}.md", "posts/x/y/a.md", None),
        ("posts_{kind?}/{name}.md", "posts/a.md", {"name": "a"}),
        ("posts_{kind?}/{name}.md", "posts_x/a.md", {"kind": "x", "name": "a"}),
        ("{a?}/{b?}/{name}.md", "x/y.md", {"a": "x", "name": "y"}),
    ],
)
def test_parts_of_several_segments_and_optional_parts(
    tmp_path: Path, pattern: str, path: str, parts: dict[str, str] | None
) -> None:
    write(tmp_path, path)
    files, _ = found(tmp_path, definitions(("x", ApiKind.LIST, [pattern])))
    assert [f.parts for f in files] == ([] if parts is None else [parts])
