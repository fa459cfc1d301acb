"""Keystatic: the paths of the collections in its configuration."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Setting
from snapshots.adoption.generator import Generator

_CONFIGURATION = ("keystatic.config.*", "src/keystatic.config.*")

KEYSTATIC = Generator(
    name="Keystatic",
    known_by=_CONFIGURATION,
    edits=True,
    content_settings=(Setting(_CONFIGURATION, r"\bpath:\s*[\"'`]([^\"'`*]+)/\*"),),
)
