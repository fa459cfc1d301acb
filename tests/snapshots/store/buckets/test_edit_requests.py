"""What an edit costs in a bucket does not grow with what did not change: requests and bytes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.build.build import build
from snapshots.store.manifest import encode_manifest
from snapshots.store.store import open_store
from tests.sites.site_folders import write_folder
from tests.stores.counted_requests import kinds_of
from tests.stores.object_stores import object_store
from tests.stores.store_proxy import store_proxy

API = "uid: api_posts0000000\nendpoint: posts\nkind: list\nfields:\n  - {id: title, type: text}\n"
MOST_PUTS = 8
"""Three files (a data file, its index, the manifest), `current`, the lease of files that versions share, which is given
back, and what tells readers of the change, before and after it."""


def lines(entries: int, edited: str) -> str:
    every = [{"id": f"e{number}", "createdAt": "2026-01-01", "title": f"{number}"} for number in range(entries)]
    every[3]["title"] = edited
    return "\n".join(map(json.dumps, every))


@pytest.mark.undisturbed
def test_an_edit_asks_and_sends_the_same_whatever_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = []
    with object_store("any") as server, store_proxy(server.port) as proxy:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        for entries in (20, 200):
            root, place = tmp_path / str(entries), server.place().replace(f":{server.port}/", f":{proxy.port}/")
            store = open_store(place, cache=tmp_path / f"cache-{entries}")
            for now, title in enumerate(("before", "warm", "after")):
                content = {"apis/posts.yaml": API, "content/posts.jsonl": lines(entries, title)}
                write_folder(root, {"workspace.yaml": "id: acme\nlanguages: [en]\n", **content})
                proxy.requests.clear()
                proxy.sent = 0
                version = build(root, store, now=1_780_000_000_000 + now, segment_entries=10).version
            manifest = store.workspace("acme").manifest(version)
            assert len(manifest.files) >= entries / 5
            kinds = kinds_of(proxy.requests)
            edits.append((kinds, proxy.sent - len(encode_manifest(manifest))))
    few, many = edits
    assert without_reads(few[0]) == without_reads(many[0])
    assert few[0]["PUT"] <= MOST_PUTS
    assert many[1] < 1.5 * few[1]  # without the manifest, which has a line for each file


def without_reads(kinds: Counter[str]) -> dict[str, int]:
    return {kind: count for kind, count in kinds.items() if kind != "GET"}
