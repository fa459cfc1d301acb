"""Write workspace.yaml and apis/*.yaml for a site's folder, with comments where a person has to decide."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from snapshots.adoption.fields import Inferred, InferredField, infer
from snapshots.adoption.references import entry_names
from snapshots.adoption.seen import read_once
from snapshots.adoption.shortcodes import PAGE_URLS
from snapshots.adoption.site import Collection, Site
from snapshots.compile.links import NAMED
from snapshots.definitions.model import HiddenKey
from snapshots.definitions.uids import new_uid

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LEFT_OUT = 20
"""Folders with files that are left out, of those that are named."""
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


class Definition(msgspec.Struct):
    """The definition of an API, before it is written."""

    endpoint: str
    uid: str
    collection: Collection
    found: Inferred

    @property
    def file(self) -> str:
        return f"apis/{self.endpoint}.yaml"


def definitions_for(root: Path, site: Site) -> list[Definition]:
    """Return the definitions of the APIs of the site at ``root``; add to it what replaces the tags in its texts."""
    taken: set[str] = set()
    endpoints = []
    for collection in site.collections:
        endpoints.append(_endpoint(collection.name, taken))
        taken.add(endpoints[-1].lower())
    by_endpoint = dict(zip(endpoints, site.collections, strict=True))
    entries = entry_names(root, by_endpoint)
    seen = read_once(root, site)
    named = set[str]().union(*(one.tags for one in seen))
    site.shortcodes = {name: rule for name, rule in site.tags.items() if name in named}
    return [
        Definition(endpoint, new_uid(), collection, infer(site, collection, one, entries))
        for (endpoint, collection), one in zip(by_endpoint.items(), seen, strict=True)
    ]


def texts_of(
    site: Site, definitions: Iterable[Definition], workspace_id: str, todo: Callable[[str], list[str]] = lambda _: []
) -> dict[str, str]:
    """Return the texts of the definition files of a site, by path.

    ``todo`` returns the comments on the decisions of a file that nobody made.
    """
    article = "an" if site.kind[0] in "AEO" else "a"
    head = [
        f"# Written by looking at {article} {site.kind} site. Comments with TODO mark decisions for you to make.",
        *_kept_back(site),
        *(f"# {_line(fact)}" for fact in dict.fromkeys(site.facts)),
        *_left_out(site),
        *(f"# {_line(note)}" for note in site.notes),
        *map(_line, todo("workspace.yaml")),
        f"id: {_text(workspace_id)}",
        f"languages: {_list(site.languages)}  # the first is the main language",
        f"timezone: {_text(site.timezone or 'UTC')}",
    ]
    if site.lang_map:
        head.append(f"lang_map: {{{', '.join(f'{_text(a)}: {_text(b)}' for a, b in site.lang_map.items())}}}")
    if site.files_at_root or site.missing_assets:
        folders = [f"folders: {_list(list(site.files_at_root))}"] if site.files_at_root else []
        missing = ["missing: warn"] if site.missing_assets else []
        one, many = "1 file that a text names is", f"{site.missing_assets:,} files that texts name are"
        count = one if site.missing_assets == 1 else many
        told = f"  # {count} not there: 'cms check' lists them" if site.missing_assets else ""
        head.append(f"assets: {{{', '.join([*folders, *missing])}}}{told}")
    if site.shortcodes:
        head += _shortcodes(site.shortcodes)
    files = {"workspace.yaml": "\n".join(head) + "\n"}
    return files | {one.file: _api(one, todo(one.file)) for one in definitions}


def _shortcodes(rules: Mapping[str, str]) -> Iterator[str]:
    links = [name for name, rule in rules.items() if rule.startswith(NAMED)]
    if links:
        yield f"# {_line(PAGE_URLS.format(' and '.join(links)))}"
    yield "shortcodes:"
    for name, rule in rules.items():
        yield f"  {_text(name)}: {f'{{replace: {_text(rule)}}}' if rule else 'drop'}"


def _left_out(site: Site) -> Iterator[str]:
    """Return comments about the content files that are in no collection."""
    counts = Counter(file.partition("/")[0] for file in site.left_out)
    for folder, count in list(counts.items())[:_LEFT_OUT]:
        files = f"1 file in {folder}/ is" if count == 1 else f"{count} files in {folder}/ are"
        example = next(file for file in site.left_out if file.startswith(f"{folder}/"))
        yield f"# {_line(files)} in no API so far, such as {_line(example)}"


def _kept_back(site: Site) -> Iterator[str]:
    """Return comments about the files of which the generator makes no pages, by reason."""
    by_reason: dict[str, list[str]] = {}
    for file, (_, why) in site.kept_back.items():
        by_reason.setdefault(why, []).append(file)
    for why, files in list(by_reason.items())[:_LEFT_OUT]:
        count = "1 file is" if len(files) == 1 else f"{len(files):,} files are"
        yield f"# {count} left out, such as {_line(files[0])}: {_line(why)}"


def _api(definition: Definition, todo: list[str]) -> str:
    collection, found, endpoint = definition.collection, definition.found, definition.endpoint
    lines = [f"uid: {definition.uid}  # never change it: API keys refer to it"]
    lines += [*map(_line, todo)]
    lines += [f"# {_line(note)}" for note in (*collection.notes, *found.notes)]
    lines += [f"name: {_text(collection.name)}", f"endpoint: {_text(endpoint)}", f"kind: {collection.kind.value}"]
    if collection.multilingual:
        lines.append("multilingual: true")
    lines += ["source:", *(f"  - {_text(pattern)}" for pattern in collection.source)]
    if collection.exclude:
        lines += ["exclude:", *_excludes(collection.exclude)]
    if collection.collection is not None:
        lines.append(f"from: {collection.collection}")
    if found.id is not None:
        lines.append(f"id: {_text(found.id)}")
    if found.meta:
        lines.append("meta:")
        lines += [f"  {name}: {'null' if key is None else _text(key)}" for name, key in found.meta.items()]
    if found.hidden:
        lines.append(f"hidden: [{', '.join(map(_hidden, found.hidden))}]")
    fields = [_field(field) for field in found.fields]
    if found.has_body:
        fields.append("  - {id: body, type: richtext, from: $body}")
    has_any = any(field.lstrip().startswith("-") for field in fields)
    return "\n".join([*lines, "fields:" if has_any else "fields: []", *fields]) + "\n"


def _excludes(exclude: Mapping[str, str]) -> Iterator[str]:
    for pattern, why in exclude.items():
        yield f"  - {_text(pattern)}{f'  # {_line(why)}' if why else ''}"


def _hidden(one: HiddenKey) -> str:
    return f"{{key: {_text(one.key)}, unless: {_list(list(one.unless))}}}" if one.unless else _text(one.key)


def _field(field: InferredField) -> str:
    note = f"  # {_line(field.note)}" if field.note else ""
    if field.type is None:
        return f"  # {{id: {field.id}, from: {_text(field.key)}}}{note}"
    source = "" if field.id == field.key else f", from: {_text(field.key)}"
    return f"  - {{id: {_text(field.id)}, {_facts(field, source)}}}{note}"


def _facts(field: InferredField, source: str = "") -> str:
    """Return all that a definition says of a field but its ID, as YAML in braces."""
    assert field.type is not None  # or it stands in a comment
    api = "" if field.api is None else f", api: {_text(field.api)}"
    inside = ", ".join(f"{{id: {_text(one.id)}, {_facts(one)}}}" for one in field.fields)
    fields = f", fields: [{inside}]" if inside else ""
    return f"type: {field.type.value}{source}{api}{fields}{', required: true' if field.required else ''}"


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
