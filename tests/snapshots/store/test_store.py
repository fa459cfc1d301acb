"""The store: naming, listing, publishing, activating, rolling back and pruning versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from snapshots.columns import FileKind
from snapshots.model import NEVER
from snapshots.store.current import FOLLOWED_MS, KEPT_ACTIVATIONS, ActivationConflict, Current, Term
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST
from snapshots.store.objects import ANY
from snapshots.store.pruning import prune
from snapshots.store.staging import VersionExists
from snapshots.store.store import MissingVersion, WorkspaceStore, new_version, open_store
from snapshots.store.verification import missing_files
from tests.stores.quicker import quicker
from tests.stores.store_content import BLOG, Row, activate, bare, manifest_of, publish, version_at, write_rows


@pytest.fixture
def target(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("acme")


def leftovers(target: WorkspaceStore) -> list[str]:
    """Hidden things in a workspace's store, except the lock that stays."""
    return sorted(
        path.relative_to(target.directory).as_posix() for path in target.directory.rglob(".*") if path.name != ".lock"
    )


@pytest.mark.parametrize(
    ("now", "version"),
    [
        (0, "19700101T000000000Z-0123abcd"),
        (1_793_491_200_007, "20261101T000000007Z-0123abcd"),
        (1_793_491_199_999, "20261031T235959999Z-0123abcd"),
        (NEVER, "99991231T235959999Z-0123abcd"),
    ],
)
def test_a_version_is_named_after_its_instant_and_its_content(now: int, version: str) -> None:
    assert new_version(now, "0123abcd" * 8) == version


def test_an_unused_version_is_at_the_first_free_millisecond(target: WorkspaceStore) -> None:
    taken = version_at(1)
    publish(target, 1)
    assert target.unused_version(1_800_000_000_000, "00000001") == new_version(1_800_000_000_000, "00000001")
    assert target.unused_version(1_800_000_000_001, "00000001") > taken
    assert target.unused_version(1_800_000_000_001, "00000002") == new_version(1_800_000_000_001, "00000002")


def test_a_store_that_is_not_there_yet_is_empty_and_stays_unmade(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    target = store.workspace("acme")
    assert store.workspaces() == []
    assert (target.current(), target.versions(), target.prune(1)) == (None, [], ([], 0))
    assert not store.root.exists()
    assert store.cache == store.root / ".cache"
    assert open_store(store.root, cache=tmp_path / "elsewhere").cache == tmp_path / "elsewhere"


@pytest.mark.parametrize("name", ["", "Acme", "../acme", "-acme", "a" * 64, ".cache", "a/b"])
def test_what_is_no_workspace_id_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="not a workspace ID"):
        open_store(tmp_path).workspace(name)


def test_a_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"http://bucket/cms: no store is at such a URL. Write a directory, s3://"):
        open_store("http://bucket/cms")
    assert open_store("~/cms").root == Path.home() / "cms"


def test_workspaces_are_the_directories_something_was_built_in(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in ("acme", "beta"):
        (tmp_path / name / "snapshots").mkdir(parents=True)
    (tmp_path / "keys-only").mkdir()
    (tmp_path / ".cache").mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert store.workspaces() == ["acme", "beta"]


def test_a_published_version_is_listed_found_and_whole(target: WorkspaceStore) -> None:
    first = publish(target, 1)
    publish(target, 2)
    assert target.versions() == [version_at(2), version_at(1)]
    assert target.manifest(version_at(1)) == first
    assert target.verify(version_at(1)) == []
    assert target.current() is None
    assert target.find(version_at(1)[:18]) == version_at(1)
    assert leftovers(target) == []


def test_a_version_is_found_by_an_unambiguous_beginning_only(target: WorkspaceStore) -> None:
    publish(target, 1)
    publish(target, 2)
    with pytest.raises(StoreError, match=f"beginning of 2 snapshot versions .{version_at(1)} to {version_at(2)}"):
        target.find("2027")
    with pytest.raises(MissingVersion, match='"1999"'):
        target.find("1999")


def test_a_directory_without_a_manifest_is_no_version(target: WorkspaceStore) -> None:
    publish(target, 1)
    (target.snapshots / version_at(1) / MANIFEST).unlink()
    assert target.versions() == []
    for use in (target.manifest, target.verify):
        with pytest.raises(MissingVersion):
            use(version_at(1))
    with pytest.raises(MissingVersion):
        target.activate(version_at(1), expected=None, by="me", now=1)


@pytest.mark.parametrize("name", ["..", "../../other", "", "20270115T080000001Z-0000000G", ".staging-1"])
def test_a_name_that_is_no_version_leads_nowhere(target: WorkspaceStore, name: str) -> None:
    assert not target.has(name)
    with pytest.raises(MissingVersion):
        target.manifest(name)
    with pytest.raises(StoreError, match="is not a snapshot version"), target.stage(name):
        pass


@pytest.mark.parametrize("relative", ["../x", "/etc/passwd", "ja/../../x", "a\0b"])
def test_a_path_outside_the_version_is_refused(target: WorkspaceStore, relative: str) -> None:
    with pytest.raises(StoreError, match="not a path inside a snapshot"):
        target.path(version_at(1), relative)
    publish(target, 1)
    path = target.snapshots / version_at(1) / MANIFEST
    path.chmod(0o644)
    escaped = relative.replace("\0", "\\u0000")
    path.write_text(path.read_text().replace('"ja/blog/all.parquet"', f'"{escaped}"'))
    with pytest.raises(StoreError, match="not a path inside a snapshot"):
        target.manifest(version_at(1))


def test_published_files_are_read_only_and_linked_ones_share_their_bytes(target: WorkspaceStore) -> None:
    first = publish(target, 1)
    old = target.path(version_at(1), first.files[0].path)
    with target.stage(version_at(2)) as staging:
        new = staging.directory / first.files[0].path
        new.parent.mkdir(parents=True)
        new.hardlink_to(old)
        target.publish(staging, manifest_of(version_at(2), first.files))
    assert old.stat().st_ino == target.path(version_at(2), first.files[0].path).stat().st_ino
    assert target.verify(version_at(2)) == []
    assert {path.stat().st_mode & 0o222 for path in target.snapshots.rglob("*") if path.is_file()} == {0}


def test_a_version_is_never_overwritten(target: WorkspaceStore) -> None:
    first = publish(target, 1)
    with pytest.raises(VersionExists):
        publish(target, 1, {(BLOG, "ja", FileKind.PUBLISHED): [Row("other"), Row("more")]})
    assert target.manifest(version_at(1)) == first
    assert target.verify(version_at(1)) == []
    assert leftovers(target) == []


@pytest.mark.parametrize(
    ("spoil", "found"), [(Path.unlink, "is missing"), (lambda path: path.write_bytes(b"short"), "has 5 bytes")]
)
def test_files_that_are_not_the_manifests_are_not_published(
    target: WorkspaceStore, spoil: Callable[[Path], object], found: str
) -> None:
    with target.stage(version_at(1)) as staging:
        file = write_rows(staging.directory, BLOG, "ja", FileKind.PUBLISHED, [Row("hello")])
        spoil(staging.directory / file.path)
        with pytest.raises(StoreError, match=rf"ja/blog/all\.parquet: {found}"):
            target.publish(staging, manifest_of(version_at(1), [file]))
    assert target.versions() == []
    assert leftovers(target) == []


def test_a_manifest_of_another_version_or_workspace_is_not_published(target: WorkspaceStore) -> None:
    beta = open_store(target.directory.parent).workspace("beta")
    for place, number in ((target, 2), (beta, 1)):
        with place.stage(version_at(1)) as staging, pytest.raises(StoreError, match="is staged"):
            place.publish(staging, manifest_of(version_at(number), []))
        assert place.versions() == []


def interrupt(target: WorkspaceStore) -> None:
    with target.stage(version_at(1)) as staging:
        (staging.directory / "x").write_bytes(b"x")
        assert len(leftovers(target)) == 2
        raise KeyboardInterrupt


def test_a_failed_block_leaves_nothing_staged(target: WorkspaceStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(target)
    assert leftovers(target) == []


def test_activation_moves_current_and_remembers_what_was(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
    assert bare(target.activate(version_at(1), expected=None, by="mika@desk", now=5)) == Current(
        version_at(1), (), 5, "mika@desk"
    )
    target.activate(version_at(2), expected=version_at(1), by="mika@desk", now=6)
    target.activate(version_at(3), expected=ANY, by="ci@runner", now=7)
    before = (version_at(2), version_at(1))
    terms = (Term(version_at(2), 6, 7), Term(version_at(1), 5, 6))
    assert bare(target.current()) == Current(version_at(3), before, 7, "ci@runner", before, terms)
    text = (target.directory / "current").read_text()
    assert text.count("\n") == 1
    assert text.endswith("}\n")


def test_activating_the_current_version_changes_nothing(target: WorkspaceStore) -> None:
    publish(target, 1)
    target.activate(version_at(1), expected=None, by="mika@desk", now=5)
    before = (target.directory / "current").stat().st_ino
    assert target.activate(version_at(1), expected=ANY, by="ci@runner", now=9).activated_at == 5
    assert (target.directory / "current").stat().st_ino == before


def test_activation_compares_with_what_was_expected(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
    activate(target, 1)
    for expected in (None, version_at(2)):
        with pytest.raises(ActivationConflict, match=f"is {version_at(1)}, no longer") as caught:
            target.activate(version_at(3), expected=expected, by="me", now=9)
        assert (caught.value.expected, caught.value.found) == (expected, version_at(1))
    assert bare(target.current()) == Current(version_at(1), (), 1, "tester@here")


def test_current_remembers_fifty_activations(target: WorkspaceStore) -> None:
    for number in (0, 1):
        publish(target, number)
    for turn in range(KEPT_ACTIVATIONS + 3):
        activate(target, turn % 2)
    current = target.current()
    assert current is not None
    assert len(current.previous) == 50
    assert current.version == version_at(0)
    assert current.previous[:3] == (version_at(1), version_at(0), version_at(1))


def test_rollback_goes_back_one_activation_at_a_time(target: WorkspaceStore) -> None:
    with pytest.raises(StoreError, match="no snapshot version was current before"):
        target.rollback(by="me", now=1)
    for number in (1, 2, 3):
        publish(target, number)
        activate(target, number)
    one, two, three = map(version_at, (1, 2, 3))
    terms: tuple[Term, ...] = (Term(three, 3, 8), Term(two, 2, 3), Term(one, 1, 2))
    assert bare(target.rollback(by="me", now=8)) == Current(two, (one,), 8, "me", (three, one), terms)
    terms = (Term(two, 8, 9), *terms)
    assert bare(target.rollback(by="me", now=9)) == Current(one, (), 9, "me", (two, three), terms)
    with pytest.raises(StoreError, match="no snapshot version was current before"):
        target.rollback(by="me", now=10)
    assert bare(target.current()) == Current(one, (), 9, "me", (two, three), terms)


def test_when_a_version_was_shown() -> None:
    one, two, three = map(version_at, (1, 2, 3))
    current = Current(one, (two,), 90_000, "me").followed_by(two, (one,), 100_000, "me")
    current = current.followed_by(one, (two,), 200_000, "me").followed_by(
        two, (), 150_000, "me"
    )  # a clock was set back
    shown = [
        (one, 89_999, None),
        (one, 90_000, 90_000),
        (one, 100_000 + FOLLOWED_MS, 100_000 + FOLLOWED_MS),
        (one, 199_999, 100_000 + FOLLOWED_MS),
        (one, 200_000, 200_000),
        (one, 1 << 50, 200_000 + FOLLOWED_MS),
        (two, 99_999, None),
        (two, 1 << 47, 1 << 47),
        (three, 1 << 47, None),
    ]
    assert [current.shown(version, at) for version, at, _ in shown] == [expected for *_, expected in shown]
    assert current.without({one}).shown(one, 200_000) is None
    assert not current.without({one}).was_current(one)
    assert current.without({two}).shown(two, 200_000) == 200_000


def test_one_version_is_withdrawn(target: WorkspaceStore) -> None:
    for number in range(1, 5):
        publish(target, number)
        activate(target, number)
    for refused, message in ((4, "is the current snapshot version"), (9, "has no snapshot version")):
        with pytest.raises(StoreError, match=message):
            target.withdraw(version_at(refused))
    assert target.withdraw(version_at(3))[0] == [version_at(3)]
    assert target.versions() == [version_at(number) for number in (4, 2, 1)]
    current = target.current()
    assert current is not None
    assert [current.shown(version_at(number), 1 << 40) is None for number in (1, 2, 3, 4)] == [
        False,
        False,
        True,
        False,
    ]
    assert leftovers(target) == []
    with pytest.raises(MissingVersion, match=version_at(3)):
        target.rollback(by="me", now=9)


def test_no_version_goes_as_long_as_nothing_is_current(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
    assert target.prune(1) == ([], 0)
    with pytest.raises(StoreError, match=f"no current snapshot version yet, and {version_at(1)} may be about to be"):
        target.withdraw(version_at(1))
    activate(target, 1)
    assert target.withdraw(version_at(2))[0] == [version_at(2)]


def test_a_pruned_version_cannot_be_rolled_back_to(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
        activate(target, number)
    target.prune(1)
    target.rollback(by="me", now=8)
    with pytest.raises(MissingVersion, match=version_at(1)):
        target.rollback(by="me", now=9)
    current = target.current()
    assert current is not None
    assert current.version == version_at(2)


@pytest.mark.parametrize(
    ("keep", "current", "dropped"),
    [(1, 6, [4, 3, 2, 1]), (3, 6, [3, 2, 1]), (6, 6, []), (50, 6, []), (1, 2, [5, 4, 3]), (2, None, [])],
)
def test_prune_keeps_the_newest_the_current_and_the_one_before(
    target: WorkspaceStore, keep: int, current: int | None, dropped: list[int]
) -> None:
    for number in range(1, 7):
        publish(target, number)
    if current is not None:
        activate(target, current - 1)
        activate(target, current)
    size = (target.snapshots / version_at(1) / "ja/blog/all.parquet").stat().st_size
    versions, freed = target.prune(keep)
    assert versions == [version_at(number) for number in dropped]
    assert freed > size * len(dropped) if dropped else freed == 0
    assert [target.verify(version) for version in target.versions()] == [[]] * (6 - len(dropped))
    assert leftovers(target) == []


def test_what_a_killed_prune_began_is_not_made_current_and_is_finished(target: WorkspaceStore) -> None:
    for number in range(1, 6):
        publish(target, number)
    activate(target, 5)
    path = target.directory / "current"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "dropping": [version_at(4)]}), encoding="utf-8")
    with pytest.raises(MissingVersion, match="`cms snapshot prune` finishes that"):
        activate(target, 4)
    activate(target, 3)
    assert target.prune(50)[0] == [version_at(4)]
    assert target.versions() == [version_at(number) for number in (5, 3, 2, 1)]
    assert "dropping" not in json.loads(path.read_text(encoding="utf-8"))


def test_a_version_that_is_dropped_while_it_is_looked_at_is_missing_and_not_damaged(
    target: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 6):
        publish(target, number)
    activate(target, 5)

    def after_a_prune(*given: Any) -> Iterator[str]:
        target.prune(1)
        return missing_files(*given)

    monkeypatch.setattr("snapshots.store.store.missing_files", after_a_prune)
    with pytest.raises(MissingVersion, match=version_at(1)):
        activate(target, 1)


def test_a_version_that_becomes_current_while_it_is_dropped_stays_whole(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)

    def content() -> dict[str, bytes]:
        found = target.objects.names("acme/snapshots")
        return {one.key: (target.objects.root / one.key).read_bytes() for one in found}  # type: ignore[attr-defined]

    there = content()
    asked: list[object] = []

    def current_by_then() -> list[str]:
        asked.append(None)
        return [version_at(1)]

    dropped = prune(target.objects, target.local, "acme", lambda *_: [version_at(1)], current_by_then)
    assert asked
    assert dropped[0] == []
    assert content() == there


def test_prune_refuses_to_keep_nothing(target: WorkspaceStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        target.prune(0)


def test_pruned_bytes_are_counted_when_the_last_link_goes(target: WorkspaceStore) -> None:
    first = publish(target, 1)
    for number in (2, 3):
        with target.stage(version_at(number)) as staging:
            (staging.directory / "ja/blog").mkdir(parents=True)
            path = staging.directory / first.files[0].path
            path.hardlink_to(target.path(version_at(1), first.files[0].path))
            target.publish(staging, manifest_of(version_at(number), first.files))
    activate(target, 3)
    manifests = [(target.snapshots / version_at(number) / MANIFEST).stat().st_size for number in (1, 2)]
    assert target.prune(1) == ([version_at(2), version_at(1)], sum(manifests))
    assert target.verify(version_at(3)) == []


def test_files_of_a_pruned_version_stay_readable_for_who_has_them_open(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
        activate(target, number)
    path = target.path(version_at(1), "ja/blog/all.parquet")
    with pq.ParquetFile(path, memory_map=True) as mapped, path.open("rb") as opened:
        assert target.prune(1)[0] == [version_at(1)]
        assert not path.exists()
        assert mapped.read(columns=["id"]).to_pydict() == {"id": ["hello"]}
        assert pq.read_table(opened, columns=["id"]).to_pydict() == {"id": ["hello"]}


def test_every_version_that_was_current_is_remembered(target: WorkspaceStore) -> None:
    for number in range(1, 5):
        publish(target, number)
    for number in (1, 2, 3, 2):
        activate(target, number)
    target.rollback(by="tester@here", now=9)
    after = target.current()
    assert after is not None
    assert after.version == version_at(3)
    assert [after.was_current(version_at(number)) for number in range(1, 5)] == [True, True, True, False]
    path = target.directory / "current"
    older = {name: value for name, value in json.loads(path.read_bytes()).items() if name != "served"}
    path.write_text(json.dumps(older))
    found = target.current()
    assert found is not None
    assert [found.was_current(version_at(number)) for number in (1, 2, 3, 4)] == [True, True, True, False]
    activate(target, 4)
    again = target.current()
    assert again is not None
    assert again.was_current(version_at(1))


def test_an_activation_follows_the_one_that_was_quicker(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
    activate(target, 1)
    with quicker("current", lambda: activate(target, 2)):
        activated = target.activate(version_at(3), expected=ANY, by="ana@host", now=3)
    assert activated == target.current()
    assert activated.previous == (version_at(2), version_at(1))
    with quicker("current", lambda: activate(target, 1)), pytest.raises(ActivationConflict) as refused:
        target.activate(version_at(2), expected=version_at(3), by="ana@host", now=4)
    assert refused.value.found == version_at(1)
    with quicker("current", lambda: target.rollback(by="ana@host", now=5)):
        rolled_back = target.rollback(by="bob@host", now=6)
    assert rolled_back == target.current()
    assert rolled_back.version == version_at(2)


def test_a_prune_keeps_what_becomes_current_while_it_chooses(target: WorkspaceStore) -> None:
    for number in (1, 2, 3, 4):
        publish(target, number)
    activate(target, 3)
    with quicker("current", lambda: activate(target, 1)):
        dropped, _ = target.prune(1)
    assert dropped == [version_at(2)]
    found = target.current()
    assert found is not None
    assert (found.version, target.versions()) == (version_at(1), [version_at(4), version_at(3), version_at(1)])
