"""Find the collection that the values of a key refer to, among the entries of a site's collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from snapshots.adoption.data import NAMES
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import Collection
from snapshots.ids import valid_id


def entry_names(root: Path, collections: Mapping[str, Collection]) -> dict[str, frozenset[str]]:
    """Return the texts by which the entries of collections can be referred to; both are by endpoint."""
    return {endpoint: frozenset(_names(root, one)) for endpoint, one in collections.items()}


def leads_to(key: str, texts: Iterable[str], entries: Mapping[str, frozenset[str]]) -> str | None:
    """Return the endpoint of the collection that a key is named after and all of its texts are entries of."""
    plain = key.lower().removesuffix("_id").removesuffix("_ids")
    wanted = {plain, f"{plain}s", f"{plain}es", f"{plain.removesuffix('y')}ies"}
    known = list(texts)
    for endpoint, names in entries.items():
        if endpoint.lower() in wanted and known and names.issuperset(known):
            return endpoint
    return None


def _names(root: Path, collection: Collection) -> Iterable[str]:
    for file in collection.files:
        if (
            collection.collection is not None
            or (collection.id is not None and collection.date is None)
            or "/_data/" in f"/{file}"
        ):
            for document in documents_of(root, file, collection.collection):
                named = next((document.values[name] for name in NAMES if name in document.values), None)
                stated = document.values.get("id", document.key if document.key is not None else named)
                if isinstance(stated, str):
                    yield str(stated)
            continue
        path = PurePosixPath(file)
        stem = path.name.partition(".")[0]
        name = path.parent.name if stem == "index" else stem
        if valid_id(name):
            yield name
