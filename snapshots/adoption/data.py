"""Data files: lists and mappings of entries in one file, translation files, and folders with a file for each entry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from snapshots.adoption.languages import is_language
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import Collection, in_folder, literal
from snapshots.documents.document import RawValue
from snapshots.ids import slug_id

NAMES = ("slug", "key", "name", "title")
"""Keys by which entries are named, the most lasting first."""


def of_file(root: Path, file: str) -> Collection | None:
    """Return the collection in a data file: a list of mappings, or a mapping of mappings; ``None`` for any other."""
    documents = list(documents_of(root, file))
    name = PurePosixPath(file).name.partition(".")[0]
    if not documents:
        return None
    if documents[0].item is not None:
        if all("id" in document.values for document in documents):
            return Collection(name, [literal(file)], [file])
        for key in NAMES:
            texts = [document.values.get(key) for document in documents]
            ids = {slug_id(text) for text in texts if isinstance(text, str) and text}
            if len(ids) == len(documents) and "-" * len(ids) not in ids:
                return Collection(name, [literal(file)], [file], id=f"{{{key}}}")
        return None
    values = documents[0].values
    if _is_keyed(values):
        return Collection(name, [literal(file)], [file], collection="$")
    inside = [key for key, value in values.items() if isinstance(value, dict) and _is_keyed(value)]
    if len(inside) == 1 and "." not in inside[0]:
        return Collection(inside[0], [literal(file)], [file], collection=f"$.{inside[0]}")
    return None


def _is_keyed(values: Mapping[str, RawValue]) -> bool:
    """Return whether a mapping has entries as its values, each under its ID."""
    return len(values) > 1 and all(isinstance(value, dict) for value in values.values())


def in_data_folder(root: Path, folder: str, files: list[str]) -> tuple[list[Collection], list[str], list[str]]:
    """Return the collections of the data files in a folder (``data/``), their languages, and the files left out."""
    collections: list[Collection] = []
    languages: list[str] = []
    left: list[str] = []
    by_parent: dict[str, list[str]] = {}
    for file in files:
        by_parent.setdefault(file.rpartition("/")[0] + "/", []).append(file)
    for parent, mine in sorted(by_parent.items()):
        stems = [PurePosixPath(file).stem for file in mine]
        if len(mine) > 1 and all(map(is_language, stems)):
            collections += _translations(root, parent, mine)
            languages += stems
            by_parent[parent] = []
    entries = []
    for file in [file for mine in by_parent.values() for file in mine]:
        found = of_file(root, file)
        if found is not None:
            collections.append(found)
        elif any(document.item is not None for document in documents_of(root, file)):
            left.append(file)
        else:
            entries.append(file)
    for first in sorted({_branch(file, folder) for file in entries}):
        mine = [file for file in entries if _branch(file, folder) == first]
        if first == folder and len(mine) < 2:  # a file by itself is settings, as likely as not
            left += mine
            continue
        made, more = in_folder(PurePosixPath(first).name, first, mine)
        collections.append(made)
        languages += more
    return collections, languages, left


def _branch(file: str, folder: str) -> str:
    """Return the folder whose entries a file is one of: the first below ``folder``, or itself."""
    first, slash, _ = file.removeprefix(folder).partition("/")
    return f"{folder}{first}/" if slash else folder


def _translations(root: Path, parent: str, files: list[str]) -> list[Collection]:
    """Return the collection of files named after languages, each with texts by key."""
    values: list[RawValue] = [
        value for file in files for one in documents_of(root, file) for value in one.values.values()
    ]
    nested = any(isinstance(value, dict) for value in values)
    source = [f"{literal(parent)}{{lang}}.{ending}" for ending in sorted({file.rpartition(".")[2] for file in files})]
    name = PurePosixPath(parent).name
    return [Collection(name, source, files, multilingual=True, collection="$.**" if nested else "$")]
