"""The configuration of a Hugo site: its files as one, its languages, and the folders that it mounts as content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from snapshots.adoption.languages import is_tag
from snapshots.adoption.reading import configuration
from snapshots.documents.document import RawValue
from snapshots.documents.publicity import plain_truth

ENDINGS: Final = ("toml", "yaml", "yml", "json")
_STEMS: Final = ("hugo", "config")
_ENVIRONMENTS: Final = ("_default", "production")
"""The folders below ``config/`` that ``hugo`` reads, the later over the earlier."""
FILES: Final = tuple(
    f"{folder}{stem}.{ending}"
    for folder in ("", *(f"config/{one}/" for one in _ENVIRONMENTS))
    for stem in _STEMS
    for ending in ENDINGS
)
"""Every file that can be the main one."""
Values: TypeAlias = dict[str, RawValue]


class Mount(msgspec.Struct, frozen=True):
    """A folder whose files are content."""

    source: str
    """Relative to the site, with a slash at the end."""
    target: str = ""
    """The folder below the content as which it is read, with a slash at the end; or none."""
    lang: str = ""
    """The language of all its files; none where their names say it."""
    include: tuple[str, ...] = ()
    """Patterns of the only files that are read, relative to the folder; none for all."""
    exclude: tuple[str, ...] = ()


class Configuration(msgspec.Struct, frozen=True):
    """What the configuration of a site says of its content."""

    values: Values
    """By key in lower case."""
    languages: tuple[str, ...]
    """The main language first."""
    disabled: tuple[str, ...]
    """Languages in which no pages are made."""
    mounts: tuple[Mount, ...]
    main_is_known: bool
    """Whether a setting says what language texts are in where nothing names one."""
    elsewhere: tuple[str, ...]
    """Folders outside the site, and modules, that hold content too."""

    def names(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys of front matter, in lower case, that ``[frontmatter]`` reads a date from."""
        every = self.values.get("frontmatter")
        stated = every.get(key) if isinstance(every, dict) else None
        listed = stated if isinstance(stated, list) else [stated] if isinstance(stated, str) else list(default)
        lower = [str(one).lower() for one in listed]
        return tuple(dict.fromkeys(name for one in lower for name in (default if one == ":default" else (one,))))


def hugo_configuration(root: Path) -> Configuration | None:
    """Return the configuration of the Hugo site at ``root``; ``None`` where there is none."""
    values: Values = {}
    found = False
    for stem in _STEMS:
        whole = configuration(root, *(f"{stem}.{ending}" for ending in ENDINGS))
        if whole is not None:
            values, found = _lowered(whole), True
            break
    for environment in _ENVIRONMENTS:
        for path in sorted((root / "config" / environment).glob("*")):
            part = configuration(root, path.relative_to(root).as_posix()) if path.suffix[1:] in ENDINGS else None
            if part is not None and "." not in path.stem:
                found = True
                name = path.stem.lower()
                _merge(values, _lowered(part) if name in _STEMS else {name: _lowered(part)})
    return _configuration(values) if found else None


def _lowered(values: Mapping[str, RawValue]) -> Values:
    """Return a mapping with keys in lower case, as Hugo reads them; those of languages are codes, and stay."""

    def lowered(value: RawValue) -> RawValue:
        if isinstance(value, list):
            return [lowered(one) for one in value]
        return {key.lower(): lowered(one) for key, one in value.items()} if isinstance(value, dict) else value

    return {
        key.lower(): {code: lowered(one) for code, one in value.items()}
        if key.lower() == "languages" and isinstance(value, dict)
        else lowered(value)
        for key, value in values.items()
    }


def _merge(values: Values, more: Values) -> None:
    for key, value in more.items():
        there = values.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            _merge(there, value)
        else:
            values[key] = value


def _configuration(values: Values) -> Configuration:
    named_languages = values.get("languages")
    every = named_languages.items() if isinstance(named_languages, dict) else ()
    languages = {code: one for code, one in every if isinstance(one, dict)}
    listed = values.get("disablelanguages")
    named = {str(one).lower() for one in listed} if isinstance(listed, list) else set()
    disabled = tuple(
        code for code, settings in languages.items() if code.lower() in named or plain_truth(settings.get("disabled"))
    )
    there = [code for code in languages if code not in disabled]
    stated = str(values.get("languagecode") or values.get("locale") or "").partition("-")[0].lower()
    main = str(values.get("defaultcontentlanguage") or next(iter(there), stated if is_tag(stated) else "en"))
    codes = tuple(dict.fromkeys((*(code for code in there if code.lower() == main.lower()), *there))) or (main,)
    default = _folder(values.get("contentdir") or "content")
    folders = {code: _folder(one.get("contentdir") or default) for code, one in languages.items()}
    mounted = list(_mounted(values, codes))
    if not mounted and len(set(folders.values())) > 1:
        mounted = [Mount(folder, lang=code) for code, folder in folders.items()]
    if not mounted:
        mounted = [Mount(next(iter(folders.values()), default))]
    outside = [mount.source.rstrip("/") for mount in mounted if mount.source.startswith(("..", "/"))]
    inside = tuple(mount for mount in mounted if not mount.source.startswith(("..", "/")))
    is_known = "defaultcontentlanguage" in values or bool(languages) or is_tag(stated)
    return Configuration(values, codes, disabled, inside, is_known, (*outside, *_imported(values)))


def _folder(written: RawValue) -> str:
    name = str(written).removeprefix("./").rstrip("/")
    return f"{name}/" if name not in ("", ".") else ""


def _mounted(values: Values, codes: tuple[str, ...]) -> Iterator[Mount]:
    """Return the mounts of ``[module]`` that are content, most of them of one language."""
    module = values.get("module")
    mounts = module.get("mounts") if isinstance(module, dict) else None
    for one in mounts if isinstance(mounts, list) else ():
        if not isinstance(one, dict):
            continue
        target = str(one.get("target") or "").strip("/")
        if target.partition("/")[0] != "content":
            continue
        files = _texts(one.get("files"))
        excluded = (*_texts(one.get("excludefiles")), *(name[1:].strip() for name in files if name.startswith("!")))
        included = (*_texts(one.get("includefiles")), *(name for name in files if not name.startswith("!")))
        for lang in _languages(one, codes):
            yield Mount(
                _folder(one.get("source") or "content"), _folder(target.partition("/")[2]), lang, included, excluded
            )


def _languages(mount: Values, codes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the languages of a mount; an empty text where the names of its files say them."""
    lang = mount.get("lang")
    if isinstance(lang, str) and lang:
        return (lang if len(codes) > 1 or lang != codes[0] else "",)
    sites = mount.get("sites")
    matrix = sites.get("matrix") if isinstance(sites, dict) else None
    named = _texts(matrix.get("languages")) if isinstance(matrix, dict) else ()
    known = tuple(code for code in named if code in codes)
    return known if known and len(codes) > 1 else ("",)


def _imported(values: Values) -> Iterator[str]:
    """Return the modules that mount content of their own."""
    module = values.get("module")
    imports = module.get("imports") if isinstance(module, dict) else None
    for one in imports if isinstance(imports, list) else ():
        if not isinstance(one, dict):
            continue
        mounts = one.get("mounts")
        for mount in mounts if isinstance(mounts, list) else ():
            if isinstance(mount, dict) and str(mount.get("target") or "").startswith("content"):
                yield str(one.get("path"))


def _texts(value: RawValue) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(str, value))
    return (str(value),) if isinstance(value, str) and value else ()
