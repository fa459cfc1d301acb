"""Exports of Notion as Markdown & CSV, small and made by hand in the form of its archives."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

HOME, PLAN, RECIPES, RYE, PEOPLE, MIKA, EMPTY = (f"{number:032x}" for number in range(0xA1, 0xA8))
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"
TOP = "Export-1/"
EXPORT: dict[str, Any] = {
    f"{TOP}Home {HOME}.md": (
        f"# Home 🏠\n\nSee [the plan](Home%20{HOME}/Plan%20{PLAN}.md), [rye](Recipes%20{RECIPES}/Rye%20{RYE}.md), "
        f"[Mika](People%20{PEOPLE}/Mika%20{MIKA}.md), [all](Recipes%20{RECIPES}.csv) and [out](https://a.example/b).\n\n"
        f"![oven](Home%20{HOME}/oven%201.png)\n\n- [x] baked\n"
    ),
    f"{TOP}Home {HOME}/Plan {PLAN}.md": "# Plan: one, two\n\nMore.\n",
    f"{TOP}Home {HOME}/oven 1.png": PNG,
    f"{TOP}Recipes {RECIPES}.csv": "\ufeffName,Status\nRye,Published\n",
    f"{TOP}Recipes {RECIPES}_all.csv": (
        "\ufeffName,Status,Created time,Vegan,Kcal,Note,Baker,Contact\n"
        f'Rye,Published,"November 24, 2025 3:05 PM",Yes,210,"dark, sour","Mika (People%20{PEOPLE}/Mika%20{MIKA}.md)",'
        "a@private.example\n"
        'Roll,Draft,"November 25, 2025 9:00 AM",No,99.5,,,b@private.example\n'
    ),
    f"{TOP}Recipes {RECIPES}/Rye {RYE}.md": (
        "# Rye\n\nStatus: Published\nCreated time: November 24, 2025 3:05 PM\nVegan: Yes\nKcal: 210\nNote: dark, sour\n"
        f"Baker: Mika (../People%20{PEOPLE}/Mika%20{MIKA}.md)\nContact: a@private.example\n\n"
        f"## Dough\n\nStatus: not a property. Mix **it**, then go [home](../Home%20{HOME}.md).\n"
    ),
    f"{TOP}People {PEOPLE}.csv": "\ufeffName,Born\nMika,1990-05-01\n",
    f"{TOP}People {PEOPLE}/Mika {MIKA}.md": "# Mika\n\nBorn: 1990-05-01\n",
    f"{TOP}stray.csv": "a\n1\n",
    f"{TOP}stray.md": "# Stray\n",
    f"{TOP}index.html": "x",
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def zipped(files: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The archive of archives that Notion makes of a large export."""
    write_files(tmp_path, {"notion.zip": zipped({"ExportBlock-1-Part-1.zip": zipped(EXPORT)})})
    return tmp_path / "notion.zip"


def test_pages_and_databases(cms: Cms, source: Path, tmp_path: Path) -> None:
    made = imported("notion", source, tmp_path / "site", assets="media")
    rye = answers(cms, made, f"recipes/{RYE}?depth=1")
    assert {name: rye[name] for name in ("Name", "Vegan", "Kcal", "Note", "createdAt")} == {
        "Name": "Rye",
        "Vegan": True,
        "Kcal": 210,
        "Note": "dark, sour",
        "createdAt": "2025-11-24T15:05:00.000Z",
    }
    assert [one["Name"] for one in rye["Baker"]] == ["Mika"]
    assert "Status: not a property. Mix <strong>it</strong>" in rye["body"]
    assert "Contact" not in rye
    plan = answers(cms, made, f"pages/{PLAN}?depth=1")
    assert (plan["title"], plan["parent"]["title"]) == ("Plan: one, two", "Home 🏠")
    home = answers(cms, made, f"pages/{HOME}")
    [picture] = (made.root / "media").iterdir()
    assert picture.read_bytes() == PNG
    assert 'width="32" height="16"' in home["body"]
    assert made.text(f"content/pages/{HOME}.md").count("](../../media/") == 1


def test_links_between_pages_lead_to_their_entries(cms: Cms, source: Path, tmp_path: Path) -> None:
    """With the addresses of the site's pages, which only people know."""
    made = imported("notion", source, tmp_path / "site", assets="media")
    for definition in (made.root / "apis").iterdir():
        text = definition.read_text(encoding="utf-8")
        definition.write_text(f"{text}page_url: https://site.example/{definition.stem}/{{id}}\n", encoding="utf-8")
    body = answers(cms, made, f"pages/{HOME}")["body"]
    for link in (f"pages/{PLAN}", f"recipes/{RYE}", f"people/{MIKA}"):
        assert f'href="https://site.example/{link}"' in body
    assert 'href="https://a.example/b"' in body
    assert f'href="https://site.example/pages/{HOME}"' in answers(cms, made, f"recipes/{RYE}")["body"]


def test_what_is_lost_is_told_and_what_may_not_be_for_everybody_is_a_draft(
    cms: Cms, source: Path, tmp_path: Path
) -> None:
    made = imported("notion", source, tmp_path / "site", warnings=None)
    assert [one["id"] for one in answers(cms, made, "recipes?fields=Name")["contents"]] == [RYE]
    assert "status: draft" in made.text("content/recipes/roll.yaml")
    assert made.lost("the column 'Status'").count == 1
    assert made.lost("the page of a row").count == 1
    assert made.lost("the column 'Contact'").places == ["recipes"]
    assert made.lost("is no entry").places == [f"{TOP}Home {HOME}.md"]
    assert {loss.what for loss in made.losses if "no ID" in loss.why} == {"a table", "a page"}
    assert not [path for path in made.root.rglob("*.*ml") if "private.example" in path.read_text(encoding="utf-8")]


def test_the_folder_is_read_like_the_archive(source: Path, tmp_path: Path) -> None:
    made = imported("notion", source, tmp_path / "site", assets="media")
    folder = write_files(tmp_path / "folder", {name.removeprefix(TOP): data for name, data in EXPORT.items()})
    other = imported("notion", folder, tmp_path / "other", assets="media")
    assert made.files() == other.files()
    named = f"content/recipes/{RYE}.md"
    assert made.text(named) == other.text(named)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "x"}, "not an export of Notion"),
        ({"../outside.md": "x"}, "leads out of the archive"),
        ({"a/../../outside.md": "x"}, "leads out of the archive"),
        ({"/tmp/outside.md": "x"}, "leads out of the archive"),
        ({"a\\..\\outside.md": "x"}, "leads out of the archive"),
        ({"1.zip": zipped({"2.zip": zipped({"3.zip": zipped({"4.zip": zipped({"5.md": "x"})})})})}, "nested too deep"),
        ({"1.zip": b"PK\x03\x04 and no more"}, "cannot be read"),
    ],
)
def test_what_is_no_export_says_so_and_leaves_nothing(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    write_files(tmp_path, {"a.zip": zipped(files)})
    with pytest.raises(Unreadable, match=message):
        imported("notion", tmp_path / "a.zip", tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_an_archive_that_grows_beyond_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapshots.importers.reading.zip_files.LEAST_LIMIT", 1 << 20)
    write_files(tmp_path, {"a.zip": zipped({f"A {HOME}.md": b"\0" * (4 << 20)})})
    with pytest.raises(Unreadable, match="far more than its own size"):
        imported("notion", tmp_path / "a.zip", tmp_path / "site")
