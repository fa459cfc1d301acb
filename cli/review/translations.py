"""Say in a review how far each language is behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cli.output.translations import language_sentences

if TYPE_CHECKING:
    from snapshots.translations.model import Translations


def translation_section(translations: Iterable[Translations]) -> Iterator[str]:
    """Return lines of Markdown; none where nothing is missing and no translation is older than its original."""
    lines = [f"- {text}" for text in language_sentences(translations)]
    if lines:
        yield from ("#### Translations", "", *lines, "")
