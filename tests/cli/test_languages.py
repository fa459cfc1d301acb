"""What the commands say of languages: the same numbers everywhere, and names when they are asked for."""

from __future__ import annotations

from pathlib import Path

from tests.programs.command_line import Cms, entry

OLDER = "1 translation into de is older than the original in en: blog/one"
WARNING = f"content/blog/one.de.md:1: warning: {OLDER}"
SENTENCE = "de: 2 not translated, 1 older than the original"


def change(root: Path) -> None:
    """Two more entries, one of them a draft, and another original: it is built, so that the translation is older."""
    (root / "content/blog/three.md").write_text(entry("Three", "status: draft\n"), encoding="utf-8")
    (root / "content/blog/four.de.md").write_text(entry("Vier"), encoding="utf-8")
    (root / "content/blog/five.md").write_text(entry("Five"), encoding="utf-8")
    (root / "content/blog/one.md").write_text(entry("One, but otherwise"), encoding="utf-8")


def test_a_check_counts_and_names_on_demand(cms_in_copy: Cms, tmp_path: Path) -> None:
    assert cms_in_copy("check").out == "de: 1 not translated\nNo problems\n"
    change(tmp_path)
    for _ in range(2):  # the second time from what is remembered
        assert cms_in_copy("check").out == f"{WARNING}\n{SENTENCE}\n0 errors, 1 warning\n"
    names = "not translated into de: blog/five\nnot translated into de: blog/two\n"
    named = cms_in_copy("check", "--missing", "de")
    assert (named.status, named.out) == (0, f"{WARNING}\n{names}{SENTENCE}\n0 errors, 1 warning\n")
    found = cms_in_copy("check", "--json", "--missing", "de").json
    assert found["languages"] == [{"lang": "de", "missing": 2, "older": 1}]
    assert found["missing"] == ["blog/five", "blog/two"]
    for lang in ("en", "xx"):
        wrong = cms_in_copy("check", "--missing", lang)
        assert (wrong.status, wrong.out) == (2, "")
        assert f'Nothing is translated into "{lang}". Languages of translations: de.' in wrong.err


def test_a_version_says_what_its_build_said(cms_in_copy: Cms, tmp_path: Path) -> None:
    change(tmp_path)
    built = cms_in_copy("snapshot", "build")
    assert OLDER in built.err
    shown = cms_in_copy("snapshot", "show", "--languages").out
    assert [line.split(maxsplit=3) for line in shown.splitlines()][1:] == [["blog", "de", "2", "1: one"]]
    # What is changed since is not in that version.
    (tmp_path / "content/blog/five.de.md").write_text(entry("Fünf"), encoding="utf-8")
    assert cms_in_copy("snapshot", "show", "--languages", "--json").json == [
        {"api": "blog", "lang": "de", "missing": 2, "older": 1, "olderIds": ["one"]}
    ]
    named = cms_in_copy("snapshot", "show", "--missing", "de")
    assert named.out.splitlines()[2:] == ["not translated into de: blog/five", "not translated into de: blog/two"]
    assert cms_in_copy("snapshot", "show", "--missing", "de", "--json").json[0]["missingIds"] == ["five", "two"]
    assert cms_in_copy("snapshot", "show", "--missing", "en").status == 2


def test_a_review_has_a_section(cms_in_copy: Cms, tmp_path: Path) -> None:
    change(tmp_path)
    ran = cms_in_copy("review", "--live", ".cms")
    assert f"\n#### Translations\n\n- {SENTENCE}\n" in ran.out
    assert OLDER in ran.out
    assert cms_in_copy("review", "--json").json["languages"] == [{"lang": "de", "missing": 2, "older": 0}]
