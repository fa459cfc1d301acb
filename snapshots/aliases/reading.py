"""The old IDs and addresses of an entry, which its files name under ``aliases``, and where references by them lead.

An old ID leads to the entry in all its languages. What begins with ``/`` is an old address, of which only redirects
know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import msgspec

from snapshots.definitions.model import ApiSource
from snapshots.documents.document import ContentDocument, RawValue, is_missing
from snapshots.documents.expressions import FileFacts, parse_expression
from snapshots.ids import slug_id, valid_id
from snapshots.paths import Steps

ALIASES: Final = "aliases"
"""The key under which an entry's old IDs stand, unless ``meta`` names another."""
OLD_ID: Final = "old-id"
"""The kind of the problem of a reference or link by an old ID."""
ODD_ALIAS: Final = "odd-alias"
"""The kind of the problem of an alias that is neither an ID nor an address."""


class NewName(msgspec.Struct, frozen=True):
    """The entry that an old ID leads to."""

    api: str | None
    """The endpoint, where a reference to one of several APIs has to say it."""
    entry_id: str


Renamed: TypeAlias = Mapping[tuple[str, ...], Mapping[str, NewName]]
"""By the ``uid``s of the APIs in which a reference is looked for, in order: the entry that each old ID leads to."""
NOTHING_RENAMED: Final[Renamed] = {}


class Alias(msgspec.Struct, frozen=True):
    """An old ID, or an old address, which begins with ``/``."""

    name: str
    steps: Steps
    """The way to it in the document."""


class AliasReader:
    """Reads the aliases of one API's documents."""

    def __init__(
        self,
        source: ApiSource,
        meta: Mapping[str, str],
        read_otherwise: Collection[str],
        field_ids: Collection[str],
        languages: tuple[str, ...],
    ) -> None:
        """``read_otherwise`` are the keys that something else reads: one of those holds no aliases, and none do where a
        field has the name ``aliases``, unless ``meta`` says so."""
        implied = "" if ALIASES in read_otherwise or ALIASES in field_ids else ALIASES
        self.expression = parse_expression(meta.get(ALIASES, implied), languages=languages)
        self._id_map = source.id_map if source.id else None

    def read(self, document: ContentDocument, file_facts: FileFacts) -> tuple[list[Alias], list[Alias]]:
        """Return a document's aliases, and what stands among them and is none."""
        written = self.expression.read(document, file_facts)
        if is_missing(written):
            return [], []
        found, odd = list[Alias](), list[Alias]()
        key = self.expression.key or ALIASES
        for at, one in enumerate(written if isinstance(written, list) else [written]):
            steps: Steps = (key, *self.expression.below)
            steps = (*steps, at) if isinstance(written, list) else steps
            if is_missing(one):
                continue
            name = self._name(one)
            (odd if name is None else found).append(Alias(str(one) if name is None else name, steps))
        return found, odd

    def _name(self, raw: RawValue) -> str | None:
        if not isinstance(raw, str) or not raw.isprintable():
            return None
        if raw.startswith("/"):
            return str(raw) if not {"?", "#"} & set(raw) else None
        name = raw if self._id_map is None else self._id_map.get(raw) or slug_id(raw)
        return str(name) if valid_id(name) else None
