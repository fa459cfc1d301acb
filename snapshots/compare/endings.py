"""References that end: entries of the new version that still refer to entries which are gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow.compute as pc

from snapshots.columns import JSON_COLUMN, REFERENCE_API, REFERENCE_ID, FileKind
from snapshots.compare.row_groups import opened_rows
from snapshots.compare.versions import title_of
from snapshots.groups import parts_of, referred
from snapshots.model import REFERENCE_TYPES, Api, Workspace, field_path
from snapshots.store.manifest import DataFile

MOST_GONE: Final = 500
"""Entries of an API whose references are looked for."""
MOST_FOUND: Final = 5_000
"""References that are returned."""

_decode = msgspec.json.Decoder().decode


class EndedReference(msgspec.Struct, frozen=True):
    """A reference to an entry that is gone."""

    api: str
    """The endpoint of the entry that refers."""
    id: str
    title: str
    lang: str
    draft: bool
    field: str
    """The name of the field's path, such as ``authors.person``."""
    to_api: str
    """The endpoint of the entry that is gone."""
    to: str


FilesOf = Callable[[Api], Iterable[tuple[DataFile, Path]]]
"""Returns the files of an API, where they can be read."""
_Ended = Mapping[str, tuple[str, frozenset[str]]]
"""The endpoint, and the IDs that are gone, by the API's ``uid``."""


def ended_references(
    workspace: Workspace, files_of: FilesOf, gone: Mapping[str, Sequence[str]]
) -> list[EndedReference]:
    """Return the first references in some files to the first entries in ``gone``, IDs by endpoint. Raises
    ``StoreError``."""
    ended: list[EndedReference] = []
    for api in workspace.apis:
        reached = {uid for path in api.references for uid in path.field.target_uids}
        of_api = {
            target.uid: (target.endpoint, frozenset(gone[target.endpoint][:MOST_GONE]))
            for target in workspace.apis
            if target.uid in reached and gone.get(target.endpoint)
        }
        if of_api:
            ended += islice(_references(files_of, api, of_api), MOST_FOUND - len(ended))
    return ended


def _references(files_of: FilesOf, api: Api, gone: _Ended) -> Iterator[EndedReference]:
    """Return the references of an API's entries to what is gone."""
    ids = sorted({one for _, some in gone.values() for one in some})
    pattern = f'"(?:{"|".join(map(re.escape, ids))})"'
    for file, path in files_of(api):
        is_draft = file.kind is FileKind.DRAFTS
        with opened_rows([path]) as rows:
            for first, end in rows.bounds():
                batch = rows.take(np.arange(first, end))
                for row in batch.filter(pc.match_substring_regex(batch[JSON_COLUMN], pattern)).to_pylist():
                    values = _decode(row[JSON_COLUMN])
                    title = title_of(api, values) or row["id"]
                    for field, endpoint, target in dict.fromkeys(_targets(api, values, gone)):
                        yield EndedReference(
                            api.endpoint, row["id"], title, file.lang, is_draft, field, endpoint, target
                        )


def _targets(api: Api, values: dict[str, Any], gone: _Ended) -> Iterator[tuple[str, str, str]]:
    """Return (field, endpoint, ID) of each reference of an entry's values to what is gone."""
    for field in api.fields:
        for _, path, value in parts_of(field_path(field), values.get(field.id)):
            if path.field.type not in REFERENCE_TYPES:
                continue
            for one in referred(path, value):
                named = one[REFERENCE_API] if isinstance(one, dict) else None
                entry = one[REFERENCE_ID] if isinstance(one, dict) else one
                for uid in path.field.target_uids:
                    endpoint, ids = gone.get(uid or "", ("", frozenset()))
                    if entry in ids and named in (None, endpoint):
                        yield path.name, endpoint, entry
