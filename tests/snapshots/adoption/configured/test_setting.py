"""Lists in configurations are read whole, whether these are data or programs, and what a program computes is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.creating.init import adopt_site
from snapshots.adoption.configured.globs import either, javascript_glob
from snapshots.adoption.configured.objects import objects_after, plain_program, without_inner
from snapshots.adoption.configured.programs import texts_after
from snapshots.adoption.configured.setting import Listed
from tests.sites.site_folders import write_folder


@pytest.mark.parametrize(
    ("program", "texts", "is_whole"),
    [
        ("a: ['x', \"y\", `z`]", ["x", "y", "z"], True),
        ("a: 'x', b: 'y'", ["x"], True),
        ("a = ('x', 'y')\nb = 'z'", ["x", "y"], True),
        ('"a": ["x"]', ["x"], True),
        ("a: [\n  'x', // 'no'\n  /* 'no', ] */ 'y',\n]", ["x", "y"], True),
        ("A = [\n  'x',  # 'no' ]\n  'y',\n]".replace("A", "a"), ["x", "y"], True),
        ("const more: string[] = ['u']\nexport default { a: [...more, 'x'] }", ["x", "u"], True),
        ("const a: Array<string> = ['x']", ["x"], True),
        ("a: ['it\\'s', \"]\"]", ["it's", "]"], True),
        ("ba: ['x'], a_b: ['y'], c.a: ['z']", [], True),
        ("if (a == ['x']) {}", [], True),
        ("a: undefined", [], True),
        ("a: others", [], False),
        ("a: [`${folder}/x`, 'y']", ["y"], False),
        ("a: read('list').filter(Boolean)", [], False),
        ("a: [...more]\nconst more = more", [], False),
    ],
)
def test_what_is_written_out_in_a_program_is_read(program: str, texts: list[str], is_whole: bool) -> None:
    assert texts_after(program, "a") == (texts, is_whole)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yml", "a:\n  - x\n  - y\nother: !!python/name:x ''\n"),
        ("c.yml", "a: |\n  x\n  # no\n\n  y\n"),
        ("c.toml", 'a = [\n  "x", # no\n  "y",\n]\n'),
        ("c.json", '{"a": ["x", ["y"]]}'),
        ("c.yml", "a: [x]\n---\n"),
    ],
)
def test_data_is_read_with_a_parser(name: str, text: str, tmp_path: Path) -> None:
    write_folder(tmp_path, {name: text})
    found = Listed(("c.*",), ("a",))
    assert found.values(tmp_path) == (["x", "y"] if "y" in text else [])
    assert found.unclear(tmp_path) == []


def test_words_in_braces_are_patterns_of_their_own() -> None:
    assert either("a/{b,c}/*.{d,e}") == ["a/b/*.d", "a/b/*.e", "a/c/*.d", "a/c/*.e"]
    assert either("{path}") == ["{path}"]


@pytest.mark.parametrize(
    ("pattern", "named", "others"),
    [
        ("**/*.md", "a.md a/b.md a/b/c.md", "a.mdx .md/x"),
        ("*.{md,mdx}", "a.md a.mdx", "a/b.md a.mdxx"),
        ("**/[^_]*.+(md|mdx)", "a.md a/b.mdx a/_b/c.md", "_a.md a/_b.md"),
        ("./a/**", "a/b a/b/c", "b/a"),
        ("**/a?.@(x|y)", "ab.x c/ab.y", "a.x ab.z"),
        ("a/{b,c/d}/*", "a/b/x a/c/d/x", "a/c/x"),
        ("!(a).md", "", "a.md b.md"),
        ("a,b", "a,b", "a"),
    ],
)
def test_patterns_are_those_of_programs_in_javascript(pattern: str, named: str, others: str) -> None:
    found = javascript_glob(pattern)
    assert [one for one in named.split() if not found.fullmatch(one)] == []
    assert [one for one in others.split() if found.fullmatch(one)] == []


def test_a_program_is_read_without_comments_and_with_its_texts_filled_in() -> None:
    program = plain_program("const A = 'x'; // const A = 'y'\nf({ a: `${A}/z`, /* b: 1, */ c: { d: '}' }, e: ['//'] })")
    ((_, text),) = objects_after(program, r"\bf\(")
    assert texts_after(text, "a") == (["x/z"], True)
    assert texts_after(text, "e") == (["//"], True)
    assert "b:" not in text
    assert without_inner(text).split() == ["a:", "`x/z`,", "c:", "{},", "e:", "['//']"]


def test_a_list_that_a_program_computes_is_a_decision_for_people(tmp_path: Path) -> None:
    config = "export default { srcExclude: glob.sync('x') }"
    site = write_folder(tmp_path, {".vitepress/config.js": config, "a.md": "# A\n"})
    adopt_site(site, site)
    told = (site / "workspace.yaml").read_text()
    assert "srcExclude in .vitepress/config.js is computed by a program, which is not run" in told
