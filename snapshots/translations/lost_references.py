"""Find the references that translations lose: their targets are there, but not in the translation's language.

A request in a language gets referred entries in that language too (contract 4.11), so that such a reference is null, or
missing in its list, unless the request has ``lang_fallback=true``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.build.checks import CheckedApi
from snapshots.compile.rows import LEFT_OUT
from snapshots.groups import ReferenceCheck, reference_checks
from snapshots.model import Workspace
from snapshots.problems import KEPT_PER_KIND, Problems
from snapshots.translations.model import LOST_REFERENCE

Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"


class LostReferences(msgspec.Struct):
    """Reports the lost references of one workspace."""

    workspace: Workspace
    apis: dict[str, CheckedApi]
    """By ``uid``."""
    _ids: dict[tuple[str, int | None], pa.Array] = msgspec.field(default_factory=dict)

    def report(self, problems: Problems) -> None:
        """Add a warning for every reference that a translation loses."""
        for api in self.apis.values():
            if not api.api.multilingual or not len(api.references):
                continue
            languages = api.references["lang"].to_numpy()
            fields = api.references["field"].to_numpy()
            for number, one in enumerate(reference_checks(api.api)):
                if not all(uid in self.apis for uid in one.targets):
                    continue
                for language in np.unique(languages[(fields == number) & (languages > 0)]).tolist():
                    rows = np.flatnonzero((fields == number) & (languages == language))
                    self._report(api, one, language, api.references.take(pa.array(rows)), problems)

    def _report(
        self, api: CheckedApi, check: ReferenceCheck, language: int, references: pa.Table, problems: Problems
    ) -> None:
        targets = references["target"].combine_chunks()
        lost = self._are_in(targets, check, None) & ~self._are_in(targets, check, language)
        lang = self.workspace.languages[language]
        found = references.filter(pa.array(lost))
        for row in found.slice(0, KEPT_PER_KIND).to_pylist():
            message = (
                f"{check.path.name}: {row['target']!r} is not translated into {lang}, so requests with lang={lang} get "
                "this entry without it; translate it, or have them ask for lang_fallback=true"
            )
            problems.warning(api.files[row["file"]], row["line"], LOST_REFERENCE, message, item=row["item"])
        problems.add_uncounted([("warning", LOST_REFERENCE, max(0, len(found) - KEPT_PER_KIND))])

    def _are_in(self, targets: pa.Array, check: ReferenceCheck, language: int | None) -> Marks:
        """Return whether each target is in one of the APIs that it is looked for in: in a language, in those without
        translations in the main one; with ``None`` in any."""
        found = np.zeros(len(targets), dtype=bool)
        for uid in check.targets:
            found |= np.asarray(pc.is_in(targets, value_set=self._ids_of(uid, language)))
        return found

    def _ids_of(self, uid: str, language: int | None) -> pa.Array:
        """Return the IDs of the versions in a language, drafts and those left out for an error included."""
        api = self.apis[uid]
        if language is not None and not api.api.multilingual:
            language = 0
        known = self._ids.get((uid, language))
        if known is None:
            left_out = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))
            names = [(api.index, "id"), (left_out, "target")]
            if language is not None:
                names = [(table.filter(pc.equal(table["lang"], language)), name) for table, name in names]
            chunks = [chunk for table, name in names for chunk in table[name].chunks]
            known = self._ids[uid, language] = pa.concat_arrays([pa.array([], pa.string()), *chunks]).unique()
        return known
