"""A site that is adopted and compared with the pages of its generator."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cli.creating.init import adopt_site
from snapshots.adoption.proof.built_pages import read_built
from snapshots.adoption.proof.comparison import Comparison, compared
from snapshots.build.build import survey
from tests.sites.generator_sites import MARK

NOW = 1_780_000_000_000


def adopted(root: Path) -> Path:
    """Write definitions for a site, unless there are some."""
    if not (root / "workspace.yaml").exists():
        assert adopt_site(root, root).errors == 0
    return root


def comparison(root: Path, public: Path) -> Comparison:
    """Return how a workspace compares with pages."""
    with tempfile.TemporaryDirectory() as cache:
        return compared(root, root, survey(root, Path(cache)), read_built(public), NOW)


def marks_of(root: Path, files: list[str]) -> set[str]:
    """Return the mark of each content file: the first in it, since some have another in a comment."""
    return {MARK.findall((root / file).read_text())[0] for file in files}
