"""Print rows and facts as a table on standard output, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.output.lines import answer, console_of
from cli.output.streams import flush, printable, write
from cli.output.table_widths import GAP, table_widths

if TYPE_CHECKING:
    from rich.console import JustifyMethod, OverflowMethod
    from rich.table import Table
    from rich.text import Text


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    spare: Sequence[str] = (),
    wrapped: Sequence[str] = (),
) -> None:
    """Print rows under their column names on standard output, each on one line.

    ``right`` names the columns of numbers. On a terminal that is too narrow, values are cut, except numbers and the
    columns in ``whole``, which are there to be copied, and those in ``wrapped``, which go on below. If that is not
    enough, columns in ``spare`` are left out, the first of them first, and named below the table. A pipe gets
    everything.
    """
    from rich.cells import cell_len
    from rich.table import Table

    lines = [[printable(cell).replace("\n", "\\n").expandtabs() for cell in row] for row in rows]
    natural = [max(map(cell_len, cells)) for cells in zip(columns, *lines, strict=True)]
    kept = [name in whole or name in right for name in columns]
    console = console_of(stderr=False)
    widths = table_widths(natural, kept, [columns.index(name) for name in spare], console.width)
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width in widths.items():
        justify: JustifyMethod = "right" if columns[column] in right else "left"
        is_wrapped = columns[column] in wrapped
        overflow: OverflowMethod = "fold" if is_wrapped else "ellipsis"
        grid.add_column(columns[column], justify=justify, no_wrap=not is_wrapped, overflow=overflow, width=width)
    for line in lines:
        grid.add_row(*(cell_text(line[column]) for column in widths))
    _grid(grid, max(console.width, sum(widths.values()) + GAP * len(widths)))
    left_out = [name for column, name in enumerate(columns) if column not in widths]
    if left_out:
        answer(f"Too narrow for {', '.join(left_out)}: a wider terminal and --json show all.", style="dim")


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and their values, one a line, on standard output."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, cell_text(value))
    _grid(grid)


def _grid(grid: Table, width: int | None = None) -> None:
    """Print a grid, uncut even if the terminal is narrower."""
    console = console_of(stderr=False)
    with console.capture() as captured:
        console.print(grid, crop=False, width=width)
    text = captured.get()
    # Rich fills every row up to the width of the widest.
    write("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    flush()


def cell_text(text: str) -> Text:
    """Return the text of a cell, which is never read as markup."""
    from rich.text import Text

    return Text(printable(text))
