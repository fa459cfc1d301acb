"""The files of a published version, compared with its manifest → a sentence for each fault."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from snapshots.columns import SEARCH_COLUMNS, FileKind, columns
from snapshots.store.manifest import MANIFEST, DataFile, Manifest


def wrong_sizes(directory: Path, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for every file that is missing or has another size than recorded. Reads no content."""
    for file in manifest.files:
        complaint = _wrong_size(directory / file.path, file)
        if complaint is not None:
            yield f"{file.path}: {complaint}"


def complaints(
    directory: Path, manifest: Manifest, progress: Callable[[str, int, int], None] | None = None
) -> Iterator[str]:
    """Return a sentence for every fault of a version, none when it is whole.

    Each file is compared with its recorded size and SHA-256 (one sentence a file, the first that applies) and
    then decoded from beginning to end: rows and columns have to be the manifest's. Files that the manifest
    does not name are reported too. ``progress`` is called with ("verifying", bytes done, bytes in all).
    """
    done, total = 0, sum(file.bytes for file in manifest.files)
    for file in manifest.files:
        if progress is not None:
            progress("verifying", done, total)
        done += file.bytes
        complaint = _complaint(directory / file.path, file, manifest)
        if complaint is not None:
            yield f"{file.path}: {complaint}"
    known = {MANIFEST, *(file.path for file in manifest.files)}
    for parent, _, names in os.walk(directory):
        for name in sorted(names):
            path = Path(parent, name).relative_to(directory).as_posix()
            if path not in known:
                yield f"{path}: is not in the manifest"


def altered(path: Path, file: DataFile) -> str | None:
    """Return the fault of a file by size and SHA-256, to follow its name in a sentence; ``None`` when whole."""
    try:
        return _wrong_size(path, file) or _wrong_content(path, file)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def _complaint(path: Path, file: DataFile, manifest: Manifest) -> str | None:
    try:
        return _wrong_size(path, file) or _wrong_content(path, file) or _wrong_table(path, file, manifest)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def _wrong_size(path: Path, file: DataFile) -> str | None:
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    return None if size == file.bytes else f"has {size:,} bytes instead of {file.bytes:,}"


def _wrong_content(path: Path, file: DataFile) -> str | None:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return None if digest == file.sha256 else f"has the SHA-256 {digest} instead of {file.sha256}"


def _wrong_table(path: Path, file: DataFile, manifest: Manifest) -> str | None:
    import pyarrow.parquet  # noqa: PLC0415 - 0.2 s, and the store is opened by every command

    api = manifest.workspace.api_by_uid(file.api)
    if api is None:
        return f"belongs to the API {file.api}, which the manifest does not define"
    if file.kind is FileKind.SEARCH:
        expected = list(SEARCH_COLUMNS)
    else:
        expected = [column.name for column in columns(manifest.workspace, api, file.lang, file.kind)]
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            found = table.schema_arrow.names
            rows = sum(batch.num_rows for batch in table.iter_batches())
    except (pyarrow.ArrowException, OSError) as error:
        return f"is not readable as Parquet: {error}"
    if rows != file.rows:
        return f"has {rows:,} rows instead of {file.rows:,}"
    if found != expected:
        return f"has the columns {', '.join(found)} instead of {', '.join(expected)}"
    return None
