"""MkDocs: every Markdown file below ``docs/``."""

from __future__ import annotations

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.generator import Generator, LeftOut

_CONFIGURATION = ("mkdocs.yml", "mkdocs.yaml")

MKDOCS = Generator(
    name="MkDocs",
    titles_by_heading=True,
    known_by=_CONFIGURATION,
    content=("docs/",),
    content_settings=(Setting(_CONFIGURATION, r"^docs_dir:\s*[\"']?([^\s\"'#]+)"),),
    left_out=(LeftOut("templates/**", "MkDocs leaves out templates/"),),
    left_out_settings=(Listed(_CONFIGURATION, ("exclude_docs", "draft_docs")),),
    tags={"{#": ""},
    main_language=(
        Setting(_CONFIGURATION, r"- locale:\s*[\"']?([\w-]+)[^\n]*\n(?:\s+(?!-)[^\n]*\n)*?\s+default:\s*true"),
        Setting(_CONFIGURATION, r"^\s+default_language:\s*[\"']?([\w-]+)"),
        Setting(_CONFIGURATION, r"^\s+language:\s*[\"']?([\w-]+)"),
    ),
    language_settings=(Setting(_CONFIGURATION, r"- locale:\s*[\"']?([\w-]+)"),),
    suffixes=True,
    data=False,
)
