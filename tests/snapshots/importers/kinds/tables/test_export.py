"""Tables as spreadsheets save them, held against what DuckDB reads in the same files."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

TABLE = '''\
ID,Product name,price,stock,vegan,since,photo,zip,notes,story,createdAt,lang
rye,"Country ""rye""",1450,12,true,2024-03-01,https://a.example/rye.jpg,00123,"two
lines",<p>Dark</p>,2024-01-01T09:00:00Z,en
roll,Milk roll,-0.5,,false,2024-03-02,https://a.example/roll.png,04567,,<p>Soft<br>one</p>,2024-01-02T09:00:00Z,en
roll,ミルクロール,180,3,TRUE,2024-03-02,,99999,,,2024-01-02T09:00:00Z,ja
'''


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def plain(value: Any) -> Any:
    """A value of DuckDB's as the API answers it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{value}T00:00:00.000Z" if isinstance(value, date) else value


def test_every_type_of_column_is_what_another_program_reads(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path, {"products.csv": TABLE}) / "products.csv"
    made = imported("csv", source, tmp_path / "site")
    types = {"ID": "VARCHAR", "zip": "VARCHAR", "createdAt": "VARCHAR"}
    found = duckdb.sql("SELECT * FROM read_csv($file, types = $types)", params={"file": str(source), "types": types})
    read = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert len(read) == 3
    for row in read:
        answer = answers(cms, made, f"products/{row['ID']}?lang={row['lang']}")
        assert answer["photo"] is None or answer["photo"]["url"] == row["photo"]
        got = {name: answer[name] for name in ("price", "stock", "vegan", "since", "zip", "notes")}
        assert got == {name: plain(row[name]) for name in got}
        assert answer["Product_name"] == row["Product name"]
        assert answer["story"] == row["story"]
    assert answers(cms, made, "products/rye?fields=createdAt")["createdAt"] == "2024-01-01T09:00:00.000Z"
    assert made.losses == []


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16"), (",", "utf-16-be"), (";", "utf-8")]
)
def test_forms_of_spreadsheets(tmp_path: Path, delimiter: str, encoding: str) -> None:
    rows = list(csv.reader(io.StringIO(TABLE)))
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([*rows, [""] * 12, []])
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    (tmp_path / "table.csv").write_bytes(mark + out.getvalue().encode(encoding))
    write_files(tmp_path, {"plain.csv": TABLE})
    made, other = (
        imported("csv", tmp_path / f"{name}.csv", tmp_path / name, api="goods") for name in ("table", "plain")
    )
    assert {name: made.text(f"content/{name}") for name in made.files()} == {
        name: other.text(f"content/{name}") for name in other.files()
    }


def test_rows_without_ids_are_named_by_their_texts(cms: Cms, tmp_path: Path) -> None:
    table = "Title,n\nHello World!,1\nHello World!,2\n料金,3\n,4\n"
    made = imported("csv", write_files(tmp_path, {"t.csv": table}) / "t.csv", tmp_path / "site")
    numbers = {one["id"]: one["n"] for one in answers(cms, made, "t")["contents"]}
    assert (numbers["hello-world"], numbers["hello-world-2"], sorted(numbers.values())) == (1, 2, [1, 2, 3, 4])
    assert made.lost("the table does not name them").count == 4


def test_rows_that_may_not_be_for_everybody_are_drafts(cms: Cms, tmp_path: Path) -> None:
    table = (
        "id,title,Status,draft,hidden,publishStart,expires\n"
        "a,A,published,no,,,\nb,B,draft,,,,\nc,C,,,,,\nd,D,published,yes,,,\ne,E,Published,,true,,\n"
        "f,F,scheduled,,,2099-01-01,\ng,G,published,,,,2000-01-01\nh,H,Done,,,,\n"
    )
    made = imported("csv", write_files(tmp_path, {"t.csv": table}) / "t.csv", tmp_path / "site", warnings=1)
    assert {one["id"] for one in answers(cms, made, "t?fields=id")["contents"]} == {"a"}
    later = answers(cms, made, "t?fields=id", "--at", "2099-01-02T00:00:00Z")
    assert {one["id"] for one in later["contents"]} == {"a", "f"}
    assert made.text("content/t/h.yaml").endswith("title: H\nStatus: Done\n")  # which is no state, so that it is kept
    assert [loss.places for loss in made.losses if "'Status'" in loss.why] == [["t.csv:3", "t.csv:4", "t.csv:9"]]


def test_what_tables_lose_is_told(tmp_path: Path) -> None:
    table = "id,Mail,,Name,Name,createdAt\na,a@private.example,x,N,M,soon\nb,b@private.example,,O,P,2024-01-01,more\n"
    made = imported("csv", write_files(tmp_path, {"t.csv": table}) / "t.csv", tmp_path / "site")
    assert made.lost("e-mail addresses").what == "the column 'Mail'"
    assert made.lost("more than once").what == "the column 'Name'"
    assert made.lost("column without a name").places == ["t.csv:2", "t.csv:3"]
    assert made.lost("it is no date: 'soon'").places == ["t.csv:2"]
    assert "private.example" not in "".join(made.text(f"content/{name}") for name in made.files())


def test_a_folder_is_an_api_for_each_table_and_its_pictures_are_copied(cms: Cms, tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"
    files = {"in/A b.csv": "id,photo\nx,img/a.png\n", "in/img/a.png": png, "in/c.csv": "id\ny\n", "in/other.txt": "z"}
    made = imported("csv", write_files(tmp_path, files) / "in", tmp_path / "site", assets="media")
    assert answers(cms, made, "A-b/x")["photo"]["width"] == 32
    assert [one["id"] for one in answers(cms, made, "c")["contents"]] == ["y"]
    with pytest.raises(Unreadable, match="--api names one API"):
        imported("csv", tmp_path / "in", tmp_path / "other", api="a")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the first row has to name the columns"),
        (b",,\n1,2,3\n", "the first row has to name the columns"),
        (b'a,b\n1,"2\n', "t.csv:2: broken CSV"),
        (b"a\n\x83\x41\n", "not valid UTF-8. Save it as CSV in UTF-8"),
        (b"," * 3000 + b"a\n", "more than 2,000 columns"),
        (b"PK\x03\x04\x00\xff", "is a workbook or an archive: end its name with .xlsx"),
    ],
)
def test_what_is_no_table_says_so(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        imported("csv", write_files(tmp_path, {"t.csv": data}) / "t.csv", tmp_path / "site")


def test_the_name_of_the_api_is_the_one_that_is_given(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path, {"Sheet 1.csv": "id,n\na,1\n"}) / "Sheet 1.csv"
    assert cms("import", "csv", str(source), str(tmp_path / "site"), "--api", "goods").status == 0
    assert (tmp_path / "site/apis/goods.yaml").is_file()
    refused = cms("import", "csv", str(source), str(tmp_path / "other"), "--api", "no good")
    assert (refused.status, "write it like 'no-good'" in refused.err) == (1, True)
    assert cms("import", "ghost", str(source), str(tmp_path / "other"), "--api", "goods").status == 2
