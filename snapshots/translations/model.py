"""The state of an API's translations into one language."""

from __future__ import annotations

from typing import Final

import msgspec

from snapshots.store.manifest import LaggingTranslations

LAGGING: Final = "lagging-translation"
"""The kind of the warning that translations are older than their originals."""
LOST_REFERENCE: Final = "lost-reference"
"""The kind of the warning that a translation loses a reference, whose target is not translated."""
NAMED: Final = 100
"""IDs of older translations that a manifest names, of each API and language."""


class Translations(msgspec.Struct, frozen=True):
    """The translations of an API into one language, beside its originals in the main language."""

    api: str
    """The endpoint."""
    lang: str
    missing: int
    """The number of entries with a published version in the main language, and none in this one. A scheduled version
    counts as published, a draft does not."""
    lagging: tuple[str, ...]
    """The IDs of the entries whose version is older than the original, sorted."""


def lagging_translations(found: tuple[Translations, ...]) -> tuple[LaggingTranslations, ...]:
    """Return what the manifest of a version says of the translations that are older than their originals."""
    return tuple(
        LaggingTranslations(one.api, one.lang, len(one.lagging), one.lagging[:NAMED]) for one in found if one.lagging
    )
