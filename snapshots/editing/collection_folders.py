"""Name the folders and files of an editor's collections after the places where an API's entries are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from snapshots.definitions.model import ApiSource
from snapshots.documents.document import Format, format_of
from snapshots.model import Api
from snapshots.sources.listing import SourceFile

_DATES: Final = {"year": "{{year}}", "month": "{{month}}", "day": "{{day}}"}
_NAMES: Final = ("{id}", "{name}", "{path}", "{slug}", "*")
_NO_EXTENSION: Final = re.compile(r"\.(?:[A-Za-z0-9]+|\*|\{[^{}]*\}|\[[^\]]*\])$")


class Folder(msgspec.Struct, frozen=True):
    """A folder that holds one file for each entry."""

    folder: str
    slug: str
    """The template of a new file's name."""
    path: str | None = None
    """The template of the way below the folder, where an entry has a folder of its own."""
    lang: str | None = None
    """The one language of the entries; ``None`` for that of ``languages``."""
    languages: str | None = None
    """``files``: the language stands before the extension, ``folders``: in the folder's last part."""
    is_deep: bool = False
    """True where entries may be in folders below, too."""

    @property
    def gives_id(self) -> bool:
        """Whether the name of the file alone is the entry's ID."""
        return self.slug == "{{slug}}" and self.path is None


class NoFolder(ValueError):
    """A pattern that no editor can follow. The message names the part."""


def folders_of(api: Api, source: ApiSource, languages: tuple[str, ...]) -> Iterator[Folder]:
    """Yield the folders of a list API's patterns. Raises ``NoFolder``."""
    spelled = {lang: written for written, lang in reversed(source.lang_map.items())}
    is_multilingual = api.multilingual and len(languages) > 1
    if not source.patterns:
        yield Folder(f"content/{api.endpoint}", "{{slug}}", languages="files" if is_multilingual else None)
        return
    for pattern in source.patterns:
        text = _NO_EXTENSION.sub("", pattern.replace("{lang?}", "{lang}"))
        *folders, name = text.split("/")
        if "{lang}" in folders and folders[-1] == "{lang}" and folders.count("{lang}") == 1 and not spelled:
            yield msgspec.structs.replace(_folder(folders[:-1], name), languages="folders" if is_multilingual else None)
        elif any("{lang}" in folder for folder in folders):
            for lang in languages if is_multilingual else languages[:1]:
                own = [folder.replace("{lang}", spelled.get(lang, lang)) for folder in folders]
                yield msgspec.structs.replace(_folder(own, name), lang=lang)
        elif name.endswith(".{lang}"):
            found = _folder(folders, name.removesuffix(".{lang}"))
            yield msgspec.structs.replace(found, languages="files" if is_multilingual else None)
        else:
            yield msgspec.structs.replace(_folder(folders, name), lang=languages[0])


def _folder(folders: list[str], name: str) -> Folder:
    fixed = [folder for folder in folders if not re.search(r"[{*?\[]", folder)]
    if folders[: len(fixed)] != fixed:
        raise NoFolder(f"a folder in the middle of {'/'.join([*folders, name])!r} is a placeholder")
    below = [folder for folder in folders[len(fixed) :] if folder != "**"]
    if not fixed:
        raise NoFolder(f"{'/'.join([*folders, name])!r} begins with a placeholder")
    is_deep = "**" in folders or "{path}" in name
    if not below:
        return Folder("/".join(fixed), _template(name), is_deep=is_deep)
    if len(below) > 1 or re.search(r"[{*?\[]", name):
        raise NoFolder(f"{'/'.join(below)!r} are folders of which an editor cannot know the names")
    return Folder("/".join(fixed), _template(below[0]), path=f"{{{{slug}}}}/{name}", is_deep=is_deep)


def _template(name: str) -> str:
    """A part of a pattern as an editor names new files by."""

    def written(found: re.Match[str]) -> str:
        part = found[0]
        if part in _NAMES:
            return "{{slug}}"
        if part[1:-1] in _DATES:
            return _DATES[part[1:-1]]
        raise NoFolder(f"nothing says what {part!r} is in the name of a new file")

    return re.sub(r"\{[^{}]*\}|\*|\[[^\]]*\]|\?", written, name)


def usual_extension(files: Iterable[SourceFile], expressions: Iterable[str]) -> str:
    """Return the extension that most files have; without files, that of Markdown where the API has a body."""
    counted = Counter(file.path.rpartition(".")[2] for file in files)
    return counted.most_common(1)[0][0] if counted else "md" if "$body" in expressions else "yaml"


def editor_format(extension: str) -> str:
    """Return the editors' word for the format of files with an extension."""
    formats = {Format.MARKDOWN: "frontmatter", Format.YAML: "yaml", Format.JSON: "json", Format.TOML: "toml"}
    found = format_of(extension)
    return formats.get(found, "yaml") if found is not None else "yaml"
