"""Write the flips of a schedule as an iCalendar file (RFC 5545), for the calendars that people use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from engine.timeline.timeline import Flip
from snapshots.model import Workspace

_LONGEST_LINE = 75
"""Bytes of a line; longer ones are folded."""


def calendar_file(
    workspace: Workspace, flips: Iterable[Flip], titles: Mapping[tuple[str, str, str], str], now: int
) -> bytes:
    """Return the flips as events. ``titles`` has that of (endpoint, language, entry ID) where there is one, ``now`` is
    the instant of the file in UTC milliseconds."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Parquetry//Console//EN",
        _text("X-WR-CALNAME", workspace.name),
    ]
    names = {api.endpoint: api.name for api in workspace.apis}
    for flip in flips:
        title = titles.get((flip.api, flip.lang, flip.entry), flip.entry)
        said = "\n".join((workspace.id, flip.api, flip.lang, flip.entry, str(flip.live)))
        lines += [
            "BEGIN:VEVENT",
            # The same event when its time changes, so that calendars move it.
            f"UID:{hashlib.sha256(said.encode()).hexdigest()[:32]}@parquetry",
            f"DTSTAMP:{_instant(now)}",
            f"DTSTART:{_instant(flip.at)}",
            _text("SUMMARY", f"{title} {'goes live' if flip.live else 'ends'}"),
            _text("DESCRIPTION", f"{names.get(flip.api, flip.api)}: {flip.entry} ({flip.lang})"),
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return b"".join(_folded(line) + b"\r\n" for line in lines)


def _instant(at: int) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y%m%dT%H%M%SZ}"


def _text(name: str, value: str) -> str:
    plain = "".join(character if character.isprintable() else " " for character in value)
    for special in "\\;,":
        plain = plain.replace(special, f"\\{special}")
    return f"{name}:{plain}"


def _folded(line: str) -> bytes:
    """A line in pieces, each but the first beginning with a space, and no character cut in two."""
    pieces: list[bytes] = []
    piece = b""
    for character in line:
        data = character.encode()
        if len(piece) + len(data) > _LONGEST_LINE - (1 if pieces else 0):
            pieces.append(piece)
            piece = b""
        piece += data
    return b"\r\n ".join([*pieces, piece])
