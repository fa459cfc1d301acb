"""Write a configuration of Decap CMS or Sveltia CMS from a workspace's definitions, and tell what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from snapshots.definitions.model import ApiSource, Definitions
from snapshots.documents.document import ContentDocument, Format
from snapshots.documents.read import read_documents
from snapshots.editing.collection_folders import Folder, NoFolder, editor_format, folders_of, usual_extension
from snapshots.editing.editors import Editor
from snapshots.editing.repository import Repository
from snapshots.editing.widgets import EditorTarget, Widgets, in_all_languages, title_key
from snapshots.model import Api, ApiKind
from snapshots.problems import Problems
from snapshots.sources.listing import SourceFile, scan

_LOOKED_AT: Final = 200
"""Files of an API whose content is looked at for how values are written."""
_LOCALE: Final = re.compile(r"[a-zA-Z_-]{2,10}")
"""The languages that Decap CMS takes."""


class EditorConfig(msgspec.Struct, frozen=True):
    """A configuration, and what a person should know about it."""

    document: dict[str, Any]
    warnings: list[str]


FoundDocument: TypeAlias = tuple[str, ContentDocument]
"""A document, and the path of its file."""


class _Made(msgspec.Struct):
    """One collection on the way."""

    api: Api
    files: list[SourceFile]
    documents: list[FoundDocument]
    is_markdown: bool
    collection: dict[str, Any]
    parts: list[dict[str, Any]]
    """The collection itself, or its files: what gets the fields."""
    is_root_list: bool = False


def editor_config(root: Path, definitions: Definitions, repository: Repository, editor: Editor) -> EditorConfig:
    """Return the configuration for the workspace at ``root``: one collection an API, or one a language or folder.

    Content is looked at to see how files are named and how images are written. Raises nothing: what the editor cannot
    edit is left out, and told.
    """
    return _Writer(root, definitions, repository, editor).config()


class _Writer:
    def __init__(self, root: Path, definitions: Definitions, repository: Repository, editor: Editor) -> None:
        self._root, self._definitions, self._repository, self._editor = root, definitions, repository, editor
        self._languages = tuple(self._usable(definitions.workspace.languages))
        self._warnings: list[str] = []

    def config(self) -> EditorConfig:
        workspace, files = self._definitions.workspace, scan(self._root, self._definitions, Problems())
        self._warn_of_languages()
        made: list[_Made] = []
        for api in workspace.apis:
            mine = [file for file in files if file.api == api.uid]
            made += self._object(api, mine) if api.kind is ApiKind.OBJECT else self._list(api, mine)
        targets = self._targets(made)
        for one in made:
            self._fill(one, targets)
        document: dict[str, Any] = {"backend": self._backend()}
        if self._editor is Editor.DECAP:
            document["local_backend"] = True
        if len(self._languages) > 1:
            document["i18n"] = {
                "structure": "multiple_files",
                "locales": list(self._languages),
                "default_locale": self._languages[0],
            }
            if self._editor is Editor.SVELTIA:
                # Without it a new entry can only be saved with all its translations.
                document["i18n"]["initial_locales"] = "default"
        if self._editor is Editor.SVELTIA:
            document["output"] = {"omit_empty_optional_fields": True}
        document |= {"media_folder": f"{self._repository.folder}content/media", "public_folder": "/content/media"}
        document["slug"] = {"encoding": "ascii", "clean_accents": True}
        document["collections"] = [one.collection for one in made]
        if not made:
            self._warnings.append("There is nothing that the editor could edit.")
        return EditorConfig(document, list(dict.fromkeys(self._warnings)))

    def _usable(self, languages: Sequence[str]) -> Iterator[str]:
        return (lang for lang in languages if self._editor is Editor.SVELTIA or _LOCALE.fullmatch(lang))

    def _warn_of_languages(self) -> None:
        languages = self._definitions.workspace.languages
        if missing := [lang for lang in languages if lang not in self._languages]:
            self._warnings.append(f"Decap CMS takes no languages with digits: {', '.join(missing)} cannot be edited.")

    def _backend(self) -> dict[str, Any]:
        found = self._repository
        branch = {"branch": found.branch} if found.branch is not None else {}
        if found.service is None or found.name is None:
            self._warnings.append(
                "No repository on GitHub, GitLab or Bitbucket is known for this workspace: fill in `backend`."
            )
            return {"name": "git-gateway" if self._editor is Editor.DECAP else "github", **self._unknown(), **branch}
        return {"name": found.service, "repo": found.name, **branch}

    def _unknown(self) -> dict[str, str]:
        return {} if self._editor is Editor.DECAP else {"repo": "owner/name"}

    def _object(self, api: Api, files: list[SourceFile]) -> Iterator[_Made]:
        """One collection with a file for each language."""
        usable = [file for file in files if not file.draft and file.format is not Format.JSONL]
        if not usable:
            self._warnings.append(f"{api.endpoint} has no file yet: write one, and print the configuration again.")
            return
        main = self._definitions.workspace.main_language
        parts = []
        for file in usable:
            lang = file.lang or main
            label = api.name if len(usable) == 1 else f"{api.name} ({lang})"
            extension = file.path.rpartition(".")[2]
            parts.append(
                {
                    "name": f"{api.endpoint}-{lang}",
                    "label": label,
                    "file": self._repository.folder + file.path,
                    "format": editor_format(extension),
                    "media_folder": "images",
                    "public_folder": "images",
                }
            )
        collection = {"name": api.endpoint, "label": api.name, "files": parts}
        documents = self._documents(usable, None)
        yield _Made(api, usable, documents, usable[0].format is Format.MARKDOWN, collection, parts)

    def _list(self, api: Api, files: list[SourceFile]) -> Iterator[_Made]:
        source = self._definitions.sources[api.uid]
        mine = [file for file in files if not file.draft]
        documents = self._documents(mine, source.collection)
        if source.collection is not None or any(file.format is Format.JSONL for file in mine):
            self._warnings.append(
                f"{api.endpoint}: the editor cannot edit many entries in one file ({mine[0].path if mine else 'from'})."
            )
            return
        if any(document.item is not None for _, document in documents):
            yield from self._root_lists(api, mine, documents)
            return
        try:
            folders = list(folders_of(api, source, self._languages))
        except NoFolder as error:
            self._warnings.append(f"{api.endpoint}: the editor cannot name its files: {error}.")
            return
        for number, folder in enumerate(folders):
            inside = [file for file in mine if file.path.startswith(f"{folder.folder}/")]
            yield self._folder(api, source, folder, inside or mine, documents, number)

    def _root_lists(self, api: Api, files: list[SourceFile], documents: list[FoundDocument]) -> Iterator[_Made]:
        """Files that are lists of entries, which Sveltia CMS can edit."""
        if self._editor is Editor.DECAP:
            where = _some([file.path for file in files])
            self._warnings.append(
                f"{api.endpoint}: Decap CMS cannot edit a list of entries in one file ({where}): "
                "give each entry a file, or use --editor sveltia."
            )
            return
        parts: list[dict[str, Any]] = []
        for file in files:
            file_settings = {
                "file": self._repository.folder + file.path,
                "format": editor_format(file.path.rpartition(".")[2]),
            }
            parts.append({"name": file.name, "label": file.path.rpartition("/")[2], **file_settings})
        collection = {"name": api.endpoint, "label": api.name, "files": parts}
        yield _Made(api, files, documents, is_markdown=False, collection=collection, parts=parts, is_root_list=True)

    def _folder(
        self,
        api: Api,
        source: ApiSource,
        folder: Folder,
        files: list[SourceFile],
        documents: list[FoundDocument],
        number: int,
    ) -> _Made:
        extension = usual_extension(files, source.fields.values())
        others = [file.path for file in files if not file.path.endswith(f".{extension}")]
        if others:
            self._warnings.append(f"{api.endpoint}: only .{extension} files can be edited, not {_some(others)}.")
        if folder.is_deep or any(
            "/" in file.path.removeprefix(f"{folder.folder}/")
            for file in files
            if folder.path is None and folder.languages != "folders"
        ):
            self._warnings.append(
                f"{api.endpoint}: the editor shows files directly in {folder.folder}, not those in folders below."
            )
        suffix = f"-{folder.lang}" if folder.lang is not None and len(self._languages) > 1 and api.multilingual else ""
        suffix += f"-{number + 1}" if number and not suffix else ""
        label = f"{api.name} ({folder.lang})" if suffix and folder.lang else api.name
        collection: dict[str, Any] = {
            "name": f"{api.endpoint}{suffix}",
            "label": label,
            "folder": self._repository.folder + folder.folder,
            "create": True,
            "extension": extension,
            "format": editor_format(extension),
            "slug": folder.slug,
            **self._media(folder),
        }
        if folder.path is not None:
            collection["path"] = folder.path
        if folder.languages is not None:
            collection["i18n"] = self._i18n(api, folder, files)
        return _Made(api, files, documents, editor_format(extension) == "frontmatter", collection, [collection])

    def _media(self, folder: Folder) -> dict[str, str]:
        """Return where pictures are saved: in a folder ``images`` beside the entry.

        Sveltia CMS deletes whatever is in and below an entry's folder with the entry, if pictures are saved relative to
        it; so where entries share a folder, it gets the whole path.
        """
        if self._editor is Editor.DECAP or folder.path is not None:
            return {"media_folder": "images", "public_folder": "images"}
        relative = "../images" if folder.languages == "folders" else "./images"
        return {"media_folder": f"/{self._repository.folder}{folder.folder}/images", "public_folder": relative}

    def _i18n(self, api: Api, folder: Folder, files: list[SourceFile]) -> Any:
        if folder.languages == "folders":
            return {"structure": "multiple_folders"}
        unnamed = [file.path for file in files if file.lang is None]
        if not unnamed:
            return True
        if self._editor is Editor.SVELTIA:
            return {"structure": "multiple_files", "omit_default_locale_from_file_path": True}
        main, first = self._languages[0], unnamed[0]
        stem, _, extension = first.rpartition(".")
        self._warnings.append(
            f"{api.endpoint}: Decap CMS finds files with the language in their names only; {_some(unnamed)} "
            f"{'has' if len(unnamed) == 1 else 'have'} none. Rename them, as in "
            f"`git mv {first} {stem}.{main}.{extension}`, or use --editor sveltia."
        )
        return True

    def _documents(self, files: Sequence[SourceFile], collection: tuple[str, ...] | None) -> list[FoundDocument]:
        found: list[FoundDocument] = []
        for file in files[:_LOOKED_AT]:
            if file.format is not Format.JSONL:
                data = (self._root / file.path).read_bytes()
                documents = read_documents(file.path, file.format, data, Problems(), collection)
                found += [(file.path, document) for document in documents]
        return found

    def _targets(self, made: list[_Made]) -> Mapping[str, EditorTarget]:
        """Where entries of each API are found, where the name of a file is the ID."""
        found: dict[str, EditorTarget] = {}
        for one in made:
            source = self._definitions.sources[one.api.uid]
            title = title_key(one.api, source)
            if one.api.kind is not ApiKind.LIST or title is None or source.id is not None or one.api.uid in found:
                continue
            name = one.collection["name"]
            if one.is_root_list:
                if len(one.parts) == 1:
                    found[one.api.uid] = EditorTarget(
                        name, f"{one.api.endpoint}.*.id", f"{one.api.endpoint}.*.{title}", one.parts[0]["name"]
                    )
            elif one.collection["slug"] == "{{slug}}" and "path" not in one.collection:
                found[one.api.uid] = EditorTarget(name, "{{slug}}", title)
        return found

    def _warner(self, api: Api) -> Callable[[str], None]:
        return lambda text: self._warnings.append(f"{api.endpoint}: {text}")

    def _fill(self, one: _Made, targets: Mapping[str, EditorTarget]) -> None:
        """Give a collection its fields."""
        source = self._definitions.sources[one.api.uid]
        widgets = Widgets(self._editor, targets, one.documents, is_markdown=one.is_markdown, warn=self._warner(one.api))
        fields = widgets.of_api(one.api, source.fields, dict(source.meta), self._definitions.launches)
        if one.is_root_list:
            id_field = {"name": "id", "label": "ID", "widget": "string"}
            languages = {"name": "lang", "label": "Language", "widget": "select", "options": list(self._languages)}
            own = [id_field, *([{**languages, "required": False}] if one.api.multilingual else []), *fields]
            fields = [{"name": one.api.endpoint, "label": one.api.name, "widget": "list", "root": True, "fields": own}]
        if "folder" in one.collection:
            title = title_key(one.api, source)
            if title is not None:
                one.collection["identifier_field"] = title
            else:
                self._warnings.append(
                    f"{one.api.endpoint} has no text field to name new files by: they cannot be created."
                )
                one.collection["create"] = False
        if "i18n" in one.collection:
            fields = [in_all_languages(field) for field in fields]
        for part in one.parts:
            part["fields"] = fields


def _some(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
