"""How long an answer takes tells nothing of what is not published."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterator

import pytest

from engine.query.answer import NotFound, answer_entry
from engine.reader.reader import Reader, open_reader
from snapshots.build.build import build
from tests.served_site import Site

NOW = 1_780_000_000_000
TRIES = 4


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    site = Site(tmp_path_factory.mktemp("site"))
    hidden = {"status": "scheduled", "publishStart": "2126-01-01T00:00:00Z"}
    entries = [
        {"id": f"{kind}-{n}", "title": "x", "createdAt": "2026-01-01", **more}
        for n in range(800)
        for kind, more in (("live", {}), ("scheduled", hidden))
    ]
    drafts = [{"id": f"draft-{n}", "title": "x", "createdAt": "2026-01-01"} for n in range(800)]
    for name, lines in (("posts.jsonl", entries), ("posts.draft.jsonl", drafts)):
        (site.source / "content" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    version = build(site.source, site.store, now=NOW).version
    reader = open_reader(site.place.snapshots / version, site.place.manifest(version), site.store.cache)
    yield reader
    reader.close()


@pytest.mark.parametrize(("query", "rounds", "nearly"), [(b"", 4_000, 0.07), (b"draftKey=guessed", 150, 0.2)])
def test_what_is_not_published_takes_as_long_as_what_is_missing(
    reader: Reader, query: bytes, rounds: int, nearly: float
) -> None:
    api = reader.workspace.apis[0]
    kinds = ("missing", "scheduled", "draft")
    chance = random.Random(1)
    differences = []
    for _ in range(TRIES):  # the machine may be busy with something else for a while
        took: dict[str, list[int]] = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind in chance.sample(kinds, len(kinds)):
                entry_id = f"{kind}-{chance.randrange(800)}"
                began = time.perf_counter_ns()
                with pytest.raises(NotFound):
                    answer_entry(reader, api, entry_id, None, query, None, NOW, b"s" * 32)
                took[kind].append(time.perf_counter_ns() - began)
        usual = [statistics.quantiles(took[kind], n=4)[0] for kind in kinds]
        differences.append(max(usual) / min(usual) - 1)
        if differences[-1] < nearly:
            return
    raise AssertionError(f"the longest takes this share longer than the shortest: {differences}")
