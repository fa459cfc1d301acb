"""Turn the export of another CMS into a workspace in a new folder: all of it, or nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from snapshots.importers.copies import Copies
from snapshots.importers.export import Export, Reader
from snapshots.importers.losses import Loss, Losses, Unreadable
from snapshots.importers.names import language as valid_language
from snapshots.importers.writing.workspace import WorkspaceWriter, WrittenWorkspace
from snapshots.locks import FileLock
from snapshots.problems import ParquetryError

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_TAKEN_FOLDERS = frozenset({"apis", "content"})


class NotImportable(ParquetryError):
    """The folder to import into cannot be used, or an argument has a wrong form."""


class ImportReport(msgspec.Struct):
    """The result of an import."""

    written: WrittenWorkspace
    losses: list[Loss]


def import_export(
    kind: str,
    read: Reader,
    source: Path,
    directory: Path,
    workspace_id: str,
    *,
    assets: str | None = None,
    language: str | None = None,
    api: str | None = None,
    sheet: str | None = None,
) -> ImportReport:
    """Write the workspace ``directory`` from an export of ``kind``; return what was written and what was lost.

    ``read`` is the kind's. ``assets`` is the folder of the workspace to copy the export's images and files into, and
    ``api`` the endpoint of a kind that is one table, the ``sheet`` of a workbook if given. The workspace is made
    beside ``directory`` and renamed at the end, so that a failure leaves nothing there. Raises ``NotImportable`` where
    there is something in ``directory``, ``Unreadable`` for an export that cannot be read, and ``OSError``.
    """
    if assets is not None and (not _FOLDER.fullmatch(assets) or assets.split("/")[0].lower() in _TAKEN_FOLDERS):
        raise NotImportable(
            f"{assets!r} is not a folder to copy assets into: name one of the new workspace, such as 'media', other "
            "than "
            "'apis' and 'content', of letters, digits, '.', '_' and '-'."
        )
    if language is not None and valid_language(language) is None:
        raise NotImportable(f"{language!r} is not a language code: write one such as en or pt-BR.")
    if not source.exists():
        raise NotImportable(f"There is no {source}. Name the export to read.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise NotImportable(f"{directory} already exists and is not empty. Choose another directory.")
    with _stage(directory) as stage:
        root, work = stage / "workspace", stage / "export"
        root.mkdir()
        work.mkdir()
        losses = Losses()
        export = Export(source, work, losses, Copies(root, assets, losses), language, api, sheet)
        imported = read(export)
        if not imported.apis:
            raise Unreadable(f"{source}: the export has no content types, so there is nothing to import.")
        fallback = source.stat().st_mtime_ns // 1_000_000
        written = WorkspaceWriter(root, imported, losses, fallback).write(workspace_id, kind)
        root.rename(directory)
    return ImportReport(written, losses.all)


@contextmanager
def _stage(directory: Path) -> Iterator[Path]:
    """Give an empty folder beside ``directory``, which belongs to this process alone until it is removed."""
    whole = directory.absolute()
    whole.parent.mkdir(parents=True, exist_ok=True)
    stage = whole.parent / f".{whole.name}.importing"
    stage.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(stage / "lock")
    if not lock.take():
        raise NotImportable(f"Another import into {directory} is at work. Wait for it, or stop it.")
    try:
        for left in stage.glob("*/"):  # by an import that was killed
            shutil.rmtree(left)
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        lock.leave()
