"""Tables on a terminal of 80 columns: every row on its line, and what has to be copied whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.table_widths import GAP, LEAST, table_widths
from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import Kind
from snapshots.times import now_ms
from tests.cli.test_main import on_a_terminal
from tests.programs.command_line import Cms, entry

LONG = "a-rather-long-identifier-of-an-entry-such-as-some-use"


@pytest.mark.parametrize(
    ("natural", "whole", "spare", "room", "widths"),
    [
        ([5, 20], "-w", [], 80, {0: 5, 1: 20}),
        ([30, 40], "--", [], 42, {0: 20, 1: 20}),
        ([30, 12], "--", [], 42, {0: 28, 1: 12}),
        ([30, 20], "-w", [], 42, {0: 20, 1: 20}),
        ([30, 20], "-w", [], 20, {0: 10, 1: 20}),
        ([30, 20], "-w", [0], 20, {1: 20}),
        ([8, 20, 30], "www", [0, 2], 32, {0: 8, 1: 20}),
        ([8, 20, 30], "www", [0, 2], 52, {1: 20, 2: 30}),
    ],
)
def test_who_gives_way(natural: list[int], whole: str, spare: list[int], room: int, widths: dict[int, int]) -> None:
    assert table_widths(natural, [one == "w" for one in whole], spare, room) == widths


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=8), st.integers(1, 200), st.data())
def test_what_fits_is_whole_and_what_does_not_is_cut_to_fit(
    columns: list[tuple[int, bool]], room: int, data: st.DataObject
) -> None:
    natural, whole = [width for width, _ in columns], [kept for _, kept in columns]
    spare = data.draw(st.permutations(range(len(columns)))).copy()[: len(columns) - 1]
    found = table_widths(natural, whole, spare, room)
    taken = sum(found.values()) + GAP * (len(found) - 1)
    if sum(natural) + GAP * (len(natural) - 1) <= room:
        assert found == dict(enumerate(natural))
    if taken > room:
        assert set(found) == set(range(len(columns))) - set(spare)
    for column, width in found.items():
        assert width == natural[column] if whole[column] else min(natural[column], LEAST) <= width <= natural[column]


@pytest.fixture
def crowded(cms_in_copy: Cms, tmp_path: Path) -> Cms:
    """A workspace whose tables do not fit into 80 columns."""
    run = cms_in_copy
    later = entry("A title that says a lot about its entry", "status: scheduled\npublishStart: 2126-01-01T00:00:00Z\n")
    (tmp_path / f"content/blog/{LONG}.md").write_text(later, encoding="utf-8")
    assert run("snapshot", "build").status == 0
    assert run("key", "create", "The website, production, and its preview", "--api", "blog", "--api", "authors")
    spool = SpoolWriter(tmp_path / ".cms/site" / VIEWS, now_ms())
    for kind, key in ((Kind.ENTRY, LONG), (Kind.PATH, "/news/2026/a-page"), (Kind.ENTRY, "one")):
        spool.append(View(now_ms(), kind, key, "acme.example"))
    spool.close()
    assert run("views", "flush").status == 0
    return run


def test_no_row_wraps_and_a_column_that_is_left_out_is_named(crowded: Cms) -> None:
    for command, rows, copied in (
        ("key list", 1, r"pq_\w{8} "),
        ("snapshot list", 2, r" \d{8}T\d{9}Z-[0-9a-f]{8} "),
        ("snapshot show", None, "1 Jan 2126, 09:00"),
        ("views top", 3, LONG),
        ("views top --days 60", 3, LONG),
    ):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(*command.split())).splitlines()
        assert max(map(len, shown)) <= 80, command
        assert any(re.search(copied, line) for line in shown), command
        table = [line for line in shown if line and not line.startswith(("Too narrow for", "Days and times are"))]
        assert rows is None or len(table) == 1 + rows, command
        piped = crowded(*command.split())
        assert (piped.status, "…" in piped.out, "Too narrow" in piped.out) == (0, False, False), command
        assert rows is None or len(piped.out.splitlines()) == 1 + rows, command
        left_out = "60 DAYS: a wider terminal and --json show all." in shown[-1]
        assert left_out == (command == "views top --days 60"), command


def test_lines_of_a_diff_go_on_below_and_to_the_right(crowded: Cms, tmp_path: Path) -> None:
    before, after = ("incomprehensible " * 30 + end for end in ("rye", "wheat"))
    for title in (before, after):
        (tmp_path / "content/blog/one.md").write_text(entry(f"A {title} at last"), encoding="utf-8")
        assert crowded("snapshot", "build").status == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("snapshot", "diff")).splitlines()
    assert max(map(len, shown)) <= 80
    first = next(at for at, line in enumerate(shown) if "Title: " in line)
    assert shown[first].startswith("      Title: … incomprehensible")
    assert shown[first + 1].startswith("        ")
    assert "[-rye] [+wheat] at last" in " ".join(line.strip() for line in shown[first : first + 4])
