"""The files of a microCMS export: schemas and contents, by the names that microCMS or a person gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from snapshots.importers.losses import Losses, Unreadable
from snapshots.importers.reading.csv_rows import columns, rows
from snapshots.importers.reading.json_items import document, members
from snapshots.importers.reading.shapes import listed, mapping, mappings, text
from snapshots.model import ApiKind

OWN: Final = frozenset({"id", "createdAt", "updatedAt", "publishedAt", "revisedAt", "closedAt"})
OF_STATE: Final = frozenset({"status", "draftKey", "reservationTime", "createdBy", "updatedBy", "customStatus"})
ENVELOPE: Final = frozenset({"contents", "totalCount", "offset", "limit"})

_SCHEMA: Final = ".schema.json"
_TIME: Final = r"[-_][0-9][0-9T:_Z.-]{5,}"
_EXPORTED_SCHEMA: Final = re.compile(rf"api-(.+?){_TIME}\.json")
_EXPORTED_CSV: Final = re.compile(rf"(?:api-|contents?-)?(.+?)(?:{_TIME})?\.csv")
_ID_COLUMN: Final = re.compile(r"id|コンテンツ ?ID.*|content ?id.*", re.IGNORECASE)
_STATES: Final = {
    "公開中": "PUBLISH",
    "下書き": "DRAFT",
    "下書き中": "DRAFT",
    "公開中かつ下書き中": "PUBLISH_AND_DRAFT",
    "公開終了": "CLOSED",
}
"""States as the management screen has them."""
_OTHER_COLUMN: Final = re.compile(r"[,\n]")


class ApiFiles(msgspec.Struct):
    """The files of an API."""

    name: str
    schema: Path
    contents: Path | None = None
    drafts: Path | None = None


def api_files(folder: Path, losses: Losses) -> list[ApiFiles]:
    """Return the files of every API whose schema is in a folder, those that are there. Raises ``Unreadable``."""
    if not folder.is_dir():
        raise Unreadable(f"{folder} is not a folder. Put <endpoint>.json and <endpoint>.schema.json into one.")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".csv"))
    found: dict[str, ApiFiles] = {}
    left = []
    for path in files:
        exported = _EXPORTED_SCHEMA.fullmatch(path.name)
        if path.name.endswith(_SCHEMA):
            name = path.name.removesuffix(_SCHEMA)
        elif exported is not None and _is_schema(path):
            name = exported[1]
        else:
            left.append(path)
            continue
        if name in found:  # sorted by time
            losses.add(found[name].schema.name, "a file", f"{path.name} is a newer schema of the same API")
        found[name] = ApiFiles(name, path)
    if not found:
        raise Unreadable(
            f"{folder} has no <endpoint>.schema.json, and no api-<endpoint>-<time>.json as microCMS exports it. Save "
            "the schema of every API there."
        )
    for path in left:
        _add(path, found, losses)
    return list(found.values())


def _add(path: Path, found: Mapping[str, ApiFiles], losses: Losses) -> None:
    """Note that a file has the contents of an API."""
    if path.suffix == ".csv":
        named = _EXPORTED_CSV.fullmatch(path.name)
        files = found.get(path.stem) or found.get(named[1] if named else "")
        if files is not None and files.contents is None:
            files.contents = path
            return
        why = f"there is no {path.stem}.schema.json beside it" if files is None else "another file has the contents"
        losses.add(path.name, "a file", why)
        return
    name = path.name.removesuffix(".json")
    if name in found:
        found[name].contents = path
    elif name.removesuffix(".drafts") in found:
        found[name.removesuffix(".drafts")].drafts = path
    else:
        losses.add(path.name, "a file", f"there is no {name}.schema.json beside it")


def _is_schema(path: Path) -> bool:
    return "apiFields" in mapping(document(path))


def contents_of(
    path: Path, kind: ApiKind, fields: Mapping[str, Mapping[str, Any]], losses: Losses
) -> Iterator[dict[str, Any]]:
    """Return the contents in a file as microCMS answers them. ``fields`` are those of the schema, by ID. Raises
    ``Unreadable``."""
    if path.suffix == ".csv":
        yield from _of_csv(path, fields, losses)
        return
    if kind is ApiKind.OBJECT:
        yield dict(mapping(document(path)))
        return
    count = total = 0
    for key, value in members(path):
        if key in ("contents", "") and isinstance(value, dict):
            count += 1
            yield value
        elif key == "totalCount" and isinstance(value, int):
            total = value
        elif key not in ENVELOPE or key == "contents":
            raise Unreadable(f"{path.name}: {key or 'an item'!r} is not expected: save what the API answers to a list.")
    if total > count:
        why = f"the answer has {count:,} of {total:,}: request the others too, and put all into one list"
        losses.add(path.name, "contents of an API", why, count=total - count)


def _of_csv(path: Path, fields: Mapping[str, Mapping[str, Any]], losses: Losses) -> Iterator[dict[str, Any]]:
    by_name = {text(field.get("name")): name for name, field in fields.items()}
    names = [
        name if name in fields or name in OWN else "id" if _ID_COLUMN.fullmatch(name) else by_name.get(name, name)
        for name in columns(path)
    ]
    has_states = "publishedAt" in names or ("status" in names and "status" not in fields)
    for line, cells in rows(path):
        content: dict[str, Any] = {}
        for name, cell in zip(names, cells, strict=False):
            if cell and name in fields:
                content[name] = _value(cell, fields[name])
            elif cell and name == "status":
                content[name] = [_STATES.get(cell.strip(), cell.strip())]
            elif cell:
                content[name] = cell
        content.setdefault("createdAt", None)
        if not has_states:
            why = "no column 'publishedAt' or 'status' says that they are published: they are drafts"
            losses.add(f"{path.name}:{line}", "the state of contents", why)
        if any(cells[len(names) :]):
            losses.add(f"{path.name}:{line}", "cells of a row", "the row has more cells than there are columns")
        if not content.get("id"):
            content["id"] = f"row-{line}"
            losses.add(f"{path.name}:{line}", "the ID of a content", "its cell is empty: it is named by its line")
        yield content


def _value(cell: str, field: Mapping[str, Any]) -> Any:
    """Return the value of a cell as microCMS answers it."""
    kind = text(field.get("kind"))
    if kind in ("custom", "repeater", "iframe", "media", "mediaList", "file", "relation", "relationList"):
        try:
            return msgspec.json.decode(cell)
        except msgspec.DecodeError:
            pass
    match kind:
        case "boolean":
            return {"true": True, "false": False}.get(cell.strip().lower(), cell)
        case "select":
            return [one.strip() for one in cell.split(",")] if field.get("multipleSelect") else [cell.strip()]
        case "media" | "file":
            return {"url": cell.strip()}
        case "mediaList":
            return [{"url": one.strip()} for one in _OTHER_COLUMN.split(cell) if one.strip()]
        case "relation" | "relationList":
            return [one.strip() for one in _OTHER_COLUMN.split(cell) if one.strip()]
    return cell


def referred(content: Mapping[str, Any], way: tuple[str, ...]) -> Iterator[str]:
    """Return the IDs at a field of a content, or at a field of its groups."""
    for value in listed(content.get(way[0])):
        if len(way) > 1:
            yield from (one for group in mappings([value]) for one in referred(group, way[1:]))
        else:
            made = text(value.get("id")) if isinstance(value, Mapping) else text(value)
            yield from [made] if made else []
