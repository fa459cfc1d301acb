"""What a site's folder holds → workspace.yaml and apis/*.yaml, with comments where a person has to decide."""

from __future__ import annotations

import json
import re
from pathlib import Path

from snapshots.adoption.fields import Inferred, InferredField, infer
from snapshots.adoption.sites import Collection, Site
from snapshots.definitions.uids import new_uid

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def definitions_for(root: Path, site: Site, workspace_id: str) -> dict[str, str]:
    """Return the definition files of the site at ``root``: path → text."""
    head = [
        f"# Written by looking at a {site.kind} site. Lines with TODO are to be decided by a person.",
        f"id: {_text(workspace_id)}",
        f"languages: {_list(site.languages)}  # TODO: the first is the main language",
        "timezone: UTC  # TODO: dates without an offset are in it",
    ]
    if site.lang_map:
        head.append(f"lang_map: {{{', '.join(f'{_text(a)}: {_text(b)}' for a, b in site.lang_map.items())}}}")
    files = {"workspace.yaml": "\n".join(head) + "\n"}
    taken: set[str] = set()
    for collection in site.collections:
        endpoint = _endpoint(collection.name, taken)
        taken.add(endpoint.lower())
        files[f"apis/{endpoint}.yaml"] = _api(endpoint, collection, infer(root, site, collection))
    return files


def _api(endpoint: str, collection: Collection, found: Inferred) -> str:
    lines = [f"uid: {new_uid()}  # never change it: keys are given access by it"]
    lines += [f"# TODO: {_line(note)}" for note in (*collection.notes, *found.notes)]
    lines += [f"name: {_text(collection.name)}", f"endpoint: {_text(endpoint)}", "kind: list"]
    if collection.multilingual:
        lines.append("multilingual: true")
    lines += ["source:", *(f"  - {_text(pattern)}" for pattern in collection.source)]
    if collection.exclude:
        lines += ["exclude:", *(f"  - {_text(pattern)}" for pattern in collection.exclude)]
    if collection.collection is not None:
        lines.append(f"from: {collection.collection}")
    if found.id is not None:
        lines.append(f"id: {_text(found.id)}")
    if found.meta:
        lines.append("meta:")
        lines += [f"  {name}: {'null' if key is None else _text(key)}" for name, key in found.meta.items()]
    fields = [_field(field) for field in found.fields]
    if found.has_body:
        fields.append("  - {id: body, type: richtext, from: $body}")
    has_any = any(field.lstrip().startswith("-") for field in fields)
    return "\n".join([*lines, "fields:" if has_any else "fields: []", *fields]) + "\n"


def _field(field: InferredField) -> str:
    note = f"  # TODO: {_line(field.note)}" if field.note else ""
    if field.type is None:
        return f"  # {{id: {field.id}, from: {_text(field.key)}}}{note}"
    source = "" if field.id == field.key else f", from: {_text(field.key)}"
    required = ", required: true" if field.required else ""
    return f"  - {{id: {_text(field.id)}, type: {field.type.value}{source}{required}}}{note}"


def _endpoint(name: str, taken: set[str]) -> str:
    made = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:60] or "content"
    number, endpoint = 2, made
    while endpoint.lower() in taken:
        number, endpoint = number + 1, f"{made}-{number}"
    return endpoint


def _list(values: list[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _line(note: str) -> str:
    """Return a note as it can stand in a comment."""
    return "".join(character if character.isprintable() else " " for character in note)


def _text(value: str) -> str:
    """Return a text as YAML reads it back."""
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())
