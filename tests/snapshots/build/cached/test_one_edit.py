"""One edit among many entries: what a build writes and reads follows the edit, not what there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from snapshots.build.build import build, examine
from snapshots.build.cached.chunks import read_arrow
from snapshots.store.store import Store, open_store
from tests.sites.site_folders import write_folder

NOW = 1_780_000_000_000
ENTRIES = 120
SEGMENT = 10
API = """
uid: api_posts0000000
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: next, type: reference, api: posts}
"""


class Site:
    """Entries in two languages, in one JSONL file or each in a file of its own."""

    def __init__(self, root: Path, *, one_file: bool) -> None:
        self.root, self._one_file = root, one_file
        self._titles = {(number, lang): f"{lang} {number}" for number in range(ENTRIES) for lang in ("en", "ja")}
        write_folder(root, {"workspace.yaml": "id: acme\nlanguages: [en, ja]\n", "apis/posts.yaml": API})
        if not one_file:
            write_folder(root, {self._path(*which): self._file(*which) for which in self._titles})
        self.edit(0, "first")

    def edit(self, number: int, title: str) -> None:
        self._titles[number, "en"] = title
        if self._one_file:
            lines = [
                json.dumps({"title": title, "id": f"e{number}", "lang": lang, **self._rest(number)})
                for (number, lang), title in self._titles.items()
            ]
            write_folder(self.root, {"content/posts.jsonl": "\n".join(lines)})
        else:
            write_folder(self.root, {self._path(number, "en"): self._file(number, "en")})

    @staticmethod
    def _rest(number: int) -> dict[str, str]:
        return {"createdAt": "2026-01-01", "next": f"e{(number * 7) % (ENTRIES + 3)}"}

    @staticmethod
    def _path(number: int, lang: str) -> str:
        return f"content/posts/e{number}.{lang}.json"

    def _file(self, number: int, lang: str) -> str:
        return json.dumps({"title": self._titles[number, lang], **self._rest(number)})


@pytest.fixture(params=["lines", pytest.param("files", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site that is compiled in some twenty pieces."""
    monkeypatch.setattr("snapshots.build.pieces.BULK_BYTES", 1)
    monkeypatch.setattr("snapshots.documents.units.UNIT_BYTES", 300)
    monkeypatch.setattr("snapshots.documents.units.MORE_BYTES", 100)
    monkeypatch.setattr("snapshots.build.pieces.PIECE_BYTES", 900)
    return Site(tmp_path / "site", one_file=request.param == "lines")


def built(site: Site, store: Store, now: int) -> dict[str, str]:
    """Build the site; return the SHA-256 of its data files."""
    made = build(site.root, store, now=now, segment_entries=SEGMENT)
    return {file.path: file.sha256 for file in store.workspace("acme").manifest(made.version).files}


def test_an_edit_writes_one_segment_and_little_of_the_build_cache(site: Site, tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    before = built(site, store, NOW)

    def cached() -> dict[int, Path]:
        return {path.stat().st_ino: path for path in store.cache.glob("build/*/*.*") if path.suffix != ".msgpack"}

    files = cached()
    assert len(files) > 30
    for number, title in enumerate(("changed", "again")):
        site.edit(70, title)
        after = built(site, store, NOW + 1 + number)
        differing = {path for path in after if after[path] != before.get(path)}
        assert len(differing) <= 2, "the rows of a segment, and their index"
        assert after.keys() == before.keys()
        new = [path for inode, path in cached().items() if inode not in files]
        assert len(new) <= 3 + 2, "a chunk with what was compiled, and the index and references of another without it"
        before, files = after, cached()
    assert before == built(site, open_store(tmp_path / "fresh"), NOW)


def test_what_an_edit_leaves_is_not_read_for_translations(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, opened = open_store(tmp_path / "store"), list[Path]()
    open_file: Callable[..., Any] = pq.ParquetFile

    def noted(path: Path, **options: Any) -> Any:
        opened.append(path)
        return open_file(path, **options)

    built(site, store, NOW)
    for number in range(1, 5):
        site.edit(number * 20, "changed")
        with monkeypatch.context() as patched:
            patched.setattr("snapshots.translations.history.pq", SimpleNamespace(ParquetFile=noted))
            built(site, store, NOW + number)
        assert 0 < len(opened) <= 2 * number, "two files for each edit until now"
        opened.clear()
    [found] = examine(site.root, tmp_path / "other", published=store).translations
    assert found.lagging == ("e20", "e40", "e60", "e80")


def test_a_store_without_the_files_of_the_last_build_gets_all_of_them(site: Site, tmp_path: Path) -> None:
    """The build cache says what they are; what is in them is looked up."""
    store = open_store(tmp_path / "store")
    built(site, store, NOW)
    site.edit(50, "changed")
    other = open_store(tmp_path / "other", cache=store.cache)
    assert built(site, other, NOW) == built(site, open_store(tmp_path / "fresh"), NOW)
    assert built(site, store, NOW + 1) == built(site, other, NOW + 1)


def test_rows_that_are_not_used_any_more_are_in_no_index(site: Site, tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    built(site, store, NOW)
    for number in range(3):
        site.edit(40, f"changed {number}")
        built(site, store, NOW + 1 + number)
    rows = sum(len(read_arrow(path)) for path in store.cache.glob("build/*/*.index"))
    assert rows == 2 * ENTRIES
