"""Which changed files concern a build."""

from __future__ import annotations

from pathlib import Path

import pytest
from watchfiles import Change

from server.dev.watching import BuildInputs
from tests.sites.site_folders import write_folder

DEFINITIONS = {
    "workspace.yaml": "id: w\nlanguages: [en]\n",
    "apis/posts.yaml": (
        "uid: u\nendpoint: posts\nkind: list\nsource: ['posts/{path}.md', 'posts/{path}.TOML']\n"
        "exclude: '**/_includes/**'\nfields: []\n"
    ),
}


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("workspace.yaml", True),
        ("posts/a.md", True),
        ("posts/deep/er/a.md", True),
        ("posts/a.TOML", True),
        ("posts/a.toml", False),
        ("posts/a.draft.md", True),
        ("posts/_includes/a.md", False),
        ("posts/a.png", False),
        ("other/a.md", False),
    ],
)
def test_a_build_reads_what_the_sources_say(tmp_path: Path, path: str, concerns: bool) -> None:
    inputs = BuildInputs(write_folder(tmp_path, DEFINITIONS, {path: "x"} | DEFINITIONS), tmp_path / ".cms")
    inputs.read_definitions()
    assert inputs(Change.modified, str(tmp_path / path)) is concerns
