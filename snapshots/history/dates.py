"""Tell what a build has from git's history, and whether it would publish other dates for want of it.

Where git does not answer, every date that it gave becomes 1970-01-01 or another date of the file; where a clone is
shallow, that of its oldest commit. Either changes what is published, and the order of lists, without anybody's edit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.columns import FileKind
from snapshots.compile.dates import CHANGED_BY_GIT, CREATED_BY_GIT, GUESSED, NO_DATE, NOT_KNOWN, UNDATED
from snapshots.compile.rows import LIVE
from snapshots.history.git_refusal import NO_HISTORY
from snapshots.model import Workspace
from snapshots.problems import ParquetryError, Problems
from snapshots.sources.git_dates import GitDates
from snapshots.store.manifest import HistoryUse, Manifest
from snapshots.store.store import WorkspaceStore

_NEVERTHELESS: Final = "To publish the other dates all the same, build with --without-history"
Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"


class DatedRows(msgspec.Struct, frozen=True):
    """The checked language versions of one API."""

    uid: str
    index: pa.Table
    """Rows with ``id``, ``lang``, ``state``, ``dated`` (such as ``GIVEN``) and ``file``, a position in ``files``."""
    files: Sequence[str]


class History(msgspec.Struct, frozen=True):
    """What a build has from git's history."""

    use: HistoryUse
    refusal: str | None
    """The reason why git tells nothing of the checkout, with what to do."""
    git: GitDates | None
    """All dates that it has."""
    rows: Sequence[DatedRows]
    marked: tuple[Marks, ...]
    """The rows of each API whose dates would be others with the whole history."""

    @property
    def doubtful(self) -> int:
        """The number of language versions whose dates would be others with the whole history."""
        return sum(int(marks.sum()) for marks in self.marked)


def history_of(
    checked: Sequence[DatedRows], git: GitDates | None, cut: Callable[[], Collection[str]], refusal: str | None
) -> History:
    """Return what the rows of a workspace have from git's history. ``cut`` returns the files that were older but for a
    shallow clone's end."""
    if git is None:
        marked = tuple(_dated(api, GUESSED, NOT_KNOWN) for api in checked)
        return History(HistoryUse.NONE, refusal, None, checked, marked)
    cut_off = cut() if git.shallow else ()
    marked = tuple(_cut_off(api, git, cut_off) for api in checked)
    if any(marks.any() for marks in marked):
        return History(HistoryUse.CUT_OFF, None, git, checked, marked)
    uses = any(_dated(api, CHANGED_BY_GIT, CREATED_BY_GIT).any() for api in checked)
    return History(HistoryUse.WHOLE if uses else HistoryUse.NONE, None, git, checked, marked)


def told(history: History, problems: Problems) -> Problems:
    """Return the problems of content with one on git's refusal, in the place of one for each version without a date."""
    if history.refusal is None:
        return problems
    found = problems.without(NO_DATE)
    effect = f", so {_count(history)} without dates of their own get wrong ones, such as 1970-01-01"
    message = f"git does not tell the dates of files{effect if history.doubtful else ''}: {history.refusal}"
    found.warning("workspace.yaml", 1, NO_HISTORY, message)
    return found


def lost_dates(
    history: History,
    workspace: Workspace,
    target: WorkspaceStore,
    before: str | None,
) -> str | None:
    """Return why nothing is to be published in the place of the version ``before``: dates that it has from git would
    be others. ``None`` where they would not."""
    if before is None or not history.doubtful:
        return None
    try:
        manifest = target.manifest(before)
    except ParquetryError:
        return None  # nobody is served from it
    if not _loses(history, workspace, target, manifest):
        return None
    count = _count(history)
    if history.use is HistoryUse.CUT_OFF:
        return (
            f"this git clone is shallow, so {count} would get the date of its oldest commit, later than in {before}, "
            f"which is current and has dates from git. Fetch the whole history (git fetch --unshallow; in "
            f"CI fetch-depth: 0 or GIT_DEPTH: 0). {_NEVERTHELESS}"
        )
    reason = history.refusal or "the workspace is in no git repository here. Build in a checkout"
    return (
        f"git does not tell the dates of files, so {count} would get other dates, such as 1970-01-01, than in "
        f"{before}, which is current and has dates from git. {reason[0].upper()}{reason[1:]}. {_NEVERTHELESS}"
    )


def _loses(
    history: History,
    workspace: Workspace,
    target: WorkspaceStore,
    manifest: Manifest,
) -> bool:
    """Return whether the version with this manifest has dates from git that a build would change for want of them."""
    if manifest.history is not msgspec.UNSET:
        known = (HistoryUse.WHOLE,) if history.use is HistoryUse.CUT_OFF else (HistoryUse.WHOLE, HistoryUse.CUT_OFF)
        return manifest.history in known
    return any(
        _were_other(workspace, api, marks, history.git, target, manifest)
        for api, marks in zip(history.rows, history.marked, strict=True)
    )


def _were_other(
    workspace: Workspace,
    api: DatedRows,
    marks: Marks,
    git: GitDates | None,
    target: WorkspaceStore,
    manifest: Manifest,
) -> bool:
    """Return whether a version of an older program, which does not say what it has from git, has other dates for the
    marked rows: not 1970, or before the end of a shallow clone."""
    index = api.index
    if git is None:
        marks = marks & (index["dated"].to_numpy() == NOT_KNOWN)
    marks = marks & (index["state"].to_numpy() == LIVE)
    for file in manifest.files:
        if file.api != api.uid or file.kind is not FileKind.PUBLISHED or file.lang not in workspace.languages:
            continue
        rows = index.filter(pa.array(marks & (index["lang"].to_numpy() == workspace.languages.index(file.lang))))
        try:
            with pq.ParquetFile(target.bring_file(manifest.version, file)) as opened:
                stored = opened.read(columns=["id", "createdAt"])
        except (ParquetryError, OSError, pa.ArrowInvalid):
            continue  # damaged: it tells nothing
        found = pc.index_in(_one(stored["id"]), value_set=_one(rows["id"]))
        created = stored["createdAt"].cast(pa.int64()).to_numpy()
        for at, position in enumerate(found.to_pylist()):
            if position is None:
                continue
            first = None if git is None else git.dates[api.files[rows["file"][position].as_py()]][0]
            if created[at] != UNDATED if first is None else created[at] < first:
                return True
    return False


def _count(history: History) -> str:
    return f"{history.doubtful:,} language version{'' if history.doubtful == 1 else 's'}"


def _one(values: pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks()


def _dated(api: DatedRows, *ways: int) -> Marks:
    marks: Marks = np.isin(api.index["dated"].to_numpy(), ways)
    return marks


def _cut_off(api: DatedRows, git: GitDates, cut: Collection[str]) -> Marks:
    """Return the rows that have a date of a commit before which a shallow clone ends."""
    if not cut or not len(api.index):
        return np.zeros(len(api.index), dtype=bool)
    first = np.array([path in cut for path in api.files], dtype=bool)
    same = [git.dates[path][0] == git.dates[path][1] if path in git.dates else False for path in api.files]
    files = api.index["file"].to_numpy()
    marks: Marks = _dated(api, CREATED_BY_GIT) & first[files]
    marks |= _dated(api, CHANGED_BY_GIT) & (first & np.array(same, dtype=bool))[files]
    return marks
