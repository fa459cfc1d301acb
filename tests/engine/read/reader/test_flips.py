"""The schedule of an API's rows: every flip of what requests get, held against the rule asked instant by instant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.read.files.files import OpenedApi
from engine.read.reader.reader import Reader, open_reader
from engine.read.reader.rows import Rows
from engine.read.reader.statement import KEPT_ONLY, NotKept
from engine.timeline.flips import Epoch, Flips
from engine.visibility import Visibility
from snapshots.data_files.segments import entry_number
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from tests.stores.snapshot_builder import write_snapshot

API = Api("api_a", "A", "a", ApiKind.LIST, True, (Field("title", "Title", FieldType.TEXT),))
ACME = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(API,))
BOUNDS = (ALWAYS, 10, 20, 30, 40, NEVER)
RULES = [Visibility("ja"), Visibility("en"), Visibility("en", "ja")]


def opened(place: Path, seed: int) -> Reader:
    source = random.Random(seed)
    rows = {
        ("a", lang): [
            {"id": f"e{number}", "live_from": source.choice(BOUNDS), "live_until": source.choice(BOUNDS)}
            for number in source.sample(range(12), source.randrange(12))
        ]
        for lang in ("ja", "en")
    }
    return open_reader(place, write_snapshot(place, ACME, rows), place / "cache")


@pytest.fixture(scope="module", params=range(12))
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    reader = opened(tmp_path_factory.mktemp("snapshot"), request.param)
    yield reader
    reader.close()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_flips_are_where_an_entry_gets_another_row(reader: Reader, rule: Visibility) -> None:
    rows, numbers = reader.rows(API), [entry_number(f"e{number}") for number in range(12)]
    flips = reader.flips(API, rule, reader.deadline())
    instants = range(5, 50)
    states = {now: rows.live_rows(numbers, rule, now) for now in instants}
    # Only at these instants of the fifty; before and after, nothing flips.
    changing = [now for now in instants[1:] if states[now] != states[now - 1]]
    for now in instants:
        until = next((at for at in changing if at > now), NEVER)
        since = next((at for at in reversed(changing) if at <= now), ALWAYS)
        assert flips.epoch(now) == Epoch(since, until)


def test_flips_are_computed_once(tmp_path: Path) -> None:
    reader = opened(tmp_path, 1)
    with pytest.raises(NotKept):
        reader.epoch(API, RULES[2], 15, KEPT_ONLY)
    first = reader.flips(API, RULES[2], reader.deadline())
    assert reader.flips(API, RULES[2], reader.deadline()) is first
    assert reader.epoch(API, RULES[2], 15, KEPT_ONLY) == first.epoch(15)
    reader.close()


def test_many_flips_at_one_instant_are_one() -> None:
    flips = Flips(np.repeat(np.arange(100) + 5, 200))
    assert flips.epoch(4) == Epoch(ALWAYS, 5)
    assert flips.epoch(50) == Epoch(50, 51)
    assert flips.epoch(104) == Epoch(104, NEVER)
    assert flips.nbytes == 100 * 8
    assert [flips.next(at) for at in (4, 5, 103, 104)] == [5, 6, 104, None]
    assert [flips.last(4, at) for at in (4, 5, 200)] == [None, 5, 104]
    assert flips.last(104, 200) is None
    assert Flips(np.zeros(0, np.int64)).last(4, 200) is None


def test_apis_have_common_epochs(tmp_path: Path) -> None:
    reader = opened(tmp_path, 1)
    deadline = reader.deadline()
    for now in range(5, 50):
        each = [reader.epoch(API, rule, now, deadline) for rule in RULES]
        common = reader.common_epoch([(API, rule) for rule in RULES], now, deadline)
        assert common == Epoch(max(one.since for one in each), min(one.until for one in each))
        assert common.since <= now < common.until
    assert reader.common_epoch([], 5, deadline) == Epoch(ALWAYS, NEVER)
    reader.close()


def test_an_api_without_rows_has_no_flips() -> None:
    for rule in RULES:
        assert Rows(API, ACME, OpenedApi([], None)).flips(rule).epoch(5) == Epoch(ALWAYS, NEVER)
