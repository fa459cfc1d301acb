"""``cms import``: what it prints for people and as JSON, and what it says of wrong arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.creating.imports import SHOWN
from tests.cli.test_completion import offered
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import write_files

FILES = {
    "posts.schema.json": {"apiFields": [{"fieldId": "title", "kind": "text"}]},
    "posts.json": {"contents": [{"id": "a", "title": "A", "old": 1}, {"id": "b", "old": 2}]},
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "export", FILES)
    return in_process(monkeypatch, capsys)


def test_a_report_for_people(cms: Cms) -> None:
    ran = cms("import", "microcms", "export", "my site")
    assert ran.status == 0
    assert ran.out.startswith("What was imported into my site:\n\nAPI    LANGUAGE VERSIONS\nposts                  2\n")
    assert "    2  the value 'old'  its content type has no such field  posts/a\n" in ran.out
    assert "cd 'my site'\n" in ran.out
    assert cms("check", "my site").status == 0


def test_a_report_as_json(cms: Cms) -> None:
    assert cms("import", "microcms", "export", "site", "--json", "--language", "en").json == {
        "workspace": "site",
        "directory": "site",
        "languages": ["en"],
        "versions": {"posts": 2},
        "losses": [
            {
                "what": "the value 'old'",
                "why": "its content type has no such field",
                "count": 2,
                "places": ["posts/a", "posts/b"],
            }
        ],
    }


def test_of_very_many_losses_the_most_frequent_are_shown(cms: Cms) -> None:
    many = {f"old{number}": 1 for number in range(SHOWN + 3)}
    contents = [{"id": "a", **many}, {"id": "b", "old42": 1}]
    write_files(Path("export"), {"posts.json": {"contents": contents}})
    out = cms("import", "microcms", "export", "site").out
    assert out.count("no such field") == SHOWN
    assert "\n    2  the value 'old42'" in out
    assert "… and 3 more kinds: --json has all of them." in out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("microcms", "none", "site"), 1, "There is no none. Name the export to read."),
        (("microcms", "export", "export"), 1, "export already exists and is not empty. Choose another directory."),
        (("microcms", "export", "site", "--assets", "../x"), 1, "'../x' is not a folder to copy assets into"),
        (("microcms", "export", "site", "--language", "no language"), 1, "'no language' is not a language code"),
        (("wordpres", "export", "site"), 2, "Did you mean 'wordpress'?"),
        (("microcms", "export"), 2, "Missing argument 'DIR'"),
    ],
)
def test_wrong_arguments(cms: Cms, arguments: tuple[str, ...], status: int, message: str) -> None:
    ran = cms("import", *arguments)
    assert (ran.status, message in ran.err) == (status, True), ran.err
    assert not Path("site").exists()


def test_words_that_people_try_first(cms: Cms) -> None:
    assert "Did you mean `cms import wordpress`?" in cms("wordpress").err
    assert "Did you mean `cms import`?" in cms("migrate").err


def test_shells_complete_the_kinds(cms: Cms) -> None:
    assert offered(cms, "cms import wo") == ["wordpress"]
    assert offered(cms, "cms im") == ["import"]
