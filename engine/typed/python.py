"""A workspace's definitions → Python: types of its entries and queries, and a function that writes a query."""

from __future__ import annotations

import json
from collections.abc import Iterable
from keyword import iskeyword
from typing import Final

from msgspec import UNSET

from engine.typed.names import (
    JSON,
    Conditions,
    conditions,
    expands,
    one_line,
    order_keys,
    selectable,
    targets_of,
    type_names,
    used_records,
    uses_json,
)
from snapshots.model import (
    ARRAY_TYPES,
    GROUP_KIND,
    REFERENCE_TYPES,
    Api,
    ApiKind,
    Field,
    FieldPath,
    FieldType,
    Group,
    Record,
    ValueKind,
    Workspace,
    field_path,
)

_SHARED: Final = '''\
E = TypeVar("E")


class Languages(TypedDict):
    """Which language came, and which are live, the main one first."""

    current: Language
    available: list[Language]


class Meta(TypedDict):
    """What every entry has. Dates are ISO 8601 in UTC with milliseconds."""

    id: str
    createdAt: str
    updatedAt: str
    publishedAt: str
    _langs: NotRequired[Languages]


class MetaPart(TypedDict, total=False):
    """What an entry may have that `fields` selected some of; `id` is always there."""

    id: Required[str]
    createdAt: str
    updatedAt: str
    publishedAt: str
    _langs: Languages


class ListOf(TypedDict, Generic[E]):
    """A list response."""

    contents: list[E]
    totalCount: int
    offset: int
    limit: int
'''
_JSON: Final = f"""\
# Any JSON.
{JSON} = bool | float | str | list["{JSON}"] | dict[str, "{JSON}"] | None
"""
_SEARCH: Final = '''\
def search(query: Mapping[str, object]) -> str:
    """A query as it follows the `?` of a URL."""
    return "&".join(f"{name}={_written(name, value)}" for name, value in query.items())


def _written(name: str, value: object) -> str:
    if name == "filters" and isinstance(value, tuple):
        joiner, conditions = value
        # Brackets as they are, values encoded: so a value may hold anything.
        return f"[{joiner}]".join(
            f"{field}[{operator}]" + "".join(map(_text, rest)) for field, operator, *rest in conditions
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return _text(value)


def _text(value: object) -> str:
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe="")
'''
_RESERVED: Final = frozenset(
    (
        "Languages",
        "Language",
        "Meta",
        "MetaPart",
        "ListOf",
        "E",
        "Depth",
        "Literal",
        "Generic",
        "Mapping",
        "NotRequired",
        "Required",
        "Sequence",
        "TypedDict",
        "TypeVar",
        "None",
        "True",
        "False",
    )
)
_VALUES: Final = {"text": "str", "number": "float", "boolean": "bool"}
_DEPTHS: Final = {0: "Depth0", 1: "", 2: "Depth2"}
"""Depth → the ending of its type's name; the default depth has the plain name."""


def python_types(workspace: Workspace) -> str:
    """The source text of a module for Python 3.11 and later; it passes mypy's strict mode and needs no other."""
    records, json_type = used_records(workspace), [_JSON] if uses_json(workspace) else []
    names = type_names(workspace, _RESERVED.union((record.name for record in records), [JSON] if json_type else []))
    parts = [
        f'"""The workspace "{workspace.id}" as types, printed by `cms types python`. Print it again when its APIs '
        "change.\n\nOf each API there is a type for what `depth` gives: the plain name for 1, the default, and others "
        'for 0\nand 2; and one ending on Part for what `fields` selects, or a draft holds."""\n',
        "from __future__ import annotations\n",
        "from collections.abc import Mapping, Sequence\n"
        "from typing import Generic, Literal, NotRequired, Required, TypedDict, TypeVar\n"
        "from urllib.parse import quote\n",
        f"Language = {_literal(workspace.languages)}\n",
        _SHARED,
        *map(_record, records),
        *json_type,
    ]
    types = _Types(workspace, names)
    for api in workspace.apis:
        parts += [types.entry(api, depth) for depth in _DEPTHS]
        parts.append(types.part(api))
        parts.append(_query(api, names[api.uid]))
    return "\n".join([*parts, *types.others.values(), _SEARCH])


def _record(record: Record) -> str:
    lines = ["", f"class {record.name}(TypedDict):"]
    for member in record.members:
        kind = "str" if member.unit is None else "int"
        lines.append(f"    {member.name}: {kind if member.required else f'{kind} | None'}")
    return "\n".join([*lines, ""])


class _Types:
    """The types of entries; those they need besides gather in ``others``, by name."""

    def __init__(self, workspace: Workspace, names: dict[str, str]) -> None:
        self._workspace, self._names = workspace, names
        self.others: dict[str, str] = {}

    def entry(self, api: Api, depth: int) -> str:
        what = "An entry" if api.kind is ApiKind.LIST else "The item"
        name = self._names[api.uid]
        members = [(path.field, self._type(name, path, depth)) for path in map(field_path, api.fields)]
        text = f"{what} of {_comment(api.name)} (`{api.endpoint}`) at depth {depth}."
        return _class(name + _DEPTHS[depth], "Meta", text, members)

    def part(self, api: Api) -> str:
        """An entry at any depth, with fields left out, or without a value that a published one has."""
        name = self._names[api.uid]
        members = [(path.field, self._type(name, path, None)) for path in map(field_path, api.fields)]
        text = f"What `fields` selects of {_comment(api.name)}, or a draft."
        return _class(f"{name}Part", "MetaPart, total=False", text, members)

    def _type(self, owner: str, path: FieldPath, depth: int | None) -> str:
        """The type of a field's value in the API whose type is ``owner``; at depth ``None``, of a part of an entry."""
        depths = _DEPTHS if depth is None else [depth]
        found = list(
            dict.fromkeys(one for each in depths for one in self._alternatives(owner, path, each, depth is None))
        )
        field = path.field
        expanded = field.type in REFERENCE_TYPES and len(found) > 1
        never = field.type in ARRAY_TYPES or (depth is not None and field.required and not expanded)
        return " | ".join(found if never or found == [JSON] else [*found, "None"])

    def _alternatives(self, owner: str, path: FieldPath, depth: int, is_part: bool) -> list[str]:
        """The types of a value at a depth, if there is one."""
        field = path.field
        if field.type in REFERENCE_TYPES:
            found = self._entries(field, depth)
        elif field.type.facts.kind is ValueKind.GROUP:
            found = [self._group(owner, path, kind, depth, is_part) for kind in field.kinds]
        else:
            found = [_one(field)]
        return [f"list[{' | '.join(found)}]"] if field.type in ARRAY_TYPES else found

    def _entries(self, field: Field, depth: int) -> list[str]:
        """What one reference is delivered as."""
        found = []
        for target in targets_of(field, self._workspace) if depth else ():
            name = f"{self._names[target.uid]}{_DEPTHS[depth - 1]}"
            if field.targets is not UNSET:
                text = f"{_comment(target.name)} where a field refers to several APIs."
                members = [(Field("_api", "The endpoint", FieldType.TEXT), _literal([target.endpoint]))]
                name = self._declared(f"{name}_referred", name, text, members)
            found.append(name)
        return [*found, "str"]

    def _group(self, owner: str, path: FieldPath, kind: Group, depth: int, is_part: bool) -> str:
        members = [(one.field, self._type(owner, one, None if is_part else depth)) for one in path.of_kind(kind)]
        steps = [*path.steps, *([kind.id] if kind.id else [])]
        if kind.id:
            members.insert(0, (Field(GROUP_KIND, "The kind", FieldType.TEXT), _literal([kind.id])))
        is_same = not is_part and not expands(path.of_kind(kind), self._workspace)
        name = owner if is_same else f"{owner}{'Part' if is_part else _DEPTHS[depth]}"
        return self._declared("_".join((name, *steps)), "TypedDict", f"A group of `{path.name}`.", members)

    def _declared(self, name: str, base: str, comment: str, members: list[tuple[Field, str]]) -> str:
        """The name of a type of its own; those that say the same are one. Names of APIs' types have no underscore."""
        while self.others.setdefault(name, made := _class(name, base, comment, members)) != made:
            name += "_"
        return name


def _class(name: str, base: str, comment: str, members: list[tuple[Field, str]]) -> str:
    lines = ["", f"class {name}({base}):", f'    """{comment}"""', ""]
    if any(iskeyword(field.id) for field, _ in members):
        # A field may be called `class`, which no statement can declare.
        _, _, total = base.partition(", ")
        lines = ["", f"_{name} = TypedDict(", f'    "_{name}",', "    {"]
        lines += [f'        "{field.id}": {text!r},  # {_comment(field.name)}' for field, text in members]
        lines += ["    },", *([f"    {total},"] if total else []), ")", "", ""]
        head, _, _ = base.partition(", ")
        inherited = ", ".join([*([] if head == "TypedDict" else [head]), f"_{name}", *([total] if total else [])])
        return "\n".join([*lines, f"class {name}({inherited}):", f'    """{comment}"""', ""])
    for field, text in members:
        lines += [f"    # {_comment(field.name)}", f"    {field.id}: {text}"]
    return "\n".join([*lines, ""])


def _one(field: Field) -> str:
    """The type of one value of a field that refers to no entry."""
    facts = field.type.facts
    match facts.kind:
        case ValueKind.NUMBER:
            return "float"
        case ValueKind.BOOLEAN:
            return "bool"
        case ValueKind.OPTION if field.options:
            return _literal(field.options)
        case ValueKind.RECORD if facts.record is not None:
            return facts.record.name
        case ValueKind.JSON:
            return JSON
    return "str"


def _query(api: Api, name: str) -> str:
    lines = ["", f"{name}Field = {_literal(selectable(api))}"]
    query = [f"    fields: Sequence[{name}Field]"]
    if api.kind is ApiKind.LIST:
        keys = order_keys(api)
        lines += [
            f"{name}Order = {_literal([*keys, *(f'-{key}' for key in keys)])}",
            f"{name}Condition = (",
            *(f"    {'| ' if number else ''}{_condition(one)}" for number, one in enumerate(conditions(api))),
            ")",
        ]
        query += [
            "    limit: int",
            "    offset: int",
            f"    orders: Sequence[{name}Order]",
            f'    filters: tuple[Literal["and", "or"], Sequence[{name}Condition]]',
            "    q: str",
        ]
    return "\n".join(
        (
            *lines,
            "",
            "",
            f"class {name}Query(TypedDict, total=False):",
            f'    """What {_comment(api.name)} can be asked for with; `search` writes it."""',
            "",
            *query,
            "    depth: Literal[0, 1, 2]",
            "    lang: Language",
            "    lang_fallback: bool",
            '    include: Literal["_langs"]',
            "    draftKey: str",
            "",
        )
    )


def _condition(one: Conditions) -> str:
    value = f", {_VALUES[one.value]}" if one.value is not None else ""
    return f"tuple[{_literal(one.fields)}, {_literal(one.operators)}{value}]"


def _literal(values: Iterable[str]) -> str:
    return f"Literal[{', '.join(json.dumps(value, ensure_ascii=False) for value in values)}]"


def _comment(text: str) -> str:
    return one_line(text).replace("\\", "/").replace('"', "'")
