"""Damage in a store: a torn pointer, truncated manifests and data, files that are not what they should be."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.columns import FileKind
from snapshots.store.current import Current
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError
from snapshots.store.manifest import FORMAT, MANIFEST, ManifestError
from snapshots.store.objects import ANY
from snapshots.store.store import WorkspaceStore, open_store
from tests.stores.store_content import (
    BLOG,
    Row,
    activate,
    bare,
    data_file,
    manifest_of,
    publish,
    version_at,
    write_rows,
)


@pytest.fixture
def target(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("acme")


def test_a_torn_current_is_refused_whatever_is_left_of_it(target: WorkspaceStore) -> None:
    for number in (1, 2, 3):
        publish(target, number)
    activate(target, 1)
    activate(target, 2)
    path = target.directory / "current"
    whole = path.read_bytes()
    assert whole.endswith(b"\n")
    damaged = [whole[:length] for length in range(len(whole) - 1)]
    damaged += [b"\0" * len(whole), b"null", b"[]", whole + whole, b"\xff" + whole, whole.replace(b"Z-", b"Z/")]
    damaged += [re.sub(b'"version":"[^"]*"', b'"version":"../../etc"', whole)]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(DamagedDocument, match="cms snapshot activate VERSION"):
            target.current()
        for change in (
            lambda: target.activate(version_at(3), expected=version_at(2), by="me", now=9),
            lambda: target.rollback(by="me", now=9),
            lambda: target.prune(1),
        ):
            with pytest.raises(DamagedDocument):
                change()
        assert path.read_bytes() == data
    assert len(target.versions()) == 3


def test_a_damaged_current_is_repaired_by_an_activation_that_expects_anything(target: WorkspaceStore) -> None:
    publish(target, 1)
    target.directory.joinpath("current").write_bytes(b'{"version":')
    target.activate(version_at(1), expected=ANY, by="me", now=9)
    assert bare(target.current()) == Current(version_at(1), (), 9, "me")


def test_a_truncated_manifest_is_refused_by_name_and_cannot_become_current(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
    activate(target, 1)
    path = target.snapshots / version_at(2) / MANIFEST
    whole = path.read_bytes()
    path.chmod(0o644)
    for length in range(0, len(whole) - 2, 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ManifestError, match=re.escape(str(path))):
            target.manifest(version_at(2))
        with pytest.raises(ManifestError):
            target.activate(version_at(2), expected=ANY, by="me", now=9)
        (complaint,) = target.verify(version_at(2))
        assert str(path) in complaint
    assert bare(target.current()) == Current(version_at(1), (), 1, "tester@here")


def test_a_manifest_of_a_newer_format_cannot_become_current(target: WorkspaceStore) -> None:
    publish(target, 1)
    path = target.snapshots / version_at(1) / MANIFEST
    path.chmod(0o644)
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))
    with pytest.raises(ManifestError, match="newer than this program reads"):
        target.activate(version_at(1), expected=None, by="me", now=9)
    assert target.current() is None


def test_a_version_under_another_name_is_refused(target: WorkspaceStore) -> None:
    publish(target, 1)
    (target.snapshots / version_at(1)).rename(target.snapshots / version_at(2))
    with pytest.raises(StoreError, match=f"is the manifest of snapshot version {version_at(1)} of acme"):
        target.manifest(version_at(2))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (Path.unlink, "ja/blog/all.parquet: is missing"),
        (lambda path: os.truncate(path, 99), r"ja/blog/all.parquet: has [0-9,]+ bytes instead of"),
        (lambda path: path.write_bytes(b"\1" + path.read_bytes()[1:]), "ja/blog/all.parquet: has the SHA-256"),
        (lambda path: path.with_name("extra").write_bytes(b""), "ja/blog/extra: is not in the manifest"),
    ],
)
def test_verify_names_every_damage(target: WorkspaceStore, spoil: Callable[[Path], object], complaint: str) -> None:
    publish(target, 1)
    path = target.path(version_at(1), "ja/blog/all.parquet")
    path.chmod(0o644)
    spoil(path)
    (found,) = target.verify(version_at(1))
    assert re.match(complaint, found)


def test_a_version_with_missing_or_truncated_files_cannot_become_current(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
        activate(target, number)
    path = target.path(version_at(1), "ja/blog/all.parquet")
    path.chmod(0o644)
    os.truncate(path, 10)
    moves: tuple[Callable[[], object], ...] = (
        lambda: target.activate(version_at(1), expected=ANY, by="me", now=9),
        lambda: target.rollback(by="me", now=9),
    )
    for move in moves:
        with pytest.raises(StoreError, match=r"is damaged: ja/blog/all.parquet: has 10 bytes"):
            move()
    current = target.current()
    assert current is not None
    assert current.version == version_at(2)


@pytest.mark.parametrize(
    ("content", "rows", "complaint"),
    [
        (b"PAR1 and nothing more", 1, "is not readable as Parquet"),
        (None, 2, "has 1 rows instead of 2"),
    ],
)
def test_verify_reads_what_the_hashes_cannot_tell(
    target: WorkspaceStore, content: bytes | None, rows: int, complaint: str
) -> None:
    with target.stage(version_at(1)) as staging:
        file = write_rows(staging.directory, BLOG, "ja", FileKind.PUBLISHED, [Row("hello")])
        if content is not None:
            (staging.directory / file.path).write_bytes(content)
        file = data_file(staging.directory, file.path, BLOG, "ja", FileKind.PUBLISHED, rows)
        target.publish(staging, manifest_of(version_at(1), [file]))
    (found,) = target.verify(version_at(1))
    assert complaint in found


def test_verify_compares_the_columns_with_the_definition(target: WorkspaceStore) -> None:
    with target.stage(version_at(1)) as staging:
        file = write_rows(staging.directory, BLOG, "ja", FileKind.DRAFTS, [Row("hello")])
        file = data_file(staging.directory, file.path, BLOG, "ja", FileKind.PUBLISHED, 1)
        target.publish(staging, manifest_of(version_at(1), [file]))
    (found,) = target.verify(version_at(1))
    assert "has the columns id, createdAt" in found
