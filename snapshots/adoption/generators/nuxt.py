"""Nuxt Content: the folders below ``content/``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut

_CONFIGURATION = ("nuxt.config.*", "content.config.*")
_PARTIAL = "Nuxt Content makes no pages of names that begin with _ or -"

NUXT = Generator(
    name="Nuxt Content",
    titles_by_heading=True,
    understood=("draft", "published"),
    in_utc=True,
    known_by=_CONFIGURATION,
    content=("content/",),
    sections=True,
    main_language=(Setting(_CONFIGURATION, r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)"),),
    language_settings=(
        Setting(_CONFIGURATION, r"\blocales:\s*\[\s*([\"'`][^\]]*)\]"),
        Setting(_CONFIGURATION, r"\bcode:\s*[\"'`]([^\"'`]+)"),
    ),
    left_out_settings=(Listed(_CONFIGURATION, ("ignores", "exclude")),),
    left_out=(
        *(LeftOut(pattern, _PARTIAL) for pattern in ("**/_*/**", "**/_*", "**/-*/**", "**/-*")),
        LeftOut("**/*.draft.*", "Nuxt Content publishes no drafts"),
    ),
)
