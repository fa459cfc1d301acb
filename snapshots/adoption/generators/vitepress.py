"""VitePress: every Markdown file beside ``.vitepress/``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.shortcodes import ALERTS

_CONFIGURATION = tuple(
    f"{folder}.vitepress/config{ending}" for folder in ("", "*/") for ending in (".*", "/index.*", "/*.ts")
)

VITEPRESS = Generator(
    name="VitePress",
    titles_by_heading=True,
    in_utc=True,
    known_by=(".vitepress", "*/.vitepress"),
    beside=True,
    content_settings=(Setting(_CONFIGURATION, r"\bsrcDir:\s*[\"'`]([^\"'`]+)"),),
    left_out=(
        LeftOut("**/node_modules/**", "VitePress leaves them out"),
        LeftOut("**/*[[]*", "VitePress makes several pages of each, by a program"),
    ),
    main_language=(
        Setting(_CONFIGURATION, r"\broot[\"']?\s*:\s*\{[^{}]*?\blang:\s*[\"'`]([^\"'`]+)"),
        Setting(_CONFIGURATION, r"^(?:  |\t)lang:\s*[\"'`]([^\"'`]+)"),
    ),
    language_settings=(
        Setting(_CONFIGURATION, r"^\s*[\"']?([a-z]{2,3}(?:-\w+)*)[\"']?\s*:\s*\{\s*(?:label|lang|link|title|\.\.\.)\b"),
    ),
    data=False,
    left_out_settings=(Listed(_CONFIGURATION, ("srcExclude",)),),
    tags=ALERTS,
)
