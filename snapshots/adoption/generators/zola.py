"""Zola: sections below ``content/``, described by ``_index.md``."""

from __future__ import annotations

from snapshots.adoption.generator import Generator, LeftOut, Setting

ZOLA = Generator(
    name="Zola",
    known_by=("config.toml", "zola.toml"),
    says=r"^base_url\s*=",
    content=("content/",),
    sections=True,
    left_out=(LeftOut("**/_index.*", "_index files describe sections, not pages"),),
    left_out_settings=(Setting(("config.toml", "zola.toml"), r"^ignored_content\s*=\s*\[\s*[\"']([^\"']+)"),),
    tags={"{#": ""},
)
