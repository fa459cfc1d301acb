"""``cms demo``, running."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.programs.command_line import CMS


@dataclass(frozen=True)
class RunningDemo:
    process: subprocess.Popen[str]
    printed: dict[str, Any]


@contextmanager
def running_demo(directory: Path, *options: str) -> Iterator[RunningDemo]:
    """Run a demo in a temporary directory inside ``directory``; gives what it printed once it served."""
    command = subprocess.Popen(
        [*CMS, "demo", "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(directory)},
    )
    assert command.stdout is not None
    printed = ""
    for line in command.stdout:
        printed += line
        if line == "}\n":
            break
    try:
        yield RunningDemo(command, json.loads(printed))
    finally:
        command.kill()
        command.wait()
        command.stdout.close()
