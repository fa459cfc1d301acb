"""Make an API of a table: fields of its columns, and entries of its rows.

Some columns say what an entry is and not what it has: its ID, its language, its dates, and whether it is for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from snapshots.documents.publicity import ends_by, is_for_everybody, plain_truth, word_of
from snapshots.importers.kinds.tables.columns import ColumnFacts, date_of, value_of
from snapshots.importers.losses import EMAILS, Losses
from snapshots.importers.model import ApiPlan, FieldPlan, ImportedVersion
from snapshots.importers.names import entry_id, field_ids, language
from snapshots.model import FieldType, Status

_IDS: Final = ("id", "slug", "key")
_LANGUAGES: Final = frozenset({"lang", "language", "locale"})
_DATES: Final = {
    "createdat": "created",
    "createdtime": "created",
    "updatedat": "updated",
    "lasteditedtime": "updated",
    "publishedat": "published",
    "publishstart": "publish_start",
    "publishend": "publish_end",
}
"""The dates of an entry, by the names of columns without what stands between their words."""
_BETWEEN: Final = re.compile(r"[\s_-]+")
_MOST_OF_A_NAME: Final = 40
"""Characters of a row's text that its ID is made of."""


class Table:
    """What becomes of the columns of a table; ``note`` every row before the plan is taken."""

    def __init__(self, endpoint: str, name: str, names: Iterable[str], losses: Losses) -> None:
        self.plan = ApiPlan(endpoint, name, [])
        self.names = list(dict.fromkeys(names))
        self._facts = {one: ColumnFacts() for one in self.names}
        self._codes: dict[str, None] = {}
        self._losses = losses
        plain = {_BETWEEN.sub("", one).lower(): one for one in reversed(self.names)}
        self._id = next((plain[one] for one in _IDS if one in plain), None)
        self._language = next((plain[one] for one in _LANGUAGES if one in plain), None)
        self._has_languages = self._language is not None
        self._dates = {plain[said]: role for said, role in _DATES.items() if said in plain}
        self._words = {one for one in self.names if word_of(one) is not None}
        self._said: set[str] = set()
        """The columns of those that say more than whether a row is for everybody."""
        self._taken: set[tuple[str, str | None]] = set()
        self.fields: dict[str, FieldPlan] = {}
        """The fields by the names of their columns."""
        self._ids: dict[str, str] = {}
        self._types: dict[str, FieldType] = {}

    def note(self, row: Mapping[str, str]) -> None:
        """Note what the cells of a row are."""
        for name, cell in row.items():
            self._facts[name].note(cell)
            if name in self._words and not _is_state(name, cell.strip()):
                self._said.add(name)
        said = row.get(self._language or "", "").strip()
        if said:
            code = language(said)
            self._has_languages = self._has_languages and code is not None
            self._codes |= {code: None} if code is not None else {}

    @property
    def languages(self) -> list[str]:
        """The languages that the rows say they are in."""
        return list(self._codes) if self._has_languages else []

    def settle(self) -> None:
        """Decide on the fields, once all rows are noted."""
        roles = {
            self._id,
            *self._dates,
            *(self._words - self._said),
            *([self._language] if self._has_languages else []),
        }
        kept = []
        for name in self.names:
            if self._facts[name].is_email:
                self._losses.add(self.plan.endpoint, f"the column {name!r}", EMAILS)
            elif name not in roles or (name == self._id and _BETWEEN.sub("", name).lower() != "id"):
                kept.append(name)
        self._ids = field_ids(kept)
        self._types = {name: self._facts[name].type for name in kept}
        self.fields = {name: FieldPlan(self._ids[name], self._types[name], name) for name in kept}
        self.plan.fields = list(self.fields.values())

    def version(self, row: Mapping[str, str], where: str, given_id: str | None = None) -> ImportedVersion:
        """Return the entry that a row is. Without ``given_id``, the row's own columns name it."""
        values: dict[str, Any] = {
            self._ids[name]: value_of(cell, self._types[name]) for name, cell in row.items() if name in self._ids
        }
        code = language(row.get(self._language or "", "").strip()) if self._has_languages else None
        made = ImportedVersion(self.plan.endpoint, given_id or self._id_of(row, code, where), values, lang=code)
        made.where = where
        for name, role in self._dates.items():
            cell = row.get(name, "").strip()
            if cell and date_of(cell) is None:
                self._losses.add(where, f"a date in the column {name!r}", f"it is no date: {cell[:60]!r}")
            setattr(made, role, date_of(cell))
        made.status = self._status(row, made, where)
        return made

    def _status(self, row: Mapping[str, str], made: ImportedVersion, where: str) -> Status:
        """Return whether a row is for everybody: it is a draft unless every column that may say so does."""
        for name in sorted(self._words):
            cell = row.get(name, "").strip()
            if ends_by(name) and date_of(cell) is not None:
                made.publish_end = date_of(cell)
            elif name.casefold() == "status" and cell.lower() == Status.SCHEDULED and made.publish_start is not None:
                return Status.SCHEDULED
            elif not is_for_everybody(name, cell) or (name.casefold() == "status" and not cell):
                why = f"the column {name!r} does not say that it is for everybody: it is a draft"
                self._losses.add(where, f"a published row of {self.plan.endpoint}", why, scope=name)
                return Status.DRAFT
        return Status.PUBLISHED

    def _id_of(self, row: Mapping[str, str], code: str | None, where: str) -> str:
        said = row.get(self._id or "", "").strip()
        if said:
            return said
        named = next((name for name in self.names if name in self._ids and row.get(name, "").strip()), None)
        text = " ".join(row[named].split())[:_MOST_OF_A_NAME] if named is not None else ""
        plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") if text.isascii() else ""
        chosen = made = plain or entry_id(text or where)
        number = 2
        while (chosen, code) in self._taken:
            chosen, number = f"{made}-{number}", number + 1
        self._taken.add((chosen, code))
        what = "the first column that has a text" if self._id is None else f"other columns, where {self._id!r} is empty"
        self._losses.add(where, f"IDs of {self.plan.endpoint}", f"the table does not name them: made of {what}")
        return chosen


def _is_state(name: str, cell: str) -> bool:
    """Return whether a cell says nothing but whether its row is for everybody, and until when."""
    return (
        not cell
        or plain_truth(cell) is not None
        or cell.lower() in (*Status, "public")
        or (ends_by(name) and date_of(cell) is not None)
    )
