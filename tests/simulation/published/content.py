"""The entries that people publish in a world, and which of them is public when: a model that knows no product's code.

Each version of an entry has a mark in its texts that stands nowhere else, so that bytes tell where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.simulation.machines import EPOCH_MS

_HOUR = 3_600_000
LANGUAGES = ("en", "ja")


class Written(NamedTuple):
    """One version of an entry, as its file has it."""

    id: str
    lang: str = "en"
    is_draft: bool = False
    """Whether it is not published, be it beside one that is."""
    start: int | None = None
    """When it becomes public, in milliseconds after the beginning of each world; ``None`` for long ago."""
    end: int | None = None
    is_same: bool = False
    """Whether it is the same in all versions of the workspace."""

    def mark(self, version: int) -> str:
        """Return what stands in its texts alone, in the workspace's version of this number."""
        number = "" if self.is_same else str(version)
        return f"zq{number}{self.id}{self.lang}{'draft' if self.is_draft else ''}qz"

    def is_public(self, at: int) -> bool:
        """Return whether everybody with a key may read it at an instant (UTC milliseconds)."""
        begins = self.start is None or EPOCH_MS + self.start <= at
        return not self.is_draft and begins and (self.end is None or at < EPOCH_MS + self.end)


ENTRIES = (
    Written("one"),
    Written("one", "ja"),
    Written("one", is_draft=True),
    Written("two", is_same=True),
    Written("two", "ja", is_draft=True),
    Written("soon", start=25_000),
    Written("ends", end=50_000),
    Written("later", start=30 * _HOUR),
    Written("far", start=3 * 365 * 24 * _HOUR),
    Written("ended", end=-240 * _HOUR),
    Written("hidden", is_draft=True),
)
IDS = tuple(sorted({one.id for one in ENTRIES}))
NEVER = frozenset(("hidden", "ended", "far"))
"""The IDs of entries that are public at no time of any world."""


def is_secret(one: Written) -> bool:
    """Return whether an entry is left out of the same workspace without its secrets: no answer depends on it, not even
    by when it will be public."""
    return one.is_draft or one.id == "ended"


def write_entries(place: Path, version: int, *, without_secrets: bool = False) -> None:
    """Write the files of a version, or of the same one without its secrets, in which what is public later has another
    text."""
    for one in ENTRIES:
        name = ".".join((one.id, *([] if one.lang == "en" else [one.lang]), *(["draft"] if one.is_draft else [])))
        path = place / "content" / "news" / f"{name}.md"
        if without_secrets and is_secret(one):
            path.unlink(missing_ok=True)
            continue
        mark = "another" if without_secrets and one.id == "far" else one.mark(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("---", *_front_matter(one, mark), "---", *_text(one, mark, version))))


def _front_matter(one: Written, mark: str) -> Iterator[str]:
    yield f"title: {one.id.title()} {mark}"
    yield "createdAt: 2026-01-02"
    if one.start is not None:
        yield "status: scheduled"
        yield f"publishStart: {_instant(one.start)}"
    if one.end is not None:
        yield f"publishEnd: {_instant(one.end)}"


def _text(one: Written, mark: str, version: int) -> Iterator[str]:
    yield f"Text {mark}"
    if one == ENTRIES[0]:
        yield f" ![](picture-{version % 2}.png) ![](own-{version}.png)"
    yield ""


def milliseconds(instant: str) -> int:
    """Return an instant as answers write it in UTC milliseconds."""
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def _instant(after: int) -> str:
    return datetime.fromtimestamp((EPOCH_MS + after) / 1000, UTC).isoformat()
