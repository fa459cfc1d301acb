"""Data files: lists and mappings of entries in one file, translation files, and folders with a file for each entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path, PurePosixPath

import msgspec

from snapshots.adoption.languages import is_language, is_tag
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import Collection, endings, in_folder, literal
from snapshots.documents.document import ContentDocument, RawValue
from snapshots.ids import slug_id, valid_id
from snapshots.model import ApiKind

MAX_KEYS = 60
"""Keys of a mapping that is an entry; one with more is texts by key, or no content."""
NAMES = ("slug", "key", "name", "title")
"""Keys by which entries are named, the most lasting first."""

_OF_DATA = frozenset({"_data", "data", "content"})
_OF_PROGRAMS = frozenset(
    [
        *("bin", "charts", "ci", "conf", "config", "cypress", "db", "deploy", "docker", "fixtures", "helm", "infra"),
        *("k8s", "lib", "script", "scripts", "spec", "terraform", "test", "tests", "tools"),
    ]
)
"""Folders at the top whose data are the settings of programs, with passwords at times; texts in languages apart."""


class _Looked(msgspec.Struct, frozen=True):
    """What a data file can be part of."""

    languages: list[str]
    """Those that are its only keys, each with texts below."""
    collection: Collection | None
    """The one that it holds."""
    is_an_entry: bool
    """Whether it is one mapping with no more keys than an entry has fields."""
    has_mappings: bool


def of_file(root: Path, file: str) -> Collection | None:
    """Return the collection in a data file: a list of mappings, or a mapping of mappings; ``None`` for any other."""
    return _collection_in(file, list(documents_of(root, file)))


def _looked_at(root: Path, file: str) -> _Looked:
    documents = list(documents_of(root, file))
    is_one = len(documents) == 1 and documents[0].item is None
    return _Looked(
        _first_keys(file, documents[0].values) if is_one and documents[0].body is None else [],
        _collection_in(file, documents),
        is_one and len(documents[0].values) <= MAX_KEYS,
        any(isinstance(value, dict) for one in documents for value in one.values.values()),
    )


def _collection_in(file: str, documents: list[ContentDocument]) -> Collection | None:
    name = PurePosixPath(file).name.partition(".")[0]
    if not documents:
        return None
    if documents[0].item is not None:
        if all("id" in document.values for document in documents):
            stated = [document.values["id"] for document in documents]
            are_valid = all(isinstance(one, str) and valid_id(one) for one in stated)
            return Collection(name, [literal(file)], [file], id=None if are_valid else "{id}")
        for key in NAMES:
            texts = [document.values.get(key) for document in documents]
            ids = {slug_id(text) for text in texts if isinstance(text, str) and text}
            if len(ids) == len(documents) and "-" * len(ids) not in ids:
                return Collection(name, [literal(file)], [file], id=f"{{{key}}}")
        return None
    values = documents[0].values
    if _is_keyed(values):
        return Collection(name, [literal(file)], [file], collection="$")
    if len(values) > MAX_KEYS and all(not isinstance(value, dict | list) for value in values.values()):
        return Collection(name, [literal(file)], [file], collection="$")  # texts by key
    inside = [key for key, value in values.items() if isinstance(value, dict) and _is_keyed(value)]
    if len(inside) == 1 and "." not in inside[0]:
        return Collection(inside[0], [literal(file)], [file], collection=f"$.{inside[0]}")
    return None


def _is_keyed(values: Mapping[str, RawValue]) -> bool:
    """Return whether a mapping has entries as its values, each under its ID."""
    return len(values) > 1 and all(isinstance(value, dict) for value in values.values())


def data_folders(root: Path, base: str, files: list[str]) -> tuple[list[Collection], list[str]]:
    """Return the collections of the data files in folders below ``base``, and their languages."""
    looked = {file: _looked_at(root, file) for file in files}
    collections, languages, used = _translations(looked)
    rest = [file for file in files if file not in used and file.partition("/")[0] not in _OF_PROGRAMS]
    for folder in sorted({f"{base}{file.removeprefix(base).partition('/')[0]}/" for file in rest}):
        more, found = _in_folder(folder, {file: looked[file] for file in rest if file.startswith(folder)})
        collections += more
        languages += found
    return collections, languages


def _in_folder(folder: str, looked: Mapping[str, _Looked]) -> tuple[list[Collection], list[str]]:
    """Return the collections of the data files in a folder (``data/``), and their languages."""
    collections = [one.collection for one in looked.values() if one.collection is not None]
    languages: list[str] = []
    entries = [file for file, one in looked.items() if one.collection is None and one.is_an_entry]
    for first in sorted({_branch(file, folder) for file in entries}):
        mine = [file for file in entries if _branch(file, folder) == first]
        if len(mine) == 1:  # settings, as likely as not
            collections += [_settings(mine[0])] if _OF_DATA.intersection(mine[0].split("/")) else []
            continue
        made, more = in_folder(PurePosixPath(first).name, first, mine)
        collections.append(made)
        languages += more
    return collections, languages


def _settings(file: str) -> Collection:
    return Collection(PurePosixPath(file).name.partition(".")[0], [literal(file)], [file], kind=ApiKind.OBJECT)


def _branch(file: str, folder: str) -> str:
    """Return the folder whose entries a file is one of: the first below ``folder``, or itself."""
    first, slash, _ = file.removeprefix(folder).partition("/")
    return f"{folder}{first}/" if slash else folder


def _translations(looked: Mapping[str, _Looked]) -> tuple[list[Collection], list[str], set[str]]:
    """Return the collections of texts by key in several languages, their languages, and the files that they hold.

    The language is the first key of each file, as in Rails; the name of its folder, as in i18next; or its own name.
    """
    collections, languages, used = list[Collection](), list[str](), set[str]()
    by_key: dict[str, list[str]] = {}
    for file, one in looked.items():
        if one.languages:
            by_key.setdefault(file.rpartition("/")[0].partition("/locales")[0], []).append(file)
            languages += one.languages
    for mine in by_key.values():
        folder = _common_folder(mine)
        source = [f"{literal(folder)}**/*.{ending}" for ending in endings(mine)]
        name = PurePosixPath(folder).name or "texts"
        collections.append(Collection(name, source, mine, multilingual=True, collection="$.{lang}.**"))
        used.update(mine)
    rest = [file for file in looked if file not in used]
    for before, codes in _folders_of_languages(rest).items():
        mine = [file for code in codes for file in rest if file.startswith(f"{before}{code}/")]
        names = {file.removeprefix(before).partition("/")[2].rpartition(".")[0] for file in mine}
        source = [f"{literal(before)}{{lang}}/{{path}}.{ending}" for ending in endings(mine)]
        name = PurePosixPath(before).name or "texts"
        made = Collection(name, source, sorted(mine), multilingual=True, collection="$.**")
        made.id = "{path}-{key}" if len(names) > 1 else "{key}"
        collections.append(made)
        languages += codes
        used.update(mine)
    by_parent: dict[str, list[str]] = {}
    for file in looked:
        if file not in used:
            by_parent.setdefault(file.rpartition("/")[0] + "/", []).append(file)
    for parent, mine in sorted(by_parent.items()):
        stems = [PurePosixPath(file).stem for file in mine]
        if len(mine) > 1 and any(map(is_language, stems)) and all(map(is_tag, stems)):
            collections.append(_named_after(parent, mine, nested=any(looked[file].has_mappings for file in mine)))
            languages += stems
            used.update(mine)
    return collections, languages, used


def _first_keys(file: str, values: Mapping[str, RawValue]) -> list[str]:
    """Return the languages that are the only keys of a file, each with texts below."""
    if not values or not all(is_tag(key) and isinstance(value, dict) for key, value in values.items()):
        return []
    stem = PurePosixPath(file).stem
    named = len(values) == 1 and re.split(r"[._]", stem)[-1] == next(iter(values))
    return list(values) if named or (len(values) > 1 and all(map(is_language, values))) else []


def _common_folder(files: list[str]) -> str:
    """Return the folder in which all files are, with a slash at the end."""
    above = [set(PurePosixPath(file).parents) for file in files]
    deepest = max(set.intersection(*above), key=lambda folder: len(folder.parts))
    return "" if deepest == PurePosixPath() else f"{deepest}/"


def _folders_of_languages(files: list[str]) -> dict[str, list[str]]:
    """Return the languages after which folders are named, by the path before them, where most hold the same names."""
    found: dict[str, dict[str, set[str]]] = {}
    for file in files:
        parts = file.split("/")
        at = next((at for at, part in enumerate(parts[:-1]) if is_language(part)), None)
        if at is not None:
            before = "".join(f"{part}/" for part in parts[:at])
            found.setdefault(before, {}).setdefault(parts[at], set()).add("/".join(parts[at + 1 :]))
    return {
        before: sorted(by_code)
        for before, by_code in found.items()
        if len(by_code) > 1 and any(len(names & other) * 2 >= len(names) for names, other in pairwise(by_code.values()))
    }


def _named_after(parent: str, files: list[str], *, nested: bool) -> Collection:
    """Return the collection of files named after languages, each with texts by key."""
    source = [f"{literal(parent)}{{lang}}.{ending}" for ending in sorted({file.rpartition(".")[2] for file in files})]
    name = PurePosixPath(parent).name
    return Collection(name, source, files, multilingual=True, collection="$.**" if nested else "$")
