"""Time is an argument: below the commands and the server, few places ask what time it is, each for a reason."""

from __future__ import annotations

import ast
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
CLOCKS = {"time", "time_ns", "now", "utcnow", "today"}
ASKING = {
    "snapshots/times.py": "it is where all others get the present instant from",
    "snapshots/build/inputs.py": "compared with the times that the file system gives to files",
    "snapshots/compile/assets.py": "compared with the times that the file system gives to files",
    "snapshots/store/carrying.py": "compared with the times that the store gives to objects",
    "snapshots/store/assets/use.py": "the end of a lease between processes, which is read by their clocks",
    "snapshots/store/buckets/aws_profile.py": "the end of credentials, which the client library asks for",
    "engine/views/collecting/spool.py": "compared with the times that the file system gives to files",
}


def asks(path: Path) -> bool:
    """Whether a module calls a clock of the calendar's; the monotonic one measures how long something takes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in {"now_ms", "time_ns"}:
                return True
            if (
                isinstance(called, ast.Attribute)
                and called.attr in CLOCKS
                and isinstance(called.value, ast.Name)
                and called.value.id in {"time", "datetime", "date"}
            ):
                return True
    return False


def test_the_engine_and_snapshots_are_told_the_time() -> None:
    modules = [path for top in ("engine", "snapshots") for path in (REPOSITORY / top).rglob("*.py")]
    assert sorted(path.relative_to(REPOSITORY).as_posix() for path in modules if asks(path)) == sorted(ASKING)
