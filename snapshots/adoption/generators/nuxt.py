"""Nuxt Content: the folders below ``content/``."""

from __future__ import annotations

from snapshots.adoption.generator import Generator, LeftOut

_PARTIAL = "Nuxt Content makes no pages of names that begin with _ or -"

NUXT = Generator(
    name="Nuxt Content",
    known_by=("nuxt.config.*", "content.config.*"),
    content=("content/",),
    sections=True,
    left_out=(
        *(LeftOut(pattern, _PARTIAL) for pattern in ("**/_*/**", "**/_*", "**/-*/**", "**/-*")),
        LeftOut("**/*.draft.*", "Nuxt Content publishes no drafts"),
    ),
)
