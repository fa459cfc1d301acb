"""Hexo: posts in ``source/_posts/`` and pages beside them."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting, permalinks
from snapshots.adoption.generator import Generator, LeftOut

_CONFIGURATION = ("_config.yml", "_config.yaml")

HEXO = Generator(
    name="Hexo",
    understood=("published",),
    timezone=Setting(_CONFIGURATION, r"^timezone:\s*[\"']?([\w/+-]+)"),
    known_by=("source/_posts", "scaffolds", "_config.yml", "_config.yaml"),
    says=r"^(?:source_dir|new_post_name|post_asset_folder|skip_render)\s*:",
    content=("source/",),
    content_settings=(Setting(_CONFIGURATION, r"^source_dir:\s*[\"']?([^\s\"'#]+)"),),
    left_out=(
        LeftOut("_drafts/**", "Hexo publishes no drafts"),
        LeftOut("_data/**", "Hexo reads them as data"),
        LeftOut("_posts/**/_*/**", "Hexo leaves out names that begin with _"),
        LeftOut("_posts/**/_*", "Hexo leaves out names that begin with _"),
        LeftOut("[!_]*/**/_*/**", "Hexo leaves out names that begin with _"),
        LeftOut("[!_]*/**/_*", "Hexo leaves out names that begin with _"),
        LeftOut("_[!p]*", "Hexo leaves out names that begin with _"),
        LeftOut("_p[!o]*", "Hexo leaves out names that begin with _"),
    ),
    left_out_settings=(Listed(_CONFIGURATION, ("skip_render", "exclude", "ignore")),),
    starts=("date",),
    starts_off=Setting(_CONFIGURATION, r"^future:\s*(true)|\A(?![\s\S]*^future:)"),
    addresses=("/:year/:month/:day/:title/",),
    address_settings=(permalinks(_CONFIGURATION),),
    tags={"comment": "", "{#": "", "raw": "{inner}", "codeblock": "\n```{lang}{inner}```\n"},
    sections=True,
    main_language=(Setting(_CONFIGURATION, r"^language:\s*(?:\[\s*|\n\s*-\s*)?[\"']?([\w-]+)"),),
    data=False,
)
