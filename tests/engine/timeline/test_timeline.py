"""What ``cms snapshot show`` says: counts at an instant and the next flips, from real Parquet files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.timeline.timeline import Flip, Schedule, Summary, Timeline, VersionCounts
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER
from snapshots.store.durable import StoreError
from snapshots.store.manifest import Manifest
from snapshots.store.store import WorkspaceStore, open_store
from tests.stores.store_content import BLOG, SITE, Row, publish, version_at

NOON = 1_793_534_400_000
HOUR = 3_600_000
ROWS = {
    (BLOG, "ja", FileKind.PUBLISHED): [
        Row("always"),
        Row("began", NOON - HOUR),
        Row("begins-now", NOON),
        Row("begins", NOON + HOUR, NOON + 3 * HOUR),
        Row("ends", ALWAYS, NOON + HOUR),
        Row("ends-now", ALWAYS, NOON),
        Row("ended", NOON - 2 * HOUR, NOON - HOUR),
    ],
    (BLOG, "ja", FileKind.DRAFTS): [Row("always"), Row("never-published")],
    (BLOG, "en", FileKind.DRAFTS): [Row("always")],
    (SITE, "ja", FileKind.PUBLISHED): [Row("site", NOON + HOUR)],
}


@pytest.fixture
def target(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("acme")


def summary_at(target: WorkspaceStore, manifest: Manifest, now: int, **options: int) -> Summary:
    return Timeline(target, manifest).summary(now, **options)


def test_versions_are_counted_by_what_they_are_at_the_instant(target: WorkspaceStore) -> None:
    summary = summary_at(target, publish(target, 1, ROWS), NOON)
    assert summary.counts == (
        VersionCounts("blog", "ja", live=4, scheduled=1, ended=2, drafts=2),
        VersionCounts("blog", "en", live=0, scheduled=0, ended=0, drafts=1),
        VersionCounts("site", "ja", live=0, scheduled=1, ended=0, drafts=0),
    )
    assert [counts.rows for counts in summary.counts] == [9, 1, 1]
    assert (summary.version, summary.now) == (version_at(1), NOON)


def test_the_next_flips_come_in_the_order_of_their_instants(target: WorkspaceStore) -> None:
    manifest = publish(target, 1, ROWS)
    expected = (
        Flip(NOON + HOUR, "blog", "ja", "begins", True),
        Flip(NOON + HOUR, "blog", "ja", "ends", False),
        Flip(NOON + HOUR, "site", "ja", "site", True),
        Flip(NOON + 3 * HOUR, "blog", "ja", "begins", False),
    )
    summary = summary_at(target, manifest, NOON)
    assert summary.flips == expected
    assert summary.flips[0].at == NOON + HOUR
    assert summary_at(target, manifest, NOON, flips=2).flips == expected[:2]
    assert summary_at(target, manifest, NOON + HOUR).flips == expected[3:]
    assert summary_at(target, manifest, NOON + 3 * HOUR).flips == ()


def test_an_empty_snapshot_has_nothing_to_show(target: WorkspaceStore) -> None:
    summary = summary_at(target, publish(target, 1, {}), NOON)
    assert [counts.rows for counts in summary.counts] == [0, 0, 0]
    assert summary.flips == ()


instants = st.one_of(st.sampled_from([ALWAYS, NEVER]), st.integers(0, 12))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(instants, instants), max_size=30), st.integers(-1, 13), st.integers(1, 12))
def test_counts_and_flips_are_those_of_a_walk_over_the_rows(
    tmp_path_factory: pytest.TempPathFactory, windows: list[tuple[int, int]], now: int, first: int
) -> None:
    rows = [Row(f"e{n}", *window) for n, window in enumerate(windows)]
    target = open_store(tmp_path_factory.mktemp("store")).workspace("acme")
    timeline = Timeline(target, publish(target, 1, {(BLOG, "ja", FileKind.PUBLISHED): rows}))
    summary = timeline.summary(now, flips=first)
    live = [row for row in rows if row.live_from <= now < row.live_until]
    scheduled = [row for row in rows if row.live_from > now]
    assert summary.counts[0] == VersionCounts(
        "blog", "ja", len(live), len(scheduled), len(rows) - len(live) - len(scheduled), 0
    )
    ever = [row for row in rows if row.live_from < row.live_until]
    flips = [Flip(row.live_from, "blog", "ja", row.id, True) for row in ever if row.live_from > ALWAYS]
    flips += [Flip(row.live_until, "blog", "ja", row.id, False) for row in ever if row.live_until < NEVER]
    coming = sorted(flip for flip in flips if flip.at > now)
    assert summary.flips == tuple(coming[:first])
    assert timeline.flips.next(now) == (coming[0].at if coming else None)
    past = sorted(flip for flip in flips if now <= flip.at < now + 6)
    assert timeline.schedule(now, now + 6, most=first) == Schedule(tuple(past[:first]), len(past))
    assert timeline.schedule(now, now + 6, most=first, languages=["en"]).total == 0


def test_flips_are_found_in_every_row_group(target: WorkspaceStore) -> None:
    rows = [Row(f"e{n:04}", NOON + (2500 - n)) for n in range(2500)]
    summary = summary_at(target, publish(target, 1, {(BLOG, "ja", FileKind.PUBLISHED): rows}), NOON, flips=3)
    assert [flip.entry for flip in summary.flips] == ["e2499", "e2498", "e2497"]
    assert summary.counts[0].scheduled == 2500


def test_a_damaged_file_is_named(target: WorkspaceStore) -> None:
    manifest = publish(target, 1, ROWS)
    path = target.path(manifest.version, "ja/blog/all.parquet")
    path.chmod(0o644)
    os.truncate(path, 50)
    with pytest.raises(StoreError, match=r"ja/blog/all\.parquet cannot be read: .*cms snapshot verify"):
        summary_at(target, manifest, NOON)
    path.chmod(0o644)
    path.unlink()
    with pytest.raises(StoreError, match=r"ja/blog/all\.parquet is not there"):
        summary_at(target, manifest, NOON)
