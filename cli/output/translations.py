"""Say for each language how many translations are missing, and how many are older than their originals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cli.output.lines import print_line

if TYPE_CHECKING:
    from snapshots.translations.model import Translations


def language_counts(translations: Iterable[Translations]) -> dict[str, tuple[int, int]]:
    """Return by language, over all APIs, how many translations are missing, and how many older."""
    counts: dict[str, tuple[int, int]] = {}
    for one in translations:
        missing, older = counts.get(one.lang, (0, 0))
        counts[one.lang] = (missing + one.missing, older + len(one.lagging))
    return counts


def language_sentences(translations: Iterable[Translations]) -> list[str]:
    """Return a text for each language in which some are missing or older: ``de: 12 not translated, 3 older than the
    original``."""
    told = []
    for lang, (missing, older) in language_counts(translations).items():
        parts = [f"{missing:,} not translated"] * bool(missing) + [f"{older:,} older than the original"] * bool(older)
        if parts:
            told.append(f"{lang}: {', '.join(parts)}")
    return told


def language_documents(translations: Iterable[Translations]) -> list[dict[str, object]]:
    """Return the same as ``--json`` prints it."""
    counts = language_counts(translations)
    return [{"lang": lang, "missing": missing, "older": older} for lang, (missing, older) in counts.items()]


def print_languages(translations: Iterable[Translations], *, stderr: bool) -> None:
    """Print the texts for the languages."""
    for text in language_sentences(translations):
        print_line((text, ""), stderr=stderr)
