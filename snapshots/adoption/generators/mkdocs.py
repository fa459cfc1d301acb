"""MkDocs: every Markdown file below ``docs/``."""

from __future__ import annotations

from snapshots.adoption.generator import Generator, LeftOut, Setting

_CONFIGURATION = ("mkdocs.yml", "mkdocs.yaml")
_BLOCK = r"(?:\|[^\n]*\n\s+)?(?:[^\n]+\n\s+)*?"

MKDOCS = Generator(
    name="MkDocs",
    known_by=_CONFIGURATION,
    content=("docs/",),
    content_settings=(Setting(_CONFIGURATION, r"^docs_dir:\s*[\"']?([^\s\"'#]+)"),),
    left_out=(LeftOut("templates/**", "MkDocs leaves out templates/"),),
    left_out_settings=tuple(
        Setting(_CONFIGURATION, rf"^(?:exclude_docs|draft_docs):\s*\|[^\n]*\n(?:[ \t]+[^\n]*\n){{{before}}}[ \t]+(\S+)")
        for before in range(20)
    ),
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
