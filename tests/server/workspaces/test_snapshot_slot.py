"""Which version a workspace is served from while versions open slowly, fail, or change under way."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from engine.read.reader.reader import Reader, open_reader
from server.workspaces.snapshot_slot import SnapshotSlot
from snapshots.store.durable import StoreError
from snapshots.store.store import WorkspaceStore
from tests.generated.asked import asked
from tests.sites.served_site import DEADLINE, Site, eventually


class Opener:
    """The real opening, held up until it is let go; remembers every reader it opened."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.go = threading.Event()
        self.go.set()
        self.tried: list[str] = []
        self.opened: list[Reader] = []
        self.failure: Exception | None = None

    def __call__(self, store: WorkspaceStore, version: str) -> Reader:
        self.tried.append(version)
        assert self.go.wait(DEADLINE)
        if self.failure is not None:
            raise self.failure
        self.opened.append(open_reader(store.snapshots / version, store.manifest(version), self.cache))
        return self.opened[-1]


def is_closed(reader: Reader) -> bool:
    try:
        asked(reader, reader.workspace.apis[0].endpoint, 0)
    except (duckdb.Error, ValueError):  # of the database, or of a file that was mapped
        return True
    return False


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    return Opener(tmp_path / "cache")


class Clock:
    """UTC milliseconds."""

    now = 1_780_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slot(site: Site, opener: Opener, clock: Clock) -> Iterator[SnapshotSlot]:
    slot = SnapshotSlot(site.place, opener, clock)
    yield slot
    opener.go.set()
    slot.wait(DEADLINE)
    slot.close()


def served(slot: SnapshotSlot) -> str | None:
    return slot.served.reader.version if slot.served else None


def refreshed(slot: SnapshotSlot) -> str | None:
    slot.refresh()
    slot.wait(DEADLINE)
    return served(slot)


def test_a_rollback_while_a_version_opens_keeps_what_is_served(site: Site, opener: Opener, slot: SnapshotSlot) -> None:
    first, second = site.publish("one"), site.publish("two", activate=False)
    assert refreshed(slot) == first
    opener.go.clear()
    site.activate(second)
    slot.refresh()
    eventually(lambda: opener.tried == [first, second])
    site.activate(first)
    opener.go.set()
    assert refreshed(slot) == first
    assert refreshed(slot) == first
    assert opener.tried == [first, second]
    assert is_closed(opener.opened[1])


def test_activations_faster_than_opening_still_lead_somewhere(site: Site, opener: Opener, slot: SnapshotSlot) -> None:
    first, second = site.publish("one"), site.publish("two", activate=False)
    opener.go.clear()
    slot.refresh()
    eventually(lambda: opener.tried == [first])
    site.activate(second)
    opener.go.set()
    slot.wait(DEADLINE)
    assert served(slot) == first
    assert refreshed(slot) == second


def test_a_version_in_use_is_closed_after_its_last_request(site: Site, opener: Opener, slot: SnapshotSlot) -> None:
    first = site.publish("one")
    assert refreshed(slot) == first
    one, other = slot.lease(), slot.lease()
    assert one is other is not None
    second = site.publish("two")
    assert refreshed(slot) == second
    one.release()
    assert not is_closed(one.reader)
    one.release()
    assert is_closed(one.reader)
    assert not one.acquire()
    slot.close()
    assert slot.lease() is None
    assert is_closed(opener.opened[1])


def test_what_opens_after_the_end_is_closed(site: Site, opener: Opener, slot: SnapshotSlot) -> None:
    site.publish("one")
    opener.go.clear()
    slot.refresh()
    slot.close()
    opener.go.set()
    slot.wait(DEADLINE)
    assert slot.lease() is None
    assert is_closed(opener.opened[0])


def test_an_unexpected_failure_is_a_refusal_too(
    site: Site, opener: Opener, slot: SnapshotSlot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("parquetry"), "propagate", True)
    first, second = site.publish("one"), site.publish("two", activate=False)
    assert refreshed(slot) == first
    opener.failure = RuntimeError("odd")
    site.activate(second)
    for _ in range(3):
        assert refreshed(slot) == first
    assert opener.tried == [first, second], "not tried again while nothing changed"
    assert slot.refusal is not None
    assert (slot.refusal.version, slot.refusal.reason) == (second, "opening it failed: RuntimeError")
    assert "RuntimeError: odd" in caplog.text
    opener.failure = None
    (site.place.snapshots / second / "touched").write_text("")
    assert refreshed(slot) == second
    assert slot.refusal is None


def test_a_version_is_tried_again_with_growing_pauses(
    site: Site,
    opener: Opener,
    slot: SnapshotSlot,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("parquetry"), "propagate", True)
    first, second = site.publish("one"), site.publish("two", activate=False)
    assert refreshed(slot) == first
    opener.failure = StoreError("the disk is full")
    site.activate(second)
    assert refreshed(slot) == first
    began, tried = clock.now, [0]
    while clock.now < began + 20 * 60_000:
        clock.now += 250
        count = len(opener.tried)
        assert refreshed(slot) == first
        if len(opener.tried) > count:
            tried.append(clock.now - began)
    pauses = [(later - one) // 1000 for one, later in itertools.pairwise(tried)]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert caplog.text.count("refused: the disk is full") == 1
    clock.now -= 3_600_000
    opener.failure = None
    assert refreshed(slot) == second, "however the clock is set"
    assert slot.refusal is None


@pytest.mark.parametrize("wrong", ["missing", "damaged"])
def test_what_goes_on_without_current_is_said_as_it_is(
    site: Site, slot: SnapshotSlot, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    current = site.place.directory / "current"

    def said() -> str:
        caplog.clear()
        slot.refresh()
        slot.wait(DEADLINE)
        return "\n".join(caplog.messages)

    caplog.set_level(logging.INFO, logger="parquetry")
    version = site.publish("one")
    whole = current.read_bytes()

    def spoil() -> None:
        if wrong == "missing":
            current.unlink()
        else:
            current.write_text("{")

    # After a start nothing is served, and nothing else is said.
    spoil()
    told = said()
    assert "Nothing of it is served until then." in told
    assert "still served" not in told
    assert "`cms snapshot activate" in told
    current.write_bytes(whole)
    assert f"serving snapshot version {version}" in said()
    spoil()
    told = said()
    assert f"{version} is still served." in told
    assert "Nothing of it" not in told
    assert slot.served is not None
    current.write_bytes(whole)
    said()
    assert slot.complaint is None


def test_a_version_that_is_refused_at_the_start_leaves_nothing_served(
    site: Site, slot: SnapshotSlot, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    version = site.publish("one")
    opener.failure = StoreError("it is damaged")
    slot.refresh()
    slot.wait(DEADLINE)
    assert f"acme: snapshot version {version} refused: it is damaged; nothing of it is served" in caplog.messages
