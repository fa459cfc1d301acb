"""Find translations that are older than their originals: the versions in the main language changed after them.

A change is dated by the last commit that changed the file's contents, where every version has a file of its own: a file
that differs from its commit, or has none, has changed now, and a new name is no change. Where git has no dates, or a
file holds several entries or languages, the versions in the store tell which of the two changed later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from snapshots.compile.rows import LIVE
from snapshots.model import Workspace
from snapshots.problems import Problems
from snapshots.translations.model import LAGGING, Translations
from snapshots.translations.versions import CheckedVersions

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

NAMED: Final = 5
"""Entries that a warning names."""
NOW: Final = np.iinfo(np.int64).max
"""Stands for the date of a change that is in no commit."""
_UNDATED: Final = np.iinfo(np.int64).min

ChangedAt: TypeAlias = "Callable[[str], int | None]"
"""Returns when a file, by its path, was last changed in UTC milliseconds or ``NOW``; ``None`` where git cannot tell."""


class Pairs(msgspec.Struct, frozen=True):
    """The entries of an API that have a published version in the main language, and one in another."""

    api: CheckedVersions
    lang: str
    originals: Ints
    """Positions in the index of the API."""
    translations: Ints
    """Likewise, of the same entries."""

    def chosen(self, marks: Marks) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.api, self.lang, self.originals[marks], self.translations[marks])

    def ids(self, chosen: Marks) -> list[str]:
        """Return the IDs of some of the entries, sorted."""
        rows = self.translations[chosen]
        ids: list[str] = sorted(self.api.index["id"].take(pa.array(rows)).to_pylist()) if len(rows) else []
        return ids


LaterInVersions: TypeAlias = "Callable[[Pairs], Marks]"
"""Returns, of each pair, whether the versions in the store tell that the original changed later."""


def compared_translations(
    workspace: Workspace,
    checked: Sequence[CheckedVersions],
    changed_at: ChangedAt,
    in_versions: LaterInVersions,
    problems: Problems,
) -> tuple[Translations, ...]:
    """Return the translations of all APIs by API and language, and warn of each language in which some are older than
    their originals."""
    found: list[Translations] = []
    first: dict[str, tuple[str, int, str]] = {}
    for api in checked:
        languages = workspace.languages_of(api.api)[1:]
        dates = _dates_of_files(api, changed_at) if languages else np.zeros(0, dtype=np.int64)
        for lang in languages:
            pairs, missing = _paired(workspace, api, lang)
            is_lagging = _are_lagging(pairs, dates, in_versions)
            if is_lagging.any() and lang not in first:
                first[lang] = _position(pairs, is_lagging)
            found.append(Translations(api.api.endpoint, lang, missing, tuple(pairs.ids(is_lagging))))
    for lang, (file, line, item) in first.items():
        names = [f"{one.api}/{entry}" for one in found if one.lang == lang for entry in one.lagging]
        problems.warning(file, line, LAGGING, _message(workspace.main_language, lang, names), item=item)
    return tuple(found)


def missing_translations(workspace: Workspace, api: CheckedVersions, lang: str) -> list[str]:
    """Return the IDs of the entries that are published in the main language and not in this one, sorted."""
    originals, translations = _positions(workspace, api, lang)
    missing = originals[(originals >= 0) & (translations < 0)]
    found: list[str] = sorted(api.index["id"].take(pa.array(missing)).to_pylist())
    return found


def _message(main: str, lang: str, names: list[str]) -> str:
    rest = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    is_one = len(names) == 1
    what = f"{len(names):,} translation{'' if is_one else 's'} into {lang} {'is' if is_one else 'are'}"
    return f"{what} older than the original in {main}: {', '.join(names[:NAMED])}{rest}"


def _paired(workspace: Workspace, api: CheckedVersions, lang: str) -> tuple[Pairs, int]:
    """Return the pairs of an API in a language, and the number of originals without a translation."""
    originals, translations = _positions(workspace, api, lang)
    both = (originals >= 0) & (translations >= 0)
    missing = int(((originals >= 0) & (translations < 0)).sum())
    return Pairs(api, lang, originals[both], translations[both]), missing


def _positions(workspace: Workspace, api: CheckedVersions, lang: str) -> list[Ints]:
    """Return, of each entry by its number, the row in the index of its published version in the main language, and that
    of the one in ``lang``; -1 where there is none."""
    languages = api.index["lang"].to_numpy()
    published = api.index["state"].to_numpy() == LIVE
    positions = []
    for one in (workspace.main_language, lang):
        rows = np.flatnonzero(published & (languages == workspace.languages.index(one)))
        of_entry = np.full(len(api.firsts), -1, dtype=np.int64)
        of_entry[api.entries[rows]] = rows
        positions.append(of_entry)
    return positions


def _are_lagging(pairs: Pairs, dates: Ints, in_versions: LaterInVersions) -> Marks:
    """Return which translations of the pairs are older; ``dates`` are those of the API's files."""
    if not len(pairs.originals):
        return np.zeros(0, dtype=bool)
    files = pairs.api.index["file"].to_numpy()
    original, translation = dates[files[pairs.originals]], dates[files[pairs.translations]]
    by_git = (original != _UNDATED) & (translation != _UNDATED)
    lagging: Marks = by_git & (original > translation)
    if not by_git.all():
        lagging[~by_git] = in_versions(pairs.chosen(~by_git))
    return lagging


def _dates_of_files(api: CheckedVersions, changed_at: ChangedAt) -> Ints:
    """Return the date of each file that holds one version only, else ``_UNDATED``."""
    versions = np.bincount(api.index["file"].to_numpy(), minlength=len(api.files))
    dates = np.full(len(api.files), _UNDATED, dtype=np.int64)
    for number in np.flatnonzero(versions == 1).tolist():
        at = changed_at(api.files[number])
        if at is not None:
            dates[number] = at
    if (dates[versions == 1] == NOW).all():  # files that are in no commit, such as those that git ignores
        dates[:] = _UNDATED
    return dates


def _position(pairs: Pairs, chosen: Marks) -> tuple[str, int, str]:
    """Return file, line and item of the first of some translations."""
    rows = pairs.api.index.take(pa.array(pairs.translations[chosen])).select(["file", "line", "item"]).to_pylist()
    return min(_places(pairs.api, rows))


def _places(api: CheckedVersions, rows: list[dict[str, Any]]) -> Iterator[tuple[str, int, str]]:
    for row in rows:
        yield api.files[row["file"]], row["line"], row["item"]
