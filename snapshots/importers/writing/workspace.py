"""Write imported content as the files of a workspace, one for each language version."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from snapshots.documents.publicity import is_for_everybody, is_truth
from snapshots.importers.losses import Losses
from snapshots.importers.model import ASSET_BASE, ApiPlan, FieldPlan, Imported, ImportedVersion
from snapshots.importers.names import characters, digest, entry_id, languages
from snapshots.importers.writing.definitions import api_text, key_of, settle, workspace_text
from snapshots.importers.writing.rich_text import RichTexts
from snapshots.importers.writing.values import Values, instant
from snapshots.importers.writing.yaml_text import document_text
from snapshots.model import GROUP_KIND, ApiKind, FieldType, Status
from snapshots.times import format_datetime

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of a content file that are read."""

_Key = tuple[str, str, str, bool]
"""Endpoint, ID, language, and whether it is a draft."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class WrittenWorkspace(msgspec.Struct):
    """The content that an import wrote."""

    versions: dict[str, int]
    """The number of language versions, by endpoint, in the order of the definitions."""
    languages: list[str]


class WorkspaceWriter:
    """Writes a workspace into the folder ``root``. ``fallback`` (UTC ms) dates what has no date at all."""

    def __init__(self, root: Path, imported: Imported, losses: Losses, fallback: int) -> None:
        settle(imported.apis, losses)
        imported.languages = languages(imported.languages)
        imported.name = " ".join(characters(imported.name).split())
        self._root, self._imported, self._losses = root, imported, losses
        self._apis = {api.endpoint: api for api in imported.apis}
        self._texts = RichTexts(imported.address, losses, imported.classes)
        self._values = Values(self._texts, losses, has_empty_texts=imported.has_empty_texts)
        exported = instant(imported.exported)
        self._fallback = fallback if exported is None else exported
        self._names: set[str] = set()
        self._done: dict[_Key, tuple[bytes, Path]] = {}

    def write(self, workspace_id: str, kind: str) -> WrittenWorkspace:
        """Write all versions, then the definitions. Raises ``OSError``."""
        for version in self._imported.versions:
            self._write(version)
        self._drop_equal_drafts()
        counts = dict.fromkeys(self._apis, 0)
        for endpoint, *_ in self._done:
            counts[endpoint] += 1
        (self._root / "apis").mkdir(exist_ok=True)
        for api in self._imported.apis:
            self._new(self._root / f"apis/{api.endpoint}.yaml", api_text(api, kind))
        texts = self._texts
        text = workspace_text(self._imported, workspace_id, kind, sorted(texts.hosts), sorted(texts.classes))
        self._new(self._root / "workspace.yaml", text)
        return WrittenWorkspace(counts, self._imported.languages)

    def _write(self, version: ImportedVersion) -> None:
        api = self._apis[version.endpoint]
        made_id = api.endpoint if api.kind is ApiKind.OBJECT else entry_id(version.id)
        main = self._imported.languages[0]
        lang = version.lang or main
        where = f"{api.endpoint}/{made_id}{'' if lang == main else f'.{lang}'}{'.draft' if version.is_draft else ''}"
        if api.kind is ApiKind.LIST and made_id != version.id:
            why = f"IDs have letters, digits, - and _ only: {version.id[:60]!r} is now {made_id}"
            self._losses.add(version.where or where, f"an ID of {api.endpoint}", why, scope=where)
        key = (api.endpoint, made_id, lang, version.is_draft)
        if lang not in self._imported.languages or key in self._done:
            why = "it appears twice" if key in self._done else f"the export does not list the language {lang!r}"
            self._losses.add(version.where or where, f"a language version of {api.endpoint}", f"left out: {why}")
            return
        api.multilingual = api.multilingual or lang != main
        path, up = self._path(api, made_id, lang, main, version.is_draft)
        body = self._markdown_body(api, version, where, up)
        fields = [field for field in api.fields if body is None or field.type is not FieldType.RICHTEXT]
        given = version.values if body is None else {k: v for k, v in version.values.items() if k != body[0]}
        values = self._values.made(fields, given, where, api.endpoint, up)
        if not version.is_draft and version.status is not Status.DRAFT:
            held = {**values, body[0]: body[1]} if body else values
            self._relax(api.fields, held, where, api.endpoint)
            if not version.is_draft:
                self._keep_back(api, values, where)
        document = {**self._meta(version, where), **{key_of(name): value for name, value in values.items()}}
        text, extension = document_text(document)
        if body is not None:
            text, extension = f"---\n{text}---\n{body[1]}", "md"
        if len(text) > MAX_FILE_BYTES or len(text.encode()) > MAX_FILE_BYTES:
            self._losses.add(
                where, f"a language version of {api.endpoint}", f"it has more than {MAX_FILE_BYTES:,} bytes"
            )
            return
        path = path.with_name(f"{path.name}.{extension}")
        self._new(path, text)
        self._done[key] = blake2b(_encode([values, body]), digest_size=16).digest(), path

    def _path(self, api: ApiPlan, made_id: str, lang: str, main: str, is_draft: bool) -> tuple[Path, str]:
        """Return the path of a version's file without its extension, and the way from there to the workspace."""
        name = f"{made_id}{'' if lang == main else f'.{lang}'}{'.draft' if is_draft else ''}"
        folder = f"content/{api.endpoint}"
        if f"{folder}/{name}".lower() in self._names:  # many file systems take names that differ in case for one
            folder = f"{folder}/{digest(made_id)}"
        self._names.add(f"{folder}/{name}".lower())
        return self._root / folder / name, "../" * (folder.count("/") + 1)

    def _markdown_body(self, api: ApiPlan, version: ImportedVersion, where: str, up: str) -> tuple[str, str] | None:
        """Return the field of the text below the front matter, and the text, where a version is a Markdown file.

        ``up`` leads from the file to the workspace.
        """
        rich = [field for field in api.fields if field.type is FieldType.RICHTEXT]
        if len(rich) != 1 or not rich[0].markdown:
            return None
        text = version.values.get(rich[0].id)
        if not isinstance(text, str) or not text.strip():
            return None
        made = self._texts.markdown(text, f"{where}: {rich[0].id}", f"{api.endpoint}.{rich[0].id}")
        if made is None:
            return None
        made = made.replace(f"]({ASSET_BASE}", f"]({up}")
        return rich[0].id, made if made.endswith("\n") else f"{made}\n"

    def _meta(self, version: ImportedVersion, where: str) -> dict[str, Any]:
        """Return the keys that say what a version is. There always are dates, so that nothing becomes 1970."""
        start, end = instant(version.publish_start), instant(version.publish_end)
        created, updated, published = (instant(one) for one in (version.created, version.updated, version.published))
        status = version.status
        if status is Status.SCHEDULED and start is None:
            self._losses.add(where, "a schedule", "the export does not say when it begins: it is now a draft")
            status = Status.DRAFT
        if end is not None and end <= (start if start is not None else end - 1):
            self._losses.add(where, "the end of a period", "it is not after the beginning")
            end = None
        known = [one for one in (created, updated, published) if one is not None]
        if created is None:
            created = min(known, default=self._fallback)
        meta: dict[str, Any] = {} if status is Status.PUBLISHED else {"status": status.value}
        meta["createdAt"] = format_datetime(created)
        meta["updatedAt"] = format_datetime(created if updated is None else updated)
        if published is not None:
            meta["publishedAt"] = format_datetime(published)
        meta |= {
            name: format_datetime(at) for name, at in (("publishStart", start), ("publishEnd", end)) if at is not None
        }
        if version.draft_key is not None:
            meta["draftKey"] = version.draft_key
        return meta

    def _keep_back(self, api: ApiPlan, values: Mapping[str, Any], where: str) -> None:
        """Have an API leave out a version that may not be for everybody, by a field that true or false says it in."""
        for name, value in values.items():
            if is_truth(name) and isinstance(value, bool | int | str) and not is_for_everybody(name, value):
                key = key_of(name)
                api.hidden += [key] if key not in api.hidden else []
                why = (
                    f"{name!r} may mean that it is not for everybody, so 'hidden' in apis/{api.endpoint}.yaml leaves "
                    "it out: take it out there if it means something else"
                )
                self._losses.add(where, f"a published language version of {api.endpoint}", why, scope=name)

    def _relax(self, fields: list[FieldPlan], values: Mapping[str, Any], where: str, scope: str) -> None:
        """Make fields optional that a published version has no value for."""
        for field in fields:
            value = values.get(field.id)
            if field.required and value in (None, "", []):
                field.required = False
                why = "it is required, but published content has no value for it: here it is not required"
                self._losses.add(where, f"the rule of {scope}.{field.id}", why)
            for kind in field.groups:
                for item in value if isinstance(value, list) else [value]:
                    if isinstance(item, Mapping) and item.get(GROUP_KIND, "") == kind.id:
                        self._relax(kind.fields, item, where, f"{scope}.{field.id}")

    def _drop_equal_drafts(self) -> None:
        """Remove unpublished changes that change nothing."""
        for key in [key for key in self._done if key[3]]:
            published = self._done.get((*key[:3], False))
            if published is not None and published[0] == self._done[key][0]:
                self._done.pop(key)[1].unlink()

    def _new(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
