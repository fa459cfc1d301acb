"""A workspace's definitions → TypeScript: types of its entries and queries, and a function that writes a query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from engine.typed.names import (
    JSON,
    Conditions,
    conditions,
    expands,
    lists,
    objects,
    one_line,
    order_keys,
    selectable,
    targets_of,
    type_names,
    used_records,
    uses_json,
)
from snapshots.model import GROUP_KIND, REFERENCE_TYPES, Api, ApiKind, Field, Group, Record, ValueKind, Workspace

_SHARED: Final = """\
/** How deep references are expanded: 0 gives IDs, 1 entries (the default), 2 the references inside those as well. */
export type Depth = 0 | 1 | 2;
/** The depth that is left inside a reference. */
export type Inside<D extends Depth> = D extends 2 ? 1 : 0;

/** What every entry has. */
export interface Meta {
  id: string;
  /** ISO 8601 in UTC with milliseconds, as all dates are. */
  createdAt: string;
  updatedAt: string;
  publishedAt: string;
  /** Only with `include=_langs`, and never inside a reference. */
  _langs?: Languages;
}
export interface Languages {
  current: Language;
  /** Those that are live, the main language first. */
  available: Language[];
}
/** The ID at depth 0. Deeper, the entry, `null` where it is not live, and the ID where the key may not read it. */
export type Reference<E, D extends Depth> = D extends 0 ? string | null : E | string | null;
/** IDs at depth 0. Deeper, entries, without those that are not live, and IDs where the key may not read them. */
export type References<E, D extends Depth> = D extends 0 ? string[] : (E | string)[];
/** A list response. */
export interface ListOf<E> {
  contents: E[];
  totalCount: number;
  offset: number;
  limit: number;
}
/** What `fields` leaves of an entry. */
export type Selected<E extends Meta, F extends keyof E> = Pick<E, F | "id" | "_langs">;
"""
_JSON: Final = f"""\
/** Any JSON. */
export type {JSON} = string | number | boolean | null | {JSON}[] | {{ [key: string]: {JSON} }};
"""
_QUERIES: Final = """\
/** What a single entry, or the item of an object API, can be asked for with. */
export interface EntryQuery<F extends string> {
  depth?: Depth;
  fields?: readonly F[];
  lang?: Language;
  lang_fallback?: boolean;
  include?: "_langs";
  draftKey?: string;
}
/** What a list can be asked for with. All conditions must hold, or any. */
export interface ListQuery<F extends string, O extends string, C> extends Omit<EntryQuery<F>, "draftKey"> {
  limit?: number;
  offset?: number;
  orders?: readonly (O | `-${O}`)[];
  filters?: { and: readonly C[] } | { or: readonly C[] };
  q?: string;
}

type Condition = readonly [field: string, operator: string, value?: string | number | boolean];
interface AnyQuery extends EntryQuery<string>, Omit<ListQuery<string, string, Condition>, keyof EntryQuery<string>> {}

type Filters = NonNullable<AnyQuery["filters"]>;

/** A query as it follows the `?` of a URL. */
export function search(query: AnyQuery): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query) as [keyof AnyQuery, AnyQuery[keyof AnyQuery]][]) {
    if (value === undefined) continue;
    const filters = name === "filters";
    parts.push(`${name}=${filters ? joined(value as Filters) : [value].flat().map(encoded).join(",")}`);
  }
  return parts.join("&");
}

function encoded(value: unknown): string {
  return encodeURIComponent(String(value));
}

function joined(filters: Filters): string {
  const [joiner, conditions] = "and" in filters ? ["[and]", filters.and] as const : ["[or]", filters.or] as const;
  // Brackets as they are, values encoded: so a value may hold anything.
  return conditions
    .map(([field, operator, value]) => `${field}[${operator}]${value === undefined ? "" : encoded(value)}`)
    .join(joiner);
}
"""
_RESERVED: Final = frozenset(
    (
        "Depth",
        "Inside",
        "Meta",
        "Languages",
        "Language",
        "Reference",
        "References",
        "ListOf",
        "Selected",
        "EntryQuery",
        "ListQuery",
        "Condition",
        "AnyQuery",
        "Filters",
        "Lists",
        "Objects",
        "Queries",
        "Object",
        "String",
        "Number",
        "Boolean",
        "Array",
        "Record",
        "Pick",
        "Omit",
        "NonNullable",
        "Readonly",
        "Date",
        "Map",
        "Set",
        "Promise",
        "Error",
        "Partial",
        "Required",
        "Exclude",
        "Extract",
        "Function",
        "Symbol",
        "URL",
        "Request",
        "Response",
    )
)
_VALUES: Final = {"text": "string", "number": "number", "boolean": "boolean"}


def typescript_types(workspace: Workspace) -> str:
    """The source text of a module; it compiles under ``--strict`` and needs no other."""
    records, json_type = used_records(workspace), [_JSON] if uses_json(workspace) else []
    names = type_names(workspace, _RESERVED.union((record.name for record in records), [JSON] if json_type else []))
    parts = [
        f"// The workspace {_literal(workspace.id)} as types, printed by `cms types typescript`. "
        "Print it again when its APIs change.\n",
        f"export type Language = {_union(workspace.languages)};\n",
        _SHARED,
        *map(_record, records),
        *json_type,
        *(_entry(api, names, workspace) for api in workspace.apis),
        _QUERIES,
        *(_query(api, names[api.uid]) for api in workspace.apis),
        _map("Lists", "Entries of list APIs, by endpoint.", lists(workspace), names, workspace),
        _map("Objects", "Items of object APIs, by endpoint.", objects(workspace), names, workspace),
        "/** Queries, by endpoint. */\nexport interface Queries {\n"
        + "".join(f"  {_literal(api.endpoint)}: {names[api.uid]}Query;\n" for api in workspace.apis)
        + "}\n",
    ]
    return "\n".join(parts)


def _record(record: Record) -> str:
    lines = [f"export interface {record.name} {{"]
    for member in record.members:
        kind = "string" if member.unit is None else "number"
        lines.append(f"  {member.name}: {kind if member.required else f'{kind} | null'};")
    return "\n".join([*lines, "}", ""])


def _entry(api: Api, names: dict[str, str], workspace: Workspace) -> str:
    what = "An entry" if api.kind is ApiKind.LIST else "The item"
    lines = [f"/** {what} of {_comment(api.name)}, `{api.endpoint}`. */"]
    # Compilers can be told to refuse an unused parameter.
    depth = "<D extends Depth = 1>" if expands(api.every_field(), workspace) else ""
    lines.append(f"export interface {names[api.uid]}{depth} extends Meta {{")
    return "\n".join([*lines, *_members(api.fields, names, workspace, "  "), "}", ""])


def _type(field: Field, names: dict[str, str], workspace: Workspace, indent: str = "  ") -> str:
    if field.type in REFERENCE_TYPES:
        return _reference(field, names, workspace)
    one = _one(field, names, workspace, indent)
    if field.type.facts.is_array:
        return f"({one})[]" if "|" in one else f"{one}[]"
    return _nullable(one, field)


def _reference(field: Field, names: dict[str, str], workspace: Workspace) -> str:
    targets = targets_of(field, workspace)
    if not targets:
        return "string[]" if field.type.facts.is_array else _nullable("string", field)
    kind = "References" if field.type.facts.is_array else "Reference"
    entries = []
    for target in targets:
        entry = names[target.uid] + ("<Inside<D>>" if expands(target.every_field(), workspace) else "")
        entries.append(entry if field.targets is UNSET else f"({entry} & {{ _api: {_literal(target.endpoint)} }})")
    return f"{kind}<{' | '.join(entries)}, D>"


def _one(field: Field, names: dict[str, str], workspace: Workspace, indent: str) -> str:
    """The type of one value of a field that refers to no entry."""
    facts = field.type.facts
    match facts.kind:
        case ValueKind.NUMBER:
            return "number"
        case ValueKind.BOOLEAN:
            return "boolean"
        case ValueKind.OPTION if field.options:
            return _union(field.options)
        case ValueKind.RECORD if facts.record is not None:
            return facts.record.name
        case ValueKind.GROUP:
            return " | ".join(_group(kind, names, workspace, indent) for kind in field.kinds)
        case ValueKind.JSON:
            return JSON
    return "string"


def _group(kind: Group, names: dict[str, str], workspace: Workspace, indent: str) -> str:
    lines = ["{"]
    if kind.id:
        lines += [f"{indent}  /** {_comment(kind.name)} */", f"{indent}  {GROUP_KIND}: {_literal(kind.id)};"]
    lines += _members(kind.fields, names, workspace, f"{indent}  ")
    return "\n".join([*lines, f"{indent}}}"])


def _members(fields: Iterable[Field], names: dict[str, str], workspace: Workspace, indent: str) -> Iterator[str]:
    for field in fields:
        yield f"{indent}/** {_comment(field.name)} */"
        yield f"{indent}{field.id}: {_type(field, names, workspace, indent)};"


def _nullable(text: str, field: Field) -> str:
    return text if field.required or text == JSON else f"{text} | null"


def _query(api: Api, name: str) -> str:
    fields = f"export type {name}Field = {_union(selectable(api))};"
    if api.kind is ApiKind.OBJECT:
        return f"{fields}\nexport type {name}Query = EntryQuery<{name}Field>;\n"
    return "\n".join(
        (
            fields,
            f"export type {name}Order = {_union(order_keys(api))};",
            f"export type {name}Condition =",
            *(f"  | {_condition(one)}" for one in conditions(api)),
            "  ;",
            f"export type {name}Query = ListQuery<{name}Field, {name}Order, {name}Condition>;",
            f"export type {name}EntryQuery = EntryQuery<{name}Field>;",
            "",
        )
    )


def _condition(one: Conditions) -> str:
    parts = [f"field: {_union(one.fields)}", f"operator: {_union(one.operators)}"]
    if one.value is not None:
        parts.append(f"value: {_VALUES[one.value]}")
    return f"readonly [{', '.join(parts)}]"


def _map(name: str, comment: str, apis: Iterable[Api], names: dict[str, str], workspace: Workspace) -> str:
    ends = {api.endpoint: names[api.uid] + ("<D>" if expands(api.every_field(), workspace) else "") for api in apis}
    members = "".join(f"  {_literal(endpoint)}: {kind};\n" for endpoint, kind in ends.items())
    depth = "<D extends Depth = 1>" if any(kind.endswith("<D>") for kind in ends.values()) else ""
    return f"/** {comment} */\nexport interface {name}{depth} {{\n{members}}}\n"


def _union(values: Iterable[str]) -> str:
    return " | ".join(map(_literal, values))


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    return one_line(text).replace("*/", "*\u200b/")
