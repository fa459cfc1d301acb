"""Decap: the collections of ``admin/config.yml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snapshots.adoption.generator import Generator
from snapshots.adoption.reading import configuration
from snapshots.adoption.site import Collection, Site, endings, literal, spelled
from snapshots.documents.document import RawValue, format_of
from snapshots.model import ApiKind

_CONFIGURATIONS = tuple(
    f"{folder}admin/config.{ending}" for folder in ("", "static/", "public/") for ending in ("yml", "yaml")
)
_FORMS = {"multiple_folders": "{lang}/{path}", "multiple_files": "{path}.{lang}"}


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what a site with Decap holds; ``None`` where the folder is no such site."""
    values = configuration(root, *_CONFIGURATIONS)
    if values is None or not isinstance(values.get("collections"), list):
        return None
    i18n = values.get("i18n")
    stated = i18n.get("locales") if isinstance(i18n, dict) else None
    codes = [str(code) for code in stated] if isinstance(stated, list) and stated else ["en"]
    main = str(i18n.get("default_locale") or codes[0]) if isinstance(i18n, dict) else codes[0]
    codes = [main, *(code for code in codes if code != main)]
    structure = str(i18n.get("structure", "")) if isinstance(i18n, dict) else ""
    collections: list[Collection] = []
    every = values["collections"]
    for one in every if isinstance(every, list) else ():
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("folder"), str):
            made = _folder(one, files, codes, structure)
            collections += [made] if made is not None else []
        elif isinstance(one.get("files"), list):
            collections += _files(one, files)
    made_codes, lang_map = spelled(codes)
    return Site("Decap", made_codes, collections, lang_map)


def _folder(one: Mapping[str, RawValue], files: list[str], codes: list[str], structure: str) -> Collection | None:
    folder = str(one["folder"]).strip("/")
    mine = [file for file in files if file.startswith(f"{folder}/")]
    own = one.get("i18n")
    if isinstance(own, dict):
        structure = str(own.get("structure", structure))
    many = len(codes) > 1 and bool(own)
    form = _FORMS.get(structure, "{path}") if many else "{path}"
    single = many and structure == "single_file"
    notes = ["all languages in one file: read each field with 'from: \"{lang}.title\"'"] if single else []
    bundled = str(one.get("path") or "").endswith("/index")
    source = [
        f"{literal(folder)}/{form.replace('{path}', '{path}/index') if bundled else form}.{ending}"
        for ending in endings(mine)
    ]
    if not mine:
        return None
    return Collection(str(one.get("name") or folder), source, mine, multilingual=many, notes=notes)


def _files(one: Mapping[str, RawValue], files: list[str]) -> list[Collection]:
    """Return an object for each file of a collection of single files."""
    made = []
    stated = one.get("files")
    for single in stated if isinstance(stated, list) else ():
        path = str(single.get("file") or "").strip("/") if isinstance(single, dict) else ""
        if path in files and format_of(path.rpartition(".")[2]) is not None:
            name = str(single.get("name") or path) if isinstance(single, dict) else path
            made.append(Collection(name, [literal(path)], [path], kind=ApiKind.OBJECT))
    return made


DECAP = Generator(name="Decap", known_by=_CONFIGURATIONS, edits=True, read=_read)
