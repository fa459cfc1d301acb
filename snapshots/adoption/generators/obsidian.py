"""Obsidian: the notes of a vault."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut

OBSIDIAN = Generator(
    name="Obsidian",
    understood=("publish",),
    known_by=(".obsidian",),
    languages=False,
    data=False,
    left_out=(
        LeftOut("Templates/**", "they are templates of notes"),
        LeftOut("templates/**", "they are templates of notes"),
        LeftOut("_templates/**", "they are templates of notes"),
    ),
    left_out_settings=(
        Setting((".obsidian/templates.json",), r"\"folder\"\s*:\s*\"([^\"]+)\""),
        Listed((".obsidian/app.json",), ("userIgnoreFilters",)),
    ),
    files_by_name=True,
    tags={"%%": "", "[[": "{text}", "![[ picture": "![{text}](<{page}>){size}"},
)
