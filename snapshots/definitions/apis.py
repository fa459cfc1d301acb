"""Make an ``Api`` and its ``ApiSource`` of a well-formed API definition, checked against the workspace around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import UNSET

from snapshots.definitions.fields import Wrong, make_field
from snapshots.definitions.model import ApiSource, HiddenKey, WellFormed
from snapshots.definitions.names import RESERVED_COLUMNS, RESERVED_FIELDS, nearest
from snapshots.definitions.patterns import InvalidPattern, alternatives, parse_pattern
from snapshots.definitions.shapes import META_KEYS, ApiShape, FieldShape
from snapshots.definitions.workspace_facts import WorkspaceFacts
from snapshots.documents.document import FORMATS, SYSTEM_KEYS, ContentDocument, Format, format_of
from snapshots.documents.publicity import keeps_back_by_false, word_of
from snapshots.model import REFERENCE_TYPES, TEXT_TYPES, Api, ApiKind, Field, FieldType
from snapshots.problems import Problems

_RESERVED_FIELDS = {name.lower(): name for name in RESERVED_FIELDS}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_KEYS_ONLY = frozenset({"id", "lang", "draft", "draftKey"})
"""The members of ``meta`` that may be a key or empty, but no other expression."""
_VARIABLES = ("$body", "$heading", "$name", "$path")


def make_api(definition: WellFormed, around: WorkspaceFacts, problems: Problems) -> tuple[Api, ApiSource] | None:
    """Return the API and its sources; ``None``, with every problem reported, for a wrong definition."""
    file, document, shape = definition.file, definition.document, definition.shape
    found = Problems()

    def wrong(message: str, *where: str | int) -> None:
        found.error(file, document.line_of(*where), "definition", message)

    def doubtful(message: str, *where: str | int) -> None:
        found.warning(file, document.line_of(*where), "definition", message)

    parts = _check_patterns(shape, wrong) | ({"key", "value"} if shape.collection is not None else set())
    check_lang_map(file, document, shape.lang_map, around.workspace.languages, found)
    if shape.id is not None:
        if "{" not in shape.id:
            wrong(f"id {shape.id!r} names no part: write a template such as '{{name}}'", "id")
        for message in _expression_problems(shape.id, parts):
            wrong(message, "id")
    elif shape.id_map and "path" not in parts and shape.collection is None:
        wrong("id_map needs an 'id' template, and there is none", "id_map")
    if shape.collection is not None and shape.kind == ApiKind.OBJECT:
        wrong("from: an object has one item, so it cannot be read from a collection", "from")
    for name, expression in shape.meta.items():
        if name not in META_KEYS and not expression and word_of(name) is not None:
            continue
        if name not in META_KEYS:
            wrong(
                f"meta: unknown key {name!r}; known are {', '.join(META_KEYS)}{nearest(name, META_KEYS)}", "meta", name
            )
        elif name in _KEYS_ONLY and ("{" in expression or expression.startswith("$")):
            hint = "; write the template under 'id'" if name == "id" else ""
            wrong(f"meta.{name}: expected a key, got {expression!r}{hint}", "meta", name)
            continue
        elif name == "draft" and keeps_back_by_false(expression.rpartition(".")[2]):
            wrong(
                f"meta.draft: true under {expression!r} means that everybody may see a version, and under draft that "
                f"nobody may. Write 'meta: {{status: {expression}}}'",
                "meta",
                name,
            )
        for message in _expression_problems(expression, parts):
            wrong(f"meta.{name}: {message}", "meta", name)
    for at, one in enumerate(shape.hidden):
        if "{" in one.key or one.key.startswith("$"):
            wrong(f"hidden.{at}: expected a key, got {one.key!r}", "hidden", at)
    fields = tuple(_fields(shape, around, parts, wrong, doubtful))
    problems.merge(found)
    if found.errors:
        return None
    api = Api(
        shape.uid,
        shape.name or shape.endpoint,
        shape.endpoint,
        ApiKind(shape.kind),
        shape.multilingual,
        fields,
        UNSET if shape.preview_url is None else shape.preview_url,
        shape.description or UNSET,
    )
    lang_map = {**around.workspace.lang_map, **shape.lang_map}
    implied_id = None
    if shape.id is None and shape.collection is not None:
        implied_id = "{key}"
    elif shape.id is None and "path" in parts and "id" not in parts:
        implied_id = "{path}"
    source = ApiSource(
        tuple(shape.source),
        shape.id or implied_id,
        tuple(shape.meta.items()),
        lang_map,
        shape.id_map,
        _expressions(shape),
        tuple(shape.exclude),
        implied_id is not None,
        None if shape.collection is None else tuple(shape.collection.split(".")[1:]),
        tuple(field.id for field in shape.fields if field.by == "path"),
        shape.page_url,
        tuple(HiddenKey(one.key, tuple(one.unless)) for one in shape.hidden),
    )
    return api, source


def check_lang_map(
    file: str, document: ContentDocument, lang_map: dict[str, str], languages: list[str], problems: Problems
) -> None:
    """Report the members of a ``lang_map`` that lead to no language or can stand in no file name."""
    for written, lang in lang_map.items():
        where = document.line_of("lang_map", written)
        if lang not in languages:
            message = (
                f"lang_map leads {written!r} to {lang!r}, which is not one of the languages {', '.join(languages)}"
            )
            problems.error(file, where, "definition", message + nearest(lang, languages))
        elif "/" in written or not written:
            problems.error(file, where, "definition", f"lang_map: {written!r} cannot stand in a file name")


def _check_patterns(shape: ApiShape, wrong: Wrong) -> set[str]:
    """Report wrong patterns; return the named parts of the others."""
    parts = {"name"}
    for index, text in enumerate(shape.source):
        try:
            for form in alternatives(text):
                parts |= set(parse_pattern(form).names)
        except InvalidPattern as error:
            wrong(str(error), "source", index)
            continue
        extension = text.rpartition("/")[2].rpartition(".")[2] if "." in text.rpartition("/")[2] else ""
        if re.fullmatch(r"[A-Za-z0-9]+", extension) and format_of(extension) is None:
            wrong(f"{text!r}: content is read from {', '.join(FORMATS)} files, not from {extension}", "source", index)
    for index, text in enumerate(shape.exclude):
        try:
            parse_pattern(text)
        except InvalidPattern as error:
            wrong(str(error), "exclude", index)
    return parts


def _expression_problems(text: str, parts: set[str]) -> Iterator[str]:
    """Return the faults of an expression of ``from``, ``meta`` or ``id``, each as a message."""
    if text.startswith("$"):
        named = {f"${part}" for part in parts - {"id", "lang"}} | set(_VARIABLES)
        if text not in named:
            yield f"{text!r} is nothing that can be read: there are {', '.join(sorted(named))}{nearest(text, named)}"
        return
    for one in text.split(" || ") if " || " in text else ():
        if one.startswith("$"):
            yield from _expression_problems(one, parts)
    left = _PLACEHOLDER.sub("", text)
    if "{" in left or "}" in left:
        yield f"{text!r} has a brace without its other half"
    for inside in _PLACEHOLDER.findall(text):
        if not all(inside.split("|")) or any(c.isspace() for c in inside):
            yield f"{text!r}: {{{inside}}} must name one part or key, or several with | between them"


def _fields(shape: ApiShape, around: WorkspaceFacts, parts: set[str], wrong: Wrong, doubtful: Wrong) -> Iterator[Field]:
    taken: dict[str, str] = dict.fromkeys(RESERVED_COLUMNS, "a column of every snapshot")
    for index, field in enumerate(shape.fields):
        kind = FieldType(field.type)
        for name, what in _columns_of(field, kind):
            if name in taken:
                wrong(
                    f"the field {field.id!r} needs the name {name!r}, which is {taken[name]}: rename it",
                    "fields",
                    index,
                    "id",
                )
            taken[name] = what
        reserved = field.id.lower() in _RESERVED_FIELDS
        if reserved:
            wrong(
                f"no field can be called {field.id!r}: every entry has {_RESERVED_FIELDS[field.id.lower()]!r}",
                "fields",
                index,
                "id",
            )
        key = "id" if field.source is None else "from"
        expression = field.id if field.source is None else field.source
        for message in _expression_problems(expression, parts):
            wrong(f"{field.id}: {message}", "fields", index, key)
        if expression in SYSTEM_KEYS and expression not in shape.meta and not reserved:
            doubtful(
                f"the field {field.id!r} reads the key {expression!r}, which also has a meaning of its own",
                "fields",
                index,
                key,
            )
        _check_former_key(shape, field, index, expression, wrong)
        yield make_field(field, ("fields", index), around, wrong, doubtful)


def _check_former_key(shape: ApiShape, field: FieldShape, index: int, expression: str, wrong: Wrong) -> None:
    """Report a ``renamed_from`` that is no key of its own beside the key that the field is read from."""
    former = field.renamed_from
    if former is None:
        return
    key = field.id if expression == "$body" else expression
    others = {one.source or one.id for one in shape.fields} | {"$body"} | set(shape.meta.values())
    others |= {other.renamed_from for at, other in enumerate(shape.fields) if at != index and other.renamed_from}
    others |= {one.key for one in shape.hidden}
    if key.startswith("$") or "{" in key:
        message = f"{field.id}: only a field that is read from a key can have a renamed_from, and it has 'from: {key}'"
    elif key.rpartition(".")[0] != former.rpartition(".")[0]:
        message = f"{field.id}: {former!r} must stand beside {key!r}, in the same mapping"
    elif former in others or former == key or former in SYSTEM_KEYS:
        message = f"{field.id} cannot be renamed from {former!r}: that key has a meaning of its own here"
    else:
        return
    wrong(message, "fields", index, "renamed_from")


def _columns_of(field: FieldShape, kind: FieldType) -> Iterator[tuple[str, str]]:
    """Return the column names that a field occupies in a snapshot and its reader, lower-cased, with descriptions."""
    name = field.id.lower()
    yield name, f"the field {field.id!r} already (case is ignored)"
    if kind in TEXT_TYPES:
        yield f"{name}__search", f"the search text of {field.id!r}"
    if kind in REFERENCE_TYPES:
        yield f"{name}__at", f"the positions of {field.id!r}"


def _expressions(shape: ApiShape) -> dict[str, str]:
    """Return the expressions by which fields' values are read, by field ID.

    The only richtext field of an API that may have Markdown files reads the text after the front matter, unless it
    or another field says otherwise.
    """
    richtexts = [field.id for field in shape.fields if field.type == FieldType.RICHTEXT]
    body_is_taken = any(field.source == "$body" for field in shape.fields)
    may_be_markdown = not shape.source or any(
        "." not in text.rpartition("/")[2]
        or text.endswith(("*", "}", "]", "?"))
        or format_of(text.rpartition(".")[2]) is Format.MARKDOWN
        for text in shape.source
    )
    result = {}
    for field in shape.fields:
        default = field.id
        if richtexts == [field.id] and may_be_markdown and not body_is_taken:
            default = "$body"
        result[field.id] = default if field.source is None else field.source
    return result
