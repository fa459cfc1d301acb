"""Docusaurus: ``docs/``, ``blog/`` and Markdown pages in ``src/pages/``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.shortcodes import ALERTS, STATEMENTS

_UNDERSCORE = "Docusaurus leaves out names that begin with _"

DOCUSAURUS = Generator(
    name="Docusaurus",
    dated_names=("blog/",),
    titles_by_heading=True,
    understood=("draft", "unlisted"),
    in_utc=True,
    known_by=("docusaurus.config.*",),
    content=("docs/", "blog/", "src/pages/"),
    addresses=("/docs/{path}", "/blog/{year}/{month}/{day}/{name}", "/blog/{slug}"),
    main_language=(Setting(("docusaurus.config.*",), r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)"),),
    language_settings=(Setting(("docusaurus.config.*",), r"\blocales:\s*\[([^\]]*)\]"),),
    translated={
        "docs/": "i18n/{lang}/docusaurus-plugin-content-docs/current/",
        "blog/": "i18n/{lang}/docusaurus-plugin-content-blog/",
        "src/pages/": "i18n/{lang}/docusaurus-plugin-content-pages/",
    },
    data=False,
    left_out_settings=(Listed(("docusaurus.config.*",), ("exclude",)),),
    left_out=(
        LeftOut("**/_*/**", _UNDERSCORE),
        LeftOut("**/_*", _UNDERSCORE),
        LeftOut("**/*.test.*", "Docusaurus leaves out tests"),
        LeftOut("**/__tests__/**", "Docusaurus leaves out tests"),
        LeftOut("tags.yml", "Docusaurus reads them as data"),
        LeftOut("authors.yml", "Docusaurus reads them as data"),
    ),
    tags=ALERTS | STATEMENTS,
)
