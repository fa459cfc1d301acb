"""Counts, sizes and instants as people see them."""

from __future__ import annotations

import pytest

from cli.output import wording


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "error", "0 errors"), (1, "entry", "1 entry"), (2, "entry", "2 entries"), (1234, "file", "1,234 files")],
)
def test_plural(count: int, noun: str, text: str) -> None:
    assert wording.plural(count, noun) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_900, "999.9 kB"),
        (2_340_000_000, "2.3 GB"),
        (5_000_000_000_000_000, "5.0 PB"),
    ],
)
def test_size(count: int, text: str) -> None:
    assert wording.size(count) == text


def test_instant() -> None:
    assert wording.instant(1_795_240_267_999) == "2026-11-21 05:51:07 UTC"
