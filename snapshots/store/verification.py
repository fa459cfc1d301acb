"""Compare the files of a published version with its manifest: a sentence for each fault."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from snapshots.columns import OWN, SEARCH_COLUMNS, FileKind, columns, columns_before_segments
from snapshots.model import Api
from snapshots.store.assets.files import has_its_name
from snapshots.store.carrying import (
    ASSETS,
    DROPPED,
    asset_keys,
    file_keys,
    listed_objects,
    missing_assets,
    version_folder,
)
from snapshots.store.manifest import DIGESTS_SINCE, MANIFEST, SEGMENTS_SINCE, DataFile, Manifest
from snapshots.store.objects import DamagedObject, ListedObject, MissingObject, Objects


def wrong_sizes(objects: Objects, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for every file that is missing or has another size than recorded. Reads no content."""
    there = listed_objects(objects, manifest)
    for key, file in file_keys(objects, manifest).items():
        complaint = _wrong_size(there[key].bytes if key in there else None, file)
        if complaint is not None:
            yield f"{file.path}: {complaint}"


def missing_files(objects: Objects, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for every file of a version that is missing or has another size than recorded, and every asset
    that it names and that is missing. Reads no content."""
    yield from wrong_sizes(objects, manifest)
    for key in missing_assets(objects, manifest):
        yield f"{key.partition('/')[2]}: is missing"


def touched_files(objects: Objects, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for every file of a version that is missing, has another size than recorded, or was written
    after the version's manifest, which is the last one that a build writes, and has another SHA-256.

    Only such files are read. Their damage by a disk, which changes no time, is what ``complaints`` finds.
    """
    yield from (complaint for _, complaint in _touched(objects, manifest, listed_objects(objects, manifest)))


def drop_damaged(objects: Objects, manifest: Manifest) -> None:
    """Delete those of a version's files that ``touched_files`` finds and others may share, so that the next
    version that has them brings whole ones."""
    folder = version_folder(manifest.workspace.id, manifest.version)
    there = listed_objects(objects, manifest)
    damaged = [key for key, _ in _touched(objects, manifest, there) if not key.startswith(f"{folder}/")]
    # What was not there when it was looked for, another version may have brought by now.
    objects.delete(key for key in damaged if key in there)


def _touched(objects: Objects, manifest: Manifest, there: Mapping[str, ListedObject]) -> Iterator[tuple[str, str]]:
    folder = version_folder(manifest.workspace.id, manifest.version)
    sealed = there.get(f"{folder}/{MANIFEST}")
    for key, file in file_keys(objects, manifest).items():
        found = there.get(key)
        complaint = _wrong_size(None if found is None else found.bytes, file)
        if complaint is None and found is not None and (sealed is None or found.modified_at > sealed.modified_at):
            complaint = _wrong_bytes(objects, key, file)
        if complaint is not None:
            yield key, f"{file.path}: {complaint}"


def altered_files(objects: Objects, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for every file of a version that is missing or differs from its manifest. Reads all of them."""
    for key, file in file_keys(objects, manifest).items():
        complaint = _wrong_bytes(objects, key, file)
        if complaint is not None:
            yield f"{file.path}: {complaint}"


def complaints(
    objects: Objects, manifest: Manifest, progress: Callable[[str, int, int], None] | None = None
) -> Iterator[str]:
    """Return a sentence for every fault of a version, none when it is whole.

    Each file is compared with its recorded size and SHA-256 (one sentence a file, the first that applies) and
    then decoded from beginning to end: rows and columns have to be the manifest's. Files that the manifest
    does not name are reported too. The assets that it names have to have the content that their names stand for.
    ``progress`` is called with ("verifying", bytes done, bytes in all).
    """
    listed, named = listed_objects(objects, manifest), file_keys(objects, manifest)
    there = {key: one.bytes for key, one in listed.items()}
    folder = version_folder(manifest.workspace.id, manifest.version)
    keys = asset_keys(manifest)
    assets = {one.key: one.bytes for one in objects.names(f"{manifest.workspace.id}/{ASSETS}")} if keys else {}
    done, total = 0, sum(file.bytes for file in manifest.files) + sum(assets.get(key, 0) for key in keys)
    for key, file in named.items():
        if progress is not None:
            progress("verifying", done, total)
        done += file.bytes
        complaint = _wrong_size(there.get(key), file) or _complaint(objects, key, file, manifest)
        if complaint is not None:
            yield f"{file.path}: {complaint}"
    known = {f"{folder}/{MANIFEST}", f"{folder}/{DROPPED}", *named}
    for key in there:
        if key not in known and key.startswith(f"{folder}/"):
            yield f"{key.removeprefix(f'{folder}/')}: is not in the manifest"
    for key in keys:
        if progress is not None:
            progress("verifying", done, total)
        done += assets.get(key, 0)
        complaint = "is missing" if key not in assets else _wrong_asset(objects, key, assets[key])
        if complaint is not None:
            yield f"{key.partition('/')[2]}: {complaint}"


def altered(path: Path, file: DataFile) -> str | None:
    """Return the fault of a file by size and SHA-256, to follow its name in a sentence; ``None`` when whole."""
    try:
        size = path.stat().st_size if path.is_file() else None
        return _wrong_size(size, file) or _wrong_content(path, file)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def _complaint(objects: Objects, key: str, file: DataFile, manifest: Manifest) -> str | None:
    try:
        with objects.as_file(key, file.bytes, None) as path:
            return _wrong_content(path, file) or _wrong_table(path, file, manifest)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except (MissingObject, DamagedObject) as error:  # changed since it was listed
        return str(error)


def _wrong_bytes(objects: Objects, key: str, file: DataFile) -> str | None:
    try:
        with objects.as_file(key, file.bytes, None) as path:
            return altered(path, file)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except MissingObject:
        return "is missing"
    except DamagedObject as error:  # changed since it was listed
        return str(error)


def _wrong_asset(objects: Objects, key: str, size: int) -> str | None:
    try:
        with objects.as_file(key, size, None) as path, path.open("rb") as opened:
            named = has_its_name(key.rpartition("/")[2], opened)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except (MissingObject, DamagedObject) as error:  # changed since it was listed
        return str(error)
    return None if named else "has another content than its name says"


def _wrong_size(size: int | None, file: DataFile) -> str | None:
    if size is None:
        return "is missing"
    return None if size == file.bytes else f"has {size:,} bytes instead of {file.bytes:,}"


def _wrong_content(path: Path, file: DataFile) -> str | None:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return None if digest == file.sha256 else f"has the SHA-256 {digest} instead of {file.sha256}"


def _wrong_table(path: Path, file: DataFile, manifest: Manifest) -> str | None:
    import pyarrow.parquet  # noqa: PLC0415 - 0.2 s, and the store is opened by every command

    from snapshots.data_files.stored_columns import stored_names  # noqa: PLC0415 - the same

    api = manifest.workspace.api_by_uid(file.api)
    if api is None:
        return f"belongs to the API {file.api}, which the manifest does not define"
    expected = _column_names(api, file, manifest)
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            found = stored_names(table.schema_arrow)
            rows = sum(batch.num_rows for batch in table.iter_batches())
    except (pyarrow.ArrowException, OSError) as error:
        return f"is not readable as Parquet: {error}"
    if rows != file.rows:
        return f"has {rows:,} rows instead of {file.rows:,}"
    if found != expected:
        return f"has the columns {', '.join(found)} instead of {', '.join(expected)}"
    return None


def _column_names(api: Api, file: DataFile, manifest: Manifest) -> list[str]:
    if file.kind is FileKind.SEARCH:
        return list(SEARCH_COLUMNS)
    about = (manifest.workspace, api, file.lang, file.kind)
    if manifest.format < SEGMENTS_SINCE:
        return list(columns_before_segments(*about, has_digests=manifest.format >= DIGESTS_SINCE))
    *public, own = columns(*about)
    return [*(column.name for column in public), *(f"{OWN}.{column.name}" for column in own.inside)]
