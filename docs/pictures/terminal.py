"""Draw docs/pictures/terminal.svg: a real session with ``cms``, as a terminal shows it.

python docs/pictures/terminal.py
"""

from __future__ import annotations

import io
import os
import pty
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS = 100
THEME = TerminalTheme(
    (250, 250, 248),
    (36, 41, 47),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (125, 78, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (90, 96, 102),
    ],
)
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
<rect width="100%" height="100%" rx="8" fill="#fafaf8" stroke="#d0d7de" />
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Without the typeface that Rich would fetch from elsewhere."""

PREPARE = """\
cms init my-site >/dev/null 2>&1 && cd my-site && git init -q && git add . \
&& git -c user.name=mika -c user.email=mika@example.com commit -qm Start && cms snapshot build >/dev/null 2>&1
cat > content/posts/opening.md <<'END'
---
title: We open on Sundays
category: nwes
publishedAt: 2026-03-01
---
From eight to noon.
END
"""
SESSION = """\
cms check
sed -i.old s/nwes/news/ content/posts/opening.md
cms snapshot build
cms snapshot diff
cms query 'posts?filters=title[contains]sunday&fields=title' --json
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        programs = Path(directory) / "bin"
        programs.mkdir()
        (programs / "cms").write_text(f'#!/bin/sh\nexec {sys.executable} -m cli.main "$@"\n')
        (programs / "cms").chmod(0o755)
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
        os.environ["COLUMNS"] = str(COLUMNS)
        os.environ["TERM"] = "xterm-256color"
        script = PREPARE + "".join(
            f"printf '\\033[1;32m$\\033[0m %s\\n' {_quoted(line)}\n{line}\n" for line in SESSION.splitlines()
        )
        shown = _in_terminal(script, directory)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(theme=THEME, code_format=SVG, unique_id="t")
    Path(__file__).with_name("terminal.svg").write_text(svg)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _in_terminal(script: str, directory: str) -> str:
    """What a script leaves on a terminal."""
    data = bytearray()

    def keep(descriptor: int) -> bytes:
        piece = os.read(descriptor, 65536)
        data.extend(piece)
        return piece

    os.chdir(directory)
    pty.spawn(["bash", "-c", f"stty cols {COLUMNS} -echo; {script}"], keep, lambda _: b"")
    lines = data.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(line for line in lines if "\u2501" not in line)  # a terminal wipes progress bars out again


if __name__ == "__main__":
    main()
