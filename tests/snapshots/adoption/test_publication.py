"""``cms init --from`` publishes what a site's generator publishes, and nothing that the generator keeps back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.creating.init import adopt_site
from snapshots.build.build import build
from snapshots.columns import FileKind
from snapshots.store.store import open_store
from tests.sites.generator_sites import GENERATOR_SITES, MARK, GeneratorSite
from tests.sites.site_folders import write_folder
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000


def live(root: Path, store: Path) -> list[tuple[str, str, str]]:
    """Return (language, endpoint, fields as JSON) of every version that is live, after a build."""
    opened = open_store(store)
    made = build(root, opened, now=NOW)
    place = opened.workspace(made.workspace)
    found = []
    for file in place.manifest(made.version).files:
        if file.kind is FileKind.PUBLISHED:
            lang, endpoint = file.path.rpartition(".")[0].split("/")[:2]
            path = place.bring_file(made.version, file)
            rows = pq.ParquetFile(path).read(columns=["live_from", "live_until"])
            start, end = (rows[name].cast(pa.int64()).to_pylist() for name in ("live_from", "live_until"))
            texts = [row["json"] for row in stored_rows(path)]
            found += [(lang, endpoint, json) for at, json in enumerate(texts) if start[at] <= NOW < end[at]]
    return found


def marks(texts: list[str]) -> set[str]:
    return {mark for text in texts for mark in MARK.findall(text)}


@pytest.mark.parametrize("site", GENERATOR_SITES, ids=lambda site: site.name)
def test_what_the_generator_makes_is_published_and_nothing_else(site: GeneratorSite, tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", site.files)
    adopted = adopt_site(root, root)
    assert adopted.errors == 0
    assert f" {site.name} site. " in (root / "workspace.yaml").read_text()
    published = [json for _, _, json in live(root, tmp_path / "store")]
    assert marks(published) == site.published
    every = [mark for text in published for mark in MARK.findall(text)]
    assert len(every) == len(set(every)), "a file is in two APIs"


@pytest.mark.slow
@pytest.mark.parametrize("site", GENERATOR_SITES, ids=lambda site: site.name)
def test_a_copy_of_the_content_publishes_the_same(site: GeneratorSite, tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", site.files)
    assert adopt_site(root, tmp_path / "copy").errors == 0
    assert marks([json for _, _, json in live(tmp_path / "copy", tmp_path / "store")]) == site.published
