"""Find the references that translations lose: their targets are there, but not in the translation's language.

A request in a language gets referred entries in that language too (contract 4.11), so that such a reference is null, or
missing in its list, unless the request has ``lang_fallback=true``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.compile.rows import LEFT_OUT, LIVE
from snapshots.groups import ReferenceCheck, reference_checks
from snapshots.model import Workspace
from snapshots.problems import KEPT_PER_KIND, Problems
from snapshots.translations.model import LOST_REFERENCE
from snapshots.translations.versions import CheckedVersions

Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
Rows: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


class LostReferences(msgspec.Struct):
    """Reports the lost references of one workspace."""

    workspace: Workspace
    apis: Mapping[str, CheckedVersions]
    """By ``uid``."""
    _numbers: dict[tuple[str, int | None], pa.Array] = msgspec.field(default_factory=dict)

    def report(self, problems: Problems) -> None:
        """Add a warning for every reference that a translation loses."""
        for api in self.apis.values():
            if not api.api.multilingual or not len(api.references):
                continue
            languages = api.references["lang"].to_numpy()
            fields = api.references["field"].to_numpy()
            numbers = api.references["number"].to_numpy()
            for number, one in enumerate(reference_checks(api.api)):
                if not all(uid in self.apis for uid in one.targets):
                    continue
                for language in np.flatnonzero(np.bincount(languages[(fields == number) & (languages > 0)])).tolist():
                    rows = np.flatnonzero((fields == number) & (languages == language))
                    of_language = [self._numbers_of(uid, language) for uid in one.targets]
                    rows = rows[~self._are_in(pa.array(numbers[rows]), of_language)]
                    if len(rows):
                        of_any = [self._published(uid) for uid in one.targets]
                        rows = rows[self._are_in(pa.array(numbers[rows]), of_any)]
                    self._report(api, one, language, rows, problems)

    def _report(
        self, api: CheckedVersions, check: ReferenceCheck, language: int, lost: Rows, problems: Problems
    ) -> None:
        lang = self.workspace.languages[language]
        shown = api.references.take(pa.array(lost[:KEPT_PER_KIND])).to_pylist() if len(lost) else []
        for row in shown:
            message = (
                f"{check.path.name}: {row['target']!r} is not translated into {lang}, so requests with lang={lang} get "
                "this entry without it; translate it, or have them ask for lang_fallback=true"
            )
            problems.warning(api.files[row["file"]], row["line"], LOST_REFERENCE, message, item=row["item"])
        problems.add_uncounted([("warning", LOST_REFERENCE, max(0, len(lost) - KEPT_PER_KIND))])

    @staticmethod
    def _are_in(targets: pa.Array, entries: list[pa.Array]) -> Marks:
        """Return whether each target is among the entries of one of the APIs that it is looked for in."""
        found = np.zeros(len(targets), dtype=bool)
        for one in entries:
            found |= np.asarray(pc.is_in(targets, value_set=one))
        return found

    def _published(self, uid: str) -> pa.Array:
        """Return the numbers of the entries that are published in some language: only these have anything to lose."""
        known = self._numbers.get((uid, None))
        if known is None:
            index = self.apis[uid].index
            is_live = index["state"].to_numpy() == LIVE
            known = self._numbers[uid, None] = pa.array(index["number"].to_numpy()[is_live])
        return known

    def _numbers_of(self, uid: str, language: int) -> pa.Array:
        """Return the numbers of the entries that have a version in a language, drafts and those left out for an error
        included; of an API without translations, in the main language."""
        api = self.apis[uid]
        if not api.api.multilingual:
            language = 0
        known = self._numbers.get((uid, language))
        if known is None:
            left_out = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))
            of_language = [
                table["number"].to_numpy()[table["lang"].to_numpy() == language] for table in (api.index, left_out)
            ]
            known = self._numbers[uid, language] = pa.array(np.concatenate(of_language))
        return known
