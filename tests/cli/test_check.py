"""``cms check``: how many of the same warnings are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.command_line import Cms, in_process, write_workspace


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, which is the current directory."""
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    return tmp_path


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


def undated(site: Path, count: int) -> None:
    for number in range(count):
        (site / f"content/blog/undated-{number:04}.md").write_text("---\ntitle: T\n---\n")


@pytest.mark.parametrize(("count", "printed", "rest"), [(5, 5, None), (6, 3, 3), (400, 3, 397)])
def test_many_of_the_same_warnings_are_grouped_with_a_count(
    cms: Cms, site: Path, count: int, printed: int, rest: int | None
) -> None:
    undated(site, count)
    ran = cms("check")
    assert ran.status == 0
    *lines, total = ran.out.splitlines()
    assert total == f"0 errors, {count} warnings"
    assert len([line for line in lines if "no date known" in line]) == printed
    more = [] if rest is None else [f"… and {rest} more places like these (no-date)"]
    assert [line for line in lines if line.startswith("…")] == more


def test_different_warnings_and_errors_are_never_grouped(cms: Cms, site: Path) -> None:
    for number in range(8):
        name = site / f"content/blog/wrong-{number}.md"
        name.write_text(f"---\ntitle: T\ncreatedAt: 2026-01-01\nrating: many\nkey{number}: 1\n---\n")
    *lines, languages, total = cms("check").out.splitlines()
    assert (languages, total) == ("de: 1 not translated", "8 errors, 8 warnings")
    assert len(lines) == 16


def test_json_has_each_of_them(cms: Cms, site: Path) -> None:
    undated(site, 7)
    assert len(cms("check", "--json").json["problems"]) == 7
