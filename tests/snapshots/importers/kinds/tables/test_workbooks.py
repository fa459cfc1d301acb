"""Workbooks, held against the same tables saved as CSV, and those that want to do harm."""

from __future__ import annotations

import builtins
import re
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from snapshots.importers.reading import workbook as reading
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import imported, write_files

pytestmark = pytest.mark.skipif(
    find_spec("openpyxl") is None, reason="openpyxl is not installed: pip install 'parquetry[spreadsheet]'"
)

HALF_PAST_NINE = datetime(2024, 3, 1, 9, 30)  # noqa: DTZ001 - workbooks know no zones
LAST_SECOND = datetime(1999, 12, 31, 23, 59, 59)  # noqa: DTZ001
ROWS: list[list[Any]] = [
    ["id", "Name", "Price", "Vegan", "Since", "At", "Opens", "Zip", "Note", "Photo"],
    ["rye", "Country rye", 1450, True, date(2024, 3, 1), HALF_PAST_NINE, time(9, 30), 123, "two\nlines"],
    ["roll", "Milk “roll”", 0.1 + 0.2, False, date(2024, 3, 2), LAST_SECOND, None, 4567, None],
    ["bun", "=x", -5, None, None, None, None, None, None, "img/a.png"],
]  # fmt: skip
CSV = (
    "id,Name,Price,Vegan,Since,At,Opens,Zip,Note,Photo\n"
    'rye,Country rye,1450,true,2024-03-01,2024-03-01T09:30:00,09:30:00,00123,"two\nlines",\n'
    "roll,Milk “roll”,0.3,false,2024-03-02,1999-12-31T23:59:59,,04567,,\n"
    "bun,=x,-5,,,,,,,img/a.png\n"
)


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def filled(sheet: Any, rows: list[list[Any]] = ROWS) -> Any:
    for row in rows:
        sheet.append(row)
    for cells in sheet.iter_rows(min_row=2):
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # "=x" is a text
            if cell.column == 8 and cell.value is not None:
                cell.number_format = "00000"
    return sheet


def saved(path: Path, make: Callable[[Any], None] = lambda book: filled(book.active) and None) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    make(book)
    book.save(path)
    return path


def rewritten(path: Path, member: str, change: Callable[[str], str]) -> Path:
    """Change one member of a workbook."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members.get(member, b"").decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_workbook_is_what_the_same_table_is_as_csv(tmp_path: Path) -> None:
    source = saved(tmp_path / "goods.xlsx")
    made = imported("csv", source, tmp_path / "book")
    other = imported("csv", write_files(tmp_path, {"goods.csv": CSV}) / "goods.csv", tmp_path / "table")
    contents = [
        {name: re.sub(r"(created|updated)At: .*", "", one.text(f"content/{name}")) for name in one.files()}
        for one in (made, other)
    ]
    definitions = [re.sub("uid: .*", "", one.text("apis/goods.yaml")) for one in (made, other)]
    assert contents[0] == contents[1]
    assert definitions[0] == definitions[1]
    assert [loss.what for loss in made.losses] == [loss.what for loss in other.losses]


def test_what_is_hidden_is_kept_back_and_told(cms: Cms, tmp_path: Path) -> None:
    def make(book: Any) -> None:
        sheet = book.active
        sheet.title = "Goods"
        filled(sheet, [["id", "n", "Cost", "m"], ["a", 1, 7, 2], ["b", 3, 8, 4], [None], ["c", 5, 9, 6]])
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["C"].hidden = True
        filled(book.create_sheet("Plans"), [["id"], ["secret"]]).sheet_state = "hidden"
        filled(book.create_sheet("More"), [["id"], ["deeper"]]).sheet_state = "veryHidden"
        filled(book.create_sheet("Shops"), [["id"], ["north"]])
        book.create_sheet("Empty")

    source = saved(tmp_path / "book.xlsx", make)
    made = imported("csv", source, tmp_path / "site")
    assert made.files() == ["Goods/a.yaml", "Goods/c.yaml", "Shops/north.yaml"]
    assert "Cost" not in made.text("apis/Goods.yaml")
    assert "m: 6" in made.text("content/Goods/c.yaml")
    assert made.lost("a hidden row").places == ["book.xlsx:Goods:3"]
    assert made.lost("a hidden column").count == 1
    assert made.lost("a hidden sheet").places == ["book.xlsx:Plans", "book.xlsx:More"]

    ran = cms("import", "csv", str(source), str(tmp_path / "plans"), "--sheet", "Plans", "--api", "plans")
    assert (ran.status, (tmp_path / "plans/content/plans/secret.yaml").is_file()) == (0, True)
    refused = cms("import", "csv", str(source), str(tmp_path / "none"), "--sheet", "Other")
    assert (refused.status, "has no sheet 'Other'. It has 'Goods', 'Plans'" in refused.err) == (1, True)
    assert "Name a sheet with --sheet" in cms("import", "csv", str(source), str(tmp_path / "x"), "--api", "x").err


def test_formulas_give_their_values_and_what_has_none_is_told(tmp_path: Path) -> None:
    def make(book: Any) -> None:
        filled(book.active, [["id", "total", "part"], ["a", 1, 2], ["b", 3, 4]])
        book.active["B2"] = "=1+1"
        book.active["B3"] = "=2+1"
        book.active["C2"] = "=1/0"

    def computed(xml: str) -> str:
        xml = xml.replace("<f>1+1</f><v></v>", "<f>1+1</f><v>2</v>").replace("<f>1+1</f><v />", "<f>1+1</f><v>2</v>")
        return re.sub(r'<c r="C2"[^>]*><f>1/0</f><v ?/?>(</v>)?', '<c r="C2" t="e"><f>1/0</f><v>#DIV/0!</v>', xml)

    source = rewritten(saved(tmp_path / "a.xlsx", make), "xl/worksheets/sheet1.xml", computed)
    made = imported("csv", source, tmp_path / "site")
    assert "total: 2" in made.text("content/a/a.yaml")
    assert "total" not in made.text("content/a/b.yaml")
    assert made.lost("the value of a formula").places == ["a.xlsx:Sheet:3"]
    assert made.lost("#DIV/0!").places == ["a.xlsx:Sheet:2"]


def test_merged_cells_links_and_pictures_are_told(tmp_path: Path) -> None:
    def make(book: Any) -> None:
        sheet = filled(book.active, [["id", "kind"], ["a", "x"], ["b", None], ["c", "see"]])
        sheet.merge_cells("B2:B3")
        sheet["B4"].hyperlink = "https://old.example/"

    made = imported("csv", saved(tmp_path / "a.xlsx", make), tmp_path / "site")
    assert made.lost("merged cells").places == ["a.xlsx:Sheet:B2:B3"]
    assert made.lost("the address of a link").count == 1
    assert "kind" not in made.text("content/a/b.yaml")


def test_a_folder_may_have_tables_of_both_kinds(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", {"a.csv": "id\nx\n"})
    saved(folder / "b.xlsx", lambda book: filled(book.active, [["id"], ["y"]]) and None)
    assert imported("csv", folder, tmp_path / "site").files() == ["a/x.yaml", "b/y.yaml"]


def with_rows(rows: str) -> Callable[[str], str]:
    return lambda xml: re.sub(r"(?s)<sheetData.*</sheetData>", f"<sheetData>{rows}</sheetData>", xml)


def cell(reference: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>x</t></is></c>'


@pytest.mark.parametrize(
    ("member", "change", "message"),
    [
        ("xl/workbook.xml", lambda xml: f'<!DOCTYPE a [<!ENTITY b "c">]>{xml}', "declares a document type"),
        ("xl/sharedStrings.xml", lambda xml: f'<!DOCTYPE a SYSTEM "file:///etc/passwd">{xml}', "a document type"),
        ("xl/worksheets/sheet1.xml", lambda xml: xml[: len(xml) // 2], "broken XML"),
        ("xl/worksheets/sheet1.xml", with_rows(f'<row r="99999999">{cell("A99999999")}</row>'), "is no row"),
        ("xl/worksheets/sheet1.xml", with_rows('<row r="-1"></row>'), "is no row"),
        ("xl/worksheets/sheet1.xml", with_rows('<row r="2"></row><row r="1"></row>'), "out of order"),
        ("xl/worksheets/sheet1.xml", with_rows(f'<row r="1">{cell("ZZZZZ1")}</row>'), "is in no row"),
        ("xl/worksheets/sheet1.xml", with_rows(f'<row r="1">{cell("B1")}{cell("A1")}</row>'), "not in order"),
        ("xl/worksheets/sheet1.xml", with_rows(f'<row r="1">{cell("XFD1")}</row>'), "more than 2,000 columns"),
        (
            "xl/worksheets/sheet1.xml",
            with_rows("".join(f'<row r="{n}"><c r="XFD{n}"/></row>' for n in range(1, 1500))),
            "more than 20,000,000 cells",
        ),
        ("xl/media/bomb.bin", lambda _: "\0" * (reading._LEAST_LIMIT + 1), "far more than its own size"),
        ("xl/workbook.xml", lambda xml: xml.replace("<sheets>", "<sheets><sheet/>"), "cannot be read"),
    ],
)
def test_hostile_workbooks_are_refused(
    member: str, change: Callable[[str], str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LEAST_LIMIT", 1 << 20)
    source = rewritten(saved(tmp_path / "a.xlsx"), member, change)
    with pytest.raises(Unreadable, match=message):
        imported("csv", source, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_dimension_that_is_not_true_costs_nothing(tmp_path: Path) -> None:
    source = saved(tmp_path / "a.xlsx", lambda book: filled(book.active, [["id"], ["x"]]) and None)
    rewritten(
        source, "xl/worksheets/sheet1.xml", lambda xml: re.sub('ref="[^"]*"', 'ref="A1:XFD1048576"', xml, count=1)
    )
    assert imported("csv", source, tmp_path / "site").files() == ["a/x.yaml"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.ods", b"PK\x03\x04", "OpenDocument spreadsheet, which is not read. Save it as .xlsx, or each sheet as CSV"),
        ("a.numbers", b"PK\x03\x04", "Numbers, which is not read"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "before 2007"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1", "has a password, or is an .xls workbook"),
        ("a.xlsx", b"PK\x03\x04\0\0", "cannot be read"),
        ("a.xlsx", b"id,n\n", "is no workbook"),
    ],
)
def test_what_is_no_workbook_says_so(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(Unreadable, match=message):
        imported("csv", tmp_path / name, tmp_path / "site")


def test_other_documents_in_an_archive_say_so(tmp_path: Path) -> None:
    for member, message in (("mimetype", "OpenDocument"), ("xl/workbook.bin", "binary workbook"), ("x", "no workbook")):
        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
            archive.writestr(member, "x")
        with pytest.raises(Unreadable, match=message):
            imported("csv", tmp_path / "a.xlsx", tmp_path / "site")
    with pytest.raises(Unreadable, match="--sheet names a sheet"):
        imported("csv", write_files(tmp_path, {"a.csv": "id\nx\n"}) / "a.csv", tmp_path / "site", sheet="x")


def test_a_package_that_is_not_installed_is_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = saved(tmp_path / "a.xlsx")
    found = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unreadable, match=r"pip install 'parquetry\[spreadsheet\]'"):
        imported("csv", source, tmp_path / "site")
