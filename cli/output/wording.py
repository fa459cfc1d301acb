"""Word counts, sizes, instants and the program's own name for people."""

from __future__ import annotations

import shlex
import shutil
import sys
from datetime import datetime, tzinfo
from pathlib import Path

from snapshots.times import format_datetime


def plural(count: int, noun: str, *, number: bool = True) -> str:
    """Return a count with its noun: ``1 entry``, ``2 entries``, ``1,000 errors``; without ``number`` the noun alone."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    text = noun if count == 1 else many
    return f"{count:,} {text}" if number else text


def size(count: int) -> str:
    """Return a number of bytes for people: ``812 bytes``, ``4.2 kB``, ``1.3 GB`` (powers of 1,000)."""
    from rich.filesize import decimal

    return decimal(count)


def instant(ms: int) -> str:
    """Return UTC milliseconds for people: ``2026-11-21 05:51:07 UTC``."""
    return f"{moment(ms)} UTC"


def moment(ms: int) -> str:
    """Return UTC milliseconds for a column headed UTC: ``2026-11-21 05:51:07``."""
    text = format_datetime(ms)
    return f"{text[:10]} {text[11:19]}"


def local_minute(ms: int, zone: tzinfo) -> str:
    """Return UTC milliseconds in a time zone: ``2026-11-21 14:51``."""
    return datetime.fromtimestamp(ms / 1000, zone).strftime("%Y-%m-%d %H:%M")


def program() -> str:
    """Return the text that calls this program from anywhere: ``cms`` if that is on the path, else its absolute path."""
    called = Path(sys.argv[0])
    found = shutil.which("cms")
    elsewhere = called.name == "cms" and called.exists() and (found is None or not called.samefile(found))
    return shlex.quote(str(called.absolute())) if elsewhere else "cms"
