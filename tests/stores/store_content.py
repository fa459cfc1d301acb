"""Small real snapshots for the tests of the store: rows → Parquet files, manifest, published version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import UNSET

from snapshots.build.cached.chunks import arrow_type
from snapshots.columns import (
    ALL,
    DIGEST_COLUMN,
    JSON_COLUMN,
    OWN,
    Column,
    FileKind,
    file_path,
    own_columns,
    own_member,
    public_columns,
)
from snapshots.compile.assets import delivered_file
from snapshots.compile.rows import row_digest, said_digest
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.assets.files import asset_name
from snapshots.store.current import Current
from snapshots.store.manifest import FORMAT, DataFile, Manifest
from snapshots.store.store import WorkspaceStore, new_version

BLOG = Api(
    uid="api_000000000001",
    name="Blog",
    endpoint="blog",
    kind=ApiKind.LIST,
    multilingual=True,
    fields=(
        Field("title", "Title", FieldType.TEXT),
        Field("tags", "Tags", FieldType.MULTIPLE_SELECT),
        Field("cover", "Cover", FieldType.IMAGE),
    ),
)
SITE = Api("api_000000000002", "Site", "site", ApiKind.OBJECT, False, (Field("name", "Name", FieldType.TEXT),))
ACME = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(BLOG, SITE))


@dataclass(frozen=True)
class Row:
    """One version: an ID and its live window."""

    id: str
    live_from: int = ALWAYS
    live_until: int = NEVER


Rows = Mapping[tuple[Api, str, FileKind], Iterable[Row]]
ONE_ENTRY: Rows = {(BLOG, "ja", FileKind.PUBLISHED): [Row("hello")]}


def version_at(number: int) -> str:
    """A version named after a number: the greater, the newer."""
    return new_version(1_800_000_000_000 + number, f"{number:08x}")


def bare(current: Current | None) -> Current | None:
    """What is current, without the digests of manifests."""
    return None if current is None else current.with_manifests({})


def write_rows(directory: Path, api: Api, lang: str, kind: FileKind, rows: Iterable[Row]) -> DataFile:
    """Write one data file with the columns a build would give it."""
    found = list(rows)
    given: dict[str, list[Any]] = {
        "id": [row.id for row in found],
        "live_from": [row.live_from for row in found],
        "live_until": [row.live_until for row in found],
        JSON_COLUMN: ["{}" for _ in found],
        DIGEST_COLUMN: [row_digest(said_digest((row.id, 0, 0, 0), b"{}")) for row in found],
    }

    def array(column: Column) -> pa.Array:
        kind_of = arrow_type(column)
        empty: Any = [] if column.is_list else 0 if column.name.endswith("At") else None
        values = given.get(column.name, [empty] * len(found))
        return (
            pa.array(values, pa.int64()).cast(kind_of) if kind_of == pa.timestamp("ms") else pa.array(values, kind_of)
        )

    public, own = list(public_columns(api)), list(own_columns(ACME, api, lang, kind))
    struct = pa.StructArray.from_arrays([array(one) for one in own], names=[own_member(one.name) for one in own])
    arrays = [*(array(one) for one in public), struct]
    fields = [*(one.name for one in public), OWN]
    relative = file_path(kind, lang, api.endpoint, ALL)
    path = directory / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, names=fields), path, row_group_size=1000)
    return data_file(directory, relative, api, lang, kind, len(found))


def data_file(directory: Path, relative: str, api: Api, lang: str, kind: FileKind, rows: int) -> DataFile:
    """What a manifest says about a file that is there."""
    data = (directory / relative).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return DataFile(relative, api.uid, lang, kind, rows, len(data), digest, digest)


def manifest_of(version: str, files: Iterable[DataFile], assets: Iterable[str] = ()) -> Manifest:
    return Manifest(
        format=FORMAT,
        version=version,
        content=version[-8:] * 8,
        workspace=ACME,
        files=tuple(files),
        created_at=1_800_000_000_000,
        created_by="tester@here",
        builder="parquetry test",
        assets=tuple(sorted(assets)) or UNSET,
    )


def publish(
    target: WorkspaceStore,
    number: int,
    content: Rows = ONE_ENTRY,
    files_at: Path | None = None,
    assets: Iterable[str] = (),
) -> Manifest:
    """Stage and publish a version with these rows, which names files below ``files_at``; it is not current yet."""
    version = version_at(number)
    named = {asset_of(files_at, path): path for path in assets if files_at is not None}
    with (
        target.keeping_assets(files_at or Path(), named, partial(delivered_file, strip=False)) as check_time,
        target.stage(version) as staging,
    ):
        files = [write_rows(staging.directory, *where, rows) for where, rows in content.items()]
        manifest = manifest_of(version, files, named)
        check_time()
        target.publish(staging, manifest)
    return manifest


def asset_of(directory: Path, path: str) -> str:
    """The name of a file as an asset."""
    with (directory / path).open("rb") as opened:
        return asset_name(path, opened)


def activate(target: WorkspaceStore, number: int) -> None:
    before = target.current()
    target.activate(version_at(number), expected=before.version if before else None, by="tester@here", now=number)
