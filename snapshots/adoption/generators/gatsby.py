"""Gatsby: the folders that ``gatsby-source-filesystem`` reads."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator

GATSBY = Generator(
    name="Gatsby",
    in_utc=True,
    known_by=("gatsby-config.*",),
    left_out_settings=(Listed(("gatsby-config.*",), ("ignore",)),),
    content_settings=(
        Setting(("gatsby-config.*",), r"\bpath:\s*[\"'`](?:\$\{__dirname\}/|\./)?([\w][\w./-]*)[\"'`]"),
        Setting(("gatsby-config.*",), r"\bpath:\s*path\.(?:join|resolve)\(\s*__dirname,\s*[\"'`]([^\"'`]+)[\"'`]"),
    ),
)
