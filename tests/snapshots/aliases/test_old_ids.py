"""References and links by old IDs: what is built of them is what is built where each is written by its new ID."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.aliases.reading import OLD_ID
from snapshots.build.build import BuildResult, build, check
from snapshots.problems import WorkspaceRefused
from snapshots.store.store import Store
from tests.generated.budget import RANDOM, TIMES
from tests.sites.imported import write_files

POSTS = """\
uid: api_posts
endpoint: posts
kind: list
multilingual: true
page_url: /{lang}/posts/{id}/
fields:
  - {id: title, type: text}
  - {id: next, type: reference, api: posts}
  - {id: more, type: references, api: posts}
  - {id: any, type: references, apis: [pages, posts]}
  - id: boxes
    type: groups
    groups:
      - {id: one, fields: [{id: to, type: reference, api: posts}, {id: text, type: richtext}]}
      - {id: several, fields: [{id: to, type: references, apis: [posts, pages]}]}
  - {id: body, type: richtext}
"""
PAGES = """\
uid: api_pages
endpoint: pages
kind: list
page_url: https://site.example/{id}
fields:
  - {id: up, type: reference, api: pages}
"""
BASE = {"workspace.yaml": "id: w\nlanguages: [en, ja]\n", "apis/posts.yaml": POSTS, "apis/pages.yaml": PAGES}


def built(root: Path, store: Path) -> BuildResult:
    return build(root, Store(store, store / "cache"), now=0)


def content_of(result: BuildResult, store: Path) -> tuple[str, list[tuple[str, str]]]:
    """The content hash of a version, and the SHA-256 of each data file that clients read."""
    manifest = Store(store, store / "cache").workspace(result.workspace).manifest(result.version)
    return manifest.content, [(file.path, file.sha256) for file in manifest.files]


OLD = {"posts": {"p0": ["o0", "o1"], "p1": ["o2"]}, "pages": {"g0": ["o3", "o4"]}}
NEW = {old: new for names in OLD.values() for new, olds in names.items() for old in olds}


def front_matter(values: dict[str, Any], body: str = "") -> str:
    return f"---\n{msgspec.json.encode(values).decode()}\n---\n{body}"


@st.composite
def workspaces(draw: st.DrawFn) -> dict[str, tuple[dict[str, Any], str]]:
    """The entries of a workspace by file, without their aliases: front matter and text."""
    posts, pages = [*OLD["posts"], "o0", "o1", "o2"], [*OLD["pages"], "o3"]
    post, page = st.sampled_from(posts), st.sampled_from(pages)
    address = st.sampled_from(["/en/posts/{}/", "/ja/posts/{}", "/en/posts/{}/?a=1#b", "{}.md", "../posts/{}.ja.md#x"])
    link = st.tuples(address, post).map(lambda both: f"[x]({both[0].format(both[1])})")
    html = st.tuples(address, post).map(lambda both: f'<a href="{both[0].format(both[1])}">x</a>')
    text = st.lists(link, max_size=3).map("\n\n".join)
    several = st.lists(post | st.builds(lambda one: {"api": "posts", "id": one}, post), max_size=3)
    box = st.builds(lambda to, said: {"fieldId": "one", "to": to, "text": f"<p>{said}</p>"}, post, html)
    boxes = st.lists(box | several.map(lambda to: {"fieldId": "several", "to": to}), max_size=2)
    entry = st.fixed_dictionaries(
        {"createdAt": st.just("2026-01-01")},
        optional={"next": post, "more": st.lists(post, max_size=3), "any": several, "boxes": boxes},
    )
    files: dict[str, tuple[dict[str, Any], str]] = {}
    for name in ("p0", "p1", "p2"):
        for suffix in ("", ".ja", ".draft"):
            if not suffix or draw(st.booleans()):
                files[f"content/posts/{name}{suffix}.md"] = draw(entry), draw(text)
    files["content/pages/g0.md"] = {"createdAt": "2026-01-01", "up": draw(page)}, ""
    return files


def with_aliases(files: dict[str, tuple[dict[str, Any], str]]) -> dict[str, str]:
    written = {}
    for file, (values, body) in files.items():
        api, name = file.split("/")[1], file.split("/")[2].split(".")[0]
        is_draft = file.endswith(".draft.md")
        own = OLD[api].get(name, []) if ".ja" not in file and not is_draft else []
        written[file] = front_matter({**values, "aliases": own} if own else values, body)
    return written


def by_hand(files: dict[str, tuple[dict[str, Any], str]]) -> dict[str, str]:
    """The same, every old ID replaced in the text of the file."""
    written = {}
    for file, (values, body) in files.items():
        names = {old: new for new, olds in OLD[file.split("/")[1]].items() for old in olds}
        text = front_matter(values, body)
        written[file] = re.sub(r"\bo[0-9]\b", lambda match, names=names: names[match[0]], text)  # type: ignore[misc]
    return written


@pytest.mark.parametrize("examples", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_old_ids_give_the_same_files_as_new_ones_written_by_hand(
    tmp_path_factory: pytest.TempPathFactory, examples: int
) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(files=workspaces())
    def gives_the_same(files: dict[str, tuple[dict[str, Any], str]]) -> None:
        old_ids_give_the_same(tmp_path_factory.mktemp("w"), files)

    gives_the_same()


def old_ids_give_the_same(tmp_path: Path, files: dict[str, tuple[dict[str, Any], str]]) -> None:
    old = built(write_files(tmp_path / "old", {**BASE, **with_aliases(files)}), tmp_path / "s1")
    new = built(write_files(tmp_path / "new", {**BASE, **by_hand(files)}), tmp_path / "s2")
    assert content_of(old, tmp_path / "s1") == content_of(new, tmp_path / "s2")
    told = [problem for problem in old.problems.kept if problem.kind == OLD_ID]
    assert all(problem.severity == "warning" for problem in told)
    assert bool(told) == (
        with_aliases(files) != by_hand(files) and any(map(re.compile(r"\bo[0-9]\b").search, texts(files)))
    )
    assert [problem for problem in new.problems.kept if problem.kind == OLD_ID] == []
    for result in (old, new):
        assert [p for p in result.problems.kept if p.kind in ("dangling-reference", "dangling-link")] == []


def texts(files: dict[str, tuple[dict[str, Any], str]]) -> Iterator[str]:
    return (front_matter(values, body) for values, body in files.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_builds_one_after_the_other_end_as_one_from_nothing(tmp_path: Path, seed: int) -> None:
    """Aliases and references come, change and go; files that did not change lead elsewhere."""
    drawn = random.Random(seed)
    root, store = write_files(tmp_path / "w", BASE), tmp_path / "s"
    names = [f"n{number}" for number in range(4)]
    for step in range(6):
        for name in drawn.sample(names, drawn.randint(1, 3)):
            file = root / f"content/posts/{name}.md"
            if file.exists() and drawn.random() < 0.2:
                file.unlink()
                continue
            aliases = drawn.sample(["o0", "o1", "o2"], drawn.randint(0, 1))
            values = {"createdAt": "2026-01-01", "next": drawn.choice([*names, "o0", "o1", "o2"]), "aliases": aliases}
            write_files(
                root, {f"content/posts/{name}.md": front_matter(values, f"[x](/en/posts/{drawn.choice('ab')}/)")}
            )
        again = built(root, store)
        fresh = built(root, tmp_path / f"fresh{step}")
        assert content_of(again, store) == content_of(fresh, tmp_path / f"fresh{step}")
        assert [str(p) for p in again.problems.kept] == [str(p) for p in fresh.problems.kept]
        assert [str(p) for p in check(root, store / "cache").kept] == [str(p) for p in fresh.problems.kept]


def said(root: Path) -> list[str]:
    return [f"{p.file}:{p.line} {p.severity}: {p.text}" for p in check(root, root / ".cms").kept]


def post(**values: Any) -> str:
    return front_matter({"createdAt": "2026-01-01", **values})


def workspace(tmp_path: Path, files: dict[str, str], *, posts: str = POSTS) -> Path:
    return write_files(tmp_path, {**BASE, "apis/posts.yaml": posts, **files})


def test_another_entrys_id_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        {
            "content/posts/a.md": "---\ncreatedAt: 2026-01-01\naliases:\n  - x\n  - b\n---\n",
            "content/posts/b.md": post(),
        },
    )
    assert said(root) == [
        "content/posts/a.md:5 error: the alias 'b' is the ID of another entry (content/posts/b.md:1): remove the alias "
        "here, or rename that entry. Where 'aliases' means something else, write 'meta: {aliases: null}' in the "
        "definition"
    ]
    with pytest.raises(WorkspaceRefused):
        built(root, tmp_path / "s")


def test_two_entries_that_claim_one_old_id(tmp_path: Path) -> None:
    files = {f"content/posts/{name}.md": post(aliases=["x", name]) for name in "ab"}
    assert said(workspace(tmp_path, {**files, "content/posts/c.md": post(next="x")})) == [
        "content/posts/b.md:2 warning: 'b' and 'a' (content/posts/a.md:2) both say that 'x' is an old ID of theirs: it "
        "leads to 'a'. Remove one",
        "content/posts/c.md:2 warning: 'x' is an old ID of 'a', and leads there: write 'a'",
    ]


@pytest.mark.parametrize("settle", ["meta: {aliases: null}\n", "FIELD", "meta: {aliases: formerly}\n"])
def test_aliases_that_mean_something_else(tmp_path: Path, settle: str) -> None:
    posts = POSTS + "  - {id: aliases, type: multiple_select}\n" if settle == "FIELD" else settle + POSTS
    files = {"content/posts/a.md": post(aliases=["b", "Another Title"]), "content/posts/b.md": post()}
    lines = said(workspace(tmp_path, files, posts=posts))
    assert lines == (
        ["content/posts/a.md:2 warning: key 'aliases' is not a field of posts"] if "formerly" in settle else []
    )


def test_meta_can_name_another_key(tmp_path: Path) -> None:
    files = {"content/posts/a.md": post(formerly="x"), "content/posts/b.md": post(next="x")}
    (line,) = said(workspace(tmp_path, files, posts="meta: {aliases: formerly}\n" + POSTS))
    assert "'x' is an old ID of 'a'" in line


def test_what_is_neither_id_nor_address_is_told_once(tmp_path: Path) -> None:
    files = {f"content/posts/{name}.md": post(aliases=["My Old Title", "/old/address/", "../x/"]) for name in "ab"}
    (line,) = said(workspace(tmp_path, files))
    assert line.startswith(
        "content/posts/a.md:2 warning: aliases: what is neither an ID nor an address that begins with /"
    )
    assert "(4 times, first here)" in line


def drafts(name: str) -> Iterator[tuple[str, str]]:
    yield f"content/posts/{name}.draft.md", post(aliases=["x"])
    yield f"content/posts/{name}.md", post(aliases=["x"], status="draft")


@pytest.mark.parametrize(("file", "text"), list(drafts("a")))
def test_what_is_not_published_renames_nothing(tmp_path: Path, file: str, text: str) -> None:
    (line,) = said(workspace(tmp_path, {file: text, "content/posts/b.md": post(next="x")}))
    assert line == "content/posts/b.md:2 warning: next: there is no entry 'x' in posts"


def test_old_ids_of_a_template(tmp_path: Path) -> None:
    people = "uid: api_people\nendpoint: people\nkind: list\nid: '{name}'\nfields: [{id: name, type: text}]\n"
    posts = POSTS + "  - {id: who, type: reference, api: people}\n"
    files = {
        "apis/people.yaml": people,
        "content/people/1.md": post(name="Ann Lee", aliases=["Ann Smith"]),
        "content/posts/a.md": post(who="Ann Smith"),
    }
    (line,) = said(workspace(tmp_path, files, posts=posts))
    assert (
        line == "content/posts/a.md:2 warning: 'Ann-Smith' is an old ID of 'Ann-Lee', and leads there: write 'Ann-Lee'"
    )


def test_references_by_path_lead_on(tmp_path: Path) -> None:
    posts = POSTS.replace(
        "{id: next, type: reference, api: posts}", "{id: next, type: reference, api: posts, by: path}"
    )
    files = {"content/posts/a.md": post(aliases=["x"]), "content/posts/b.md": post(next="/posts/x/")}
    (line,) = said(workspace(tmp_path, files, posts=posts))
    assert "'x' is an old ID of 'a'" in line


def test_an_entry_of_another_api_is_meant_first_and_a_hidden_one_is_named(tmp_path: Path) -> None:
    files = {
        "content/posts/a.md": post(aliases=["g", "x"]),
        "content/pages/a.md": post(),
        "content/pages/g.md": post(),
        "content/posts/b.md": post(any=["g", "x"]),
    }
    result = built(workspace(tmp_path / "w", files), tmp_path / "s")
    assert [p.message for p in result.problems.kept if p.kind == OLD_ID] == [
        "'x' is an old ID of 'a', and leads there: write 'a'"
    ]
    files["content/posts/a.md"] = post()
    files["content/posts/b.md"] = post(any=["g", {"api": "posts", "id": "a"}])
    same = built(workspace(tmp_path / "v", files), tmp_path / "s2")
    assert content_of(result, tmp_path / "s") == content_of(same, tmp_path / "s2")


def test_in_many_files_and_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def files(of: Callable[[int], str], **renamed: Any) -> dict[str, str]:
        every = {f"content/posts/r{number}.md": post(next=of(number), title=f"T{number}") for number in range(700)}
        return {**every, "content/posts/new.md": post(**renamed)}

    old = built(workspace(tmp_path / "w", files(lambda n: "old" if n % 3 else "new", aliases="old")), tmp_path / "s")
    new = built(workspace(tmp_path / "v", files(lambda _: "new")), tmp_path / "s2")
    assert content_of(old, tmp_path / "s") == content_of(new, tmp_path / "s2")
    assert {kind: count for _, kind, count in old.problems.counts} == {OLD_ID: 466}
