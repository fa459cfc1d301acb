"""The rows and files of a Directus template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snapshots.importers.export import Export
from snapshots.importers.reading.json_items import document, members
from snapshots.importers.reading.shapes import mappings, text

_NAME = re.compile(r"[^/\\\0\ud800-\udfff]{1,60}")


class ExportRows:
    """Reads the rows of collections, and knows the uploaded files."""

    def __init__(self, export: Export, root: Path) -> None:
        self._export, self._root = export, root
        path = root / "files.json"
        found = mappings(document(path)) if path.is_file() else []
        self._files = {text(one.get("id")): one for one in found}

    def _path(self, collection: str) -> Path:
        return self._root / "content" / f"{collection}.json"

    def of(self, collection: str) -> Iterator[Mapping[str, Any]]:
        """Return the rows of a collection, one after the other; the one row of a singleton."""
        path = self._path(collection)
        if not _NAME.fullmatch(collection) or not path.is_file():
            return
        single: dict[str, Any] = {}
        for key, value in members(path):
            if not key and isinstance(value, Mapping):
                yield value
            elif key:
                single[key] = value
        if single:
            whole = document(path)
            yield whole if isinstance(whole, Mapping) else {}

    def is_image(self, wanted: str) -> bool:
        """Return whether a file is an image."""
        return text(self._files.get(wanted, {}).get("type")).startswith("image/")

    def record(self, wanted: Any, where: str) -> dict[str, Any] | None:
        """Return the address of a file and its facts; ``None``, and a loss, where the template does not know it."""
        number = text(wanted.get("id")) if isinstance(wanted, Mapping) else text(wanted)
        file = self._files.get(number)
        if file is None:
            self._export.losses.add(where, "a picture or file", "the template does not know it")
            return None
        size = text(file.get("filesize"))
        return {
            "url": self._address(number, file, where),
            "width": file.get("width"),
            "height": file.get("height"),
            "alt": file.get("description") or file.get("title"),
            "fileSize": int(size) if size.isdecimal() and len(size) < 16 else None,
        }

    def address(self, wanted: str) -> str | None:
        """Return the address of the copy of a file that a rich text names."""
        file = self._files.get(wanted)
        return None if file is None else self._address(wanted, file, f"file {wanted}")

    def _address(self, wanted: str, file: Mapping[str, Any], where: str) -> str:
        url, name = f"/assets/{wanted}", text(file.get("filename_disk"))
        made = url
        if name and "/" not in name:
            shown = text(file.get("filename_download")) or name
            made = self._export.copies.address([self._root / "assets" / name], self._root, shown, url, where)
        if made == url:
            why = "it is relative to the server of Directus: with --assets the template's files are copied"
            self._export.losses.add(where, "the address of a file", why)
        return made
