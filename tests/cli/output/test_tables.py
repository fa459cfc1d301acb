"""Tables in a pipe: nothing is cut."""

from __future__ import annotations

import pytest

from cli.output import tables


def test_a_table_in_a_pipe_is_whole_and_has_no_blanks_at_line_ends(capsys: pytest.CaptureFixture[str]) -> None:
    long = "word " * 60
    tables.table(("NAME", "COUNT", ""), [(long.strip(), "5", ""), ("[b]", "1,000", "x\x1b[0m")], right=("COUNT",))
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "COUNT"]
    assert first == f"{long.strip()}      5"
    assert second.startswith("[b] ")
    assert second.endswith("  1,000  x\\x1b[0m")
