"""Content that was rolled back from is not made current again by a build, whatever happens in between."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from snapshots.build.build import BuildResult, build
from snapshots.store.holds.holds import MOST, Hold, Holds
from snapshots.store.manifest import Manifest
from snapshots.store.objects import ANY
from snapshots.store.store import Store, StoreError, WorkspaceStore, open_store
from snapshots.times import now_ms
from tests.programs.command_line import entry, write_workspace

ADMIN = "mika@acme.example"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "site")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def published(root: Path, store: Store, content: str, *, again: bool = False, activate: bool = True) -> BuildResult:
    (root / "content/blog/one.md").write_text(entry(content))
    return build(root, store, now=now_ms(), again=again, activate=activate)


def target(store: Store) -> WorkspaceStore:
    [workspace] = store.workspaces()
    return store.workspace(workspace)


def back(store: Store, by: str = ADMIN, now: int = 5) -> None:
    target(store).rollback(by=by, now=now)


def test_a_build_does_not_put_back_what_was_rolled_back_from(root: Path, store: Store) -> None:
    good, bad = published(root, store, "Good"), published(root, store, "Bad")
    back(store, now=7)
    for _ in range(2):
        held = published(root, store, "Bad")
        assert (held.version, held.changed, held.activated) == (bad.version, False, False)
        assert held.held == Hold(
            bad.version, target(store).manifest(bad.version).content, 7, ADMIN, held_sources(store)
        )
        current = target(store).current()
        assert current is not None
        assert current.version == good.version
    # Another correction is published, and what was rolled back from stays held beside it.
    assert published(root, store, "Better").activated
    assert not published(root, store, "Bad").activated
    # Asked for, it is current, and nothing special any more.
    assert published(root, store, "Bad", again=True).activated
    assert published(root, store, "Good").activated
    assert published(root, store, "Bad").activated


def held_sources(store: Store) -> str:
    return target(store).holds()[0].sources


def test_activation_by_hand_takes_the_hold_away_and_going_back_so_holds_too(root: Path, store: Store) -> None:
    good, bad = published(root, store, "Good"), published(root, store, "Bad")
    workspace = target(store)
    workspace.activate(good.version, expected=bad.version, by=ADMIN, now=now_ms(), holds_returns=True)
    assert [hold.version for hold in workspace.holds()] == [bad.version]
    assert not published(root, store, "Bad").activated
    workspace.activate(bad.version, expected=good.version, by=ADMIN, now=now_ms(), holds_returns=True)
    assert workspace.holds() == ()


def test_going_back_twice_holds_both(root: Path, store: Store) -> None:
    for content in "abc":
        published(root, store, content)
    back(store)
    back(store)
    assert [published(root, store, content).activated for content in "cba"] == [False, False, False]
    assert published(root, store, "d").activated
    assert [published(root, store, content).activated for content in "cb"] == [False, False]
    assert published(root, store, "a").activated


def test_a_hold_outlives_its_version_and_all_that_current_remembers(root: Path, store: Store) -> None:
    first, bad = published(root, store, "a"), published(root, store, "bad")
    back(store)
    other = published(root, store, "b")
    for _ in range(110):  # more than versions and terms are remembered
        for version in (first.version, other.version):
            target(store).activate(version, expected=ANY, by=ADMIN, now=now_ms())
    target(store).prune(1)
    assert bad.version not in target(store).versions()
    again = published(root, store, "bad")
    assert (again.changed, again.activated) == (True, False)
    assert again.held is not None
    assert again.held.version == bad.version


def test_other_content_of_the_same_files_is_held_too(
    root: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another program makes it, or another machine with another address of the server."""
    published(root, store, "Good")
    bad = published(root, store, "Bad")
    back(store)
    elsewhere = open_store(tmp_path / "store", cache=tmp_path / "cache")
    copy = write_workspace(tmp_path / "copy")
    assert published(copy, elsewhere, "Bad").held is not None
    monkeypatch.setattr(
        "snapshots.build.file_plans.LAYOUT", 1000
    )  # other bytes of the same rows, as of another program
    other = published(root, store, "Bad")
    assert target(store).manifest(other.version).content != target(store).manifest(bad.version).content
    assert not other.activated
    assert published(root, store, "Bad", again=True).activated
    assert target(store).holds() == ()


def test_a_comment_in_a_definition_makes_no_other_content(root: Path, store: Store) -> None:
    published(root, store, "Good")
    published(root, store, "Bad")
    back(store)
    with (root / "workspace.yaml").open("a") as file:
        file.write("# a remark\n")
    assert not published(root, store, "Bad").activated


def test_a_version_of_an_older_program_is_held_by_its_content(root: Path, store: Store) -> None:
    published(root, store, "Good")
    bad = published(root, store, "Bad")
    path = target(store).path(bad.version, "manifest.json")
    manifest = json.loads(path.read_bytes())
    del manifest["sources"]
    path.chmod(0o644)
    path.write_text(json.dumps(manifest))
    (target(store).directory / "current").unlink()
    good = next(version for version in target(store).versions() if version != bad.version)
    for version in (good, bad.version):
        target(store).activate(version, expected=ANY, by=ADMIN, now=now_ms())
    back(store)
    assert target(store).holds()[0].sources == ""
    assert not published(root, store, "Bad").activated


def test_what_could_not_be_gone_back_from_is_not_held(root: Path, store: Store) -> None:
    only = published(root, store, "Good")
    with pytest.raises(StoreError, match="current before"):
        back(store)
    assert target(store).holds() == ()
    published(root, store, "Bad")
    target(store).withdraw(only.version)
    with pytest.raises(StoreError):
        back(store)
    assert target(store).holds() == ()


def test_a_damaged_document_stops_builds_and_not_who_goes_back(root: Path, store: Store) -> None:
    published(root, store, "Good")
    published(root, store, "Bad")
    document = target(store).directory / "held.json"
    document.write_text("{")
    with pytest.raises(StoreError, match=r"held\.json is damaged.*no build makes anything current"):
        published(root, store, "Other")
    back(store)
    assert not published(root, store, "Bad").activated


def test_holds_of_a_program_to_come_stop_builds(root: Path, store: Store) -> None:
    published(root, store, "Good")
    published(root, store, "Bad")
    back(store)
    document = target(store).directory / "held.json"
    written = document.read_text()
    assert '"format": 1' in written
    document.write_text(written.replace('"format": 1', '"format": 2'))
    with pytest.raises(StoreError, match=r"held\.json: format 2 is newer than this program reads"):
        published(root, store, "Bad")


def test_a_hold_on_what_was_never_left_holds_nothing_back(root: Path, store: Store) -> None:
    """As a process leaves it that was killed between holding and going back."""
    published(root, store, "a")
    b = published(root, store, "b")
    manifest: Manifest = target(store).manifest(b.version)
    Holds(store.objects, target(store).id).add(Hold(b.version, manifest.content, 1, ADMIN, manifest.known_sources))
    assert published(root, store, "c").activated
    assert target(store).holds() == ()
    assert published(root, store, "b").activated


def test_holds_are_bounded(store: Store) -> None:
    holds = Holds(store.objects, "site")
    many = [Hold(f"v{n}", f"{n:064}", n, ADMIN) for n in range(MOST)]
    holds._document.edit(lambda _held, _write: (tuple(reversed(many)), None))
    holds.add(Hold("new", "f" * 64, MOST, ADMIN))
    kept = holds.read()
    assert len(kept) == MOST
    assert (kept[0].version, kept[-1].version) == ("new", "v1")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_random_days_agree_with_a_model(seed: int, root: Path, store: Store) -> None:
    """The model: a set of contents that are held, and the order in which versions first became current."""
    chance = random.Random(seed)
    held: set[str] = set()
    content_of: dict[str, str] = {}
    order: list[str] = []
    published(root, store, "0")
    content_of[target(store).versions()[0]] = "0"
    order.append(target(store).versions()[0])
    for _ in range(60):
        workspace = target(store)
        current = workspace.current()
        assert current is not None
        what = chance.choice(["build", "build", "build", "again", "rollback", "rollback", "activate", "prune"])
        before = content_of[current.version]
        if what in ("build", "again"):
            content = str(chance.randrange(4))
            result = published(root, store, content, again=what == "again")
            content_of[result.version] = content
            expected = content != before and (what == "again" or content not in held)
            assert result.activated == expected
            assert (result.held is not None) == (content != before and not expected)
            if expected:
                held.discard(content)
        elif what == "rollback":
            to = current.previous[0] if current.previous else None
            if to is None or to not in workspace.versions():
                with pytest.raises(StoreError):
                    back(store)
                continue
            back(store)
            held.add(before)
            held.discard(content_of[to])
        elif what == "activate":
            to = chance.choice(workspace.versions())
            is_return = to in order and order.index(to) < order.index(current.version)
            workspace.activate(to, expected=ANY, by=ADMIN, now=now_ms(), holds_returns=True)
            if to == current.version:
                continue
            if is_return:
                held.add(before)
            held.discard(content_of[to])
        else:
            workspace.prune(1)
        after = target(store).current()
        assert after is not None
        if after.version not in order:
            order.append(after.version)
        assert {content_of[hold.version] for hold in target(store).holds()} == held
