"""Lists in configurations are read whole, whether these are data or programs, and what a program computes is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.creating.init import adopt_site
from snapshots.adoption.configured.globs import either
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


def test_a_list_that_a_program_computes_is_a_decision_for_people(tmp_path: Path) -> None:
    config = "export default { srcExclude: glob.sync('x') }"
    site = write_folder(tmp_path, {".vitepress/config.js": config, "a.md": "# A\n"})
    adopt_site(site, site)
    told = (site / "workspace.yaml").read_text()
    assert "srcExclude in .vitepress/config.js is computed by a program, which is not run" in told
