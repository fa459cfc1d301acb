"""Pelican: articles and pages below ``content/``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut

_CONFIGURATION = ("pelicanconf.py",)

PELICAN = Generator(
    name="Pelican",
    dated_names=("",),
    understood=("status",),
    timezone=Setting(_CONFIGURATION, r"^TIMEZONE\s*=\s*[\"']([^\"']+)"),
    known_by=_CONFIGURATION,
    content=("content/",),
    content_settings=(Setting(_CONFIGURATION, r"^PATH\s*=\s*[\"']([^\"']+)"),),
    sections=True,
    left_out=(LeftOut("**/__pycache__/**", "Pelican leaves them out"),),
    left_out_settings=(Listed(_CONFIGURATION, ("ARTICLE_EXCLUDES", "PAGE_EXCLUDES", "IGNORE_FILES")),),
    addresses=("/{slug}.html", "/pages/{slug}.html"),
    address_settings=(Setting(_CONFIGURATION, r"^(?:ARTICLE|PAGE)_(?:URL|SAVE_AS)\s*=\s*[\"']([^\"']+)"),),
    main_language=(Setting(_CONFIGURATION, r"^DEFAULT_LANG\s*=\s*[\"']([^\"']+)"),),
    joined_by=("slug",),
    data=False,
    starts=("date",),
    starts_off=Setting(_CONFIGURATION, r"^WITH_FUTURE_DATES\s*=\s*(True)|\A(?![\s\S]*^WITH_FUTURE_DATES)"),
)
