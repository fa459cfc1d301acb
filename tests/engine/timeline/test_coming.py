"""What comes next by instant, against every flip of a version counted naively."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.timeline.coming
from engine.timeline.coming import Coming, coming
from engine.timeline.timeline import Timeline
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER
from snapshots.store.store import open_store
from tests.stores.store_content import BLOG, SITE, Row, publish

NOON = 1_793_534_400_000
TIMES = st.sampled_from([ALWAYS, *range(NOON - 2, NOON + 5), NEVER])
ROWS = st.dictionaries(
    st.tuples(st.sampled_from([(BLOG, "ja"), (BLOG, "en"), (SITE, "ja")]), st.sampled_from("abcd")),
    st.tuples(TIMES, TIMES),
)
ORDER = ("ja", "en")
stores = count(1)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("coming")


@given(rows=ROWS, most=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_every_flip_is_shown_or_counted(directory: Path, rows: dict, most: int) -> None:  # type: ignore[type-arg]
    files: dict = defaultdict(list)  # type: ignore[type-arg]
    expected: dict[tuple[int, bool], dict[tuple[str, str], list[str]]] = {}
    for ((api, lang), entry), (begin, end) in rows.items():
        files[api, lang, FileKind.PUBLISHED].append(Row(entry, begin, end))
        for at, live in ((begin, True), (end, False)):
            if begin < end and NOON < at < NEVER and at > ALWAYS:
                expected.setdefault((at, live), {}).setdefault((api.endpoint, entry), []).append(lang)
    target = open_store(directory / f"store{next(stores)}").workspace("acme")
    found = coming(Timeline(target, publish(target, 1, dict(files))), ORDER, NOON, most)
    moments = sorted(expected)
    assert [(one.at, one.live) for one in found.moments] == moments[:most]
    for one in found.moments:
        assert one.is_whole
        assert {(entry.api, entry.id): list(entry.languages) for entry in one.entries} == {
            key: sorted(langs, key=ORDER.index) for key, langs in expected[one.at, one.live].items()
        }
    left = moments[most:]
    in_left = sum(len(langs) for moment in left for langs in expected[moment].values())
    assert found == Coming(found.moments, len(left), in_left, left[-1][0] if left else None)


def test_of_very_many_at_one_instant_the_first_are_known_and_all_are_counted(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.timeline.coming, "MOST_KNOWN", 5)
    target = open_store(directory / "many").workspace("acme")
    rows = [Row(f"e{number}", NOON + 1) for number in range(9)]
    [moment] = coming(
        Timeline(target, publish(target, 1, {(BLOG, "ja", FileKind.PUBLISHED): rows})), ORDER, NOON, 3
    ).moments
    assert ([one.id for one in moment.entries], moment.versions, moment.is_whole) == (
        [f"e{n}" for n in range(5)],
        9,
        False,
    )
