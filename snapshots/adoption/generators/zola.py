"""Zola: sections below ``content/``, described by ``_index.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snapshots.adoption.configured.setting import Listed, Setting
from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import literal
from snapshots.documents.publicity import plain_truth

_CONFIGURATION = ("config.toml", "zola.toml")


def _of_drafts(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return the folders of sections that are drafts, with all that is in them."""
    for file in files:
        if "/_index." in file and is_markdown(file):
            values = next((document.values for document in documents_of(root, file)), {})
            if plain_truth(values.get("draft")):
                folder = file.rpartition("/")[0]
                yield LeftOut(f"{literal(folder)}/**", f"the section in {folder}/ is a draft")


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
    more_left_out=_of_drafts,
    left_out_settings=(Listed(_CONFIGURATION, ("ignored_content",)),),
    tags={"{#": ""},
    main_language=(Setting(_CONFIGURATION, r"^default_language\s*=\s*[\"']([^\"']+)"),),
    language_settings=(Setting(_CONFIGURATION, r"^\[languages\.[\"']?([\w-]+)[\"']?\]"),),
    suffixes=True,
    section_file="_index.*",
    data=False,
)
