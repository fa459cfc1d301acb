"""Zola: sections below ``content/``, described by ``_index.md``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut

_CONFIGURATION = ("config.toml", "zola.toml")

ZOLA = Generator(
    name="Zola",
    files_at_root=("static",),
    dated_names=("",),
    understood=("draft", "render"),
    in_utc=True,
    known_by=_CONFIGURATION,
    says=r"^base_url\s*=",
    content=("content/",),
    sections=True,
    left_out=(LeftOut("**/_index.*", "_index files describe sections, not pages"),),
    left_out_settings=(Listed(_CONFIGURATION, ("ignored_content",)),),
    tags={"{#": ""},
    main_language=(Setting(_CONFIGURATION, r"^default_language\s*=\s*[\"']([^\"']+)"),),
    language_settings=(Setting(_CONFIGURATION, r"^\[languages\.[\"']?([\w-]+)[\"']?\]"),),
    suffixes=True,
    section_file="_index.*",
    data=False,
)
