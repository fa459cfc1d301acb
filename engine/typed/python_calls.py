"""Write the classes of a client for Python: a property for each API, whose calls have types of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Final

from engine.typed.names import description, expands
from engine.typed.python import DEPTHS, EntryTypes, in_comment, literal, query_language
from snapshots.model import META_DATES, Api, ApiKind, Workspace

TYPE_VARIABLES: Final = """\
_Depth = TypeVar("_Depth", covariant=True)
_Of = TypeVar("_Of", contravariant=True)
"""
"""What the text of ``selected_type`` needs; an entry with more fields than a function wants can be given to it."""
_TAKEN: Final = {"at", "close", "last_answer", "pin", "property", "schema", "snapshot", "views"}
"""Names that no API has in a client, which has its own use for them."""
_DRAFT: Final = "Return the unpublished changes of {}, or {} never published; raises `NotFound` without any."


@dataclass(frozen=True, slots=True)
class _Method:
    """A method that reads published entries, as texts in Python."""

    name: str
    argument: str
    """Its own argument, before those of all methods."""
    options: str
    answer: str
    """The type of the answer, with ``{}`` for that of an entry."""
    about: str
    call: str


class Calls:
    """Writes the calls of a workspace's APIs; ``names`` are those of their types, by ``uid``."""

    def __init__(self, workspace: Workspace, names: dict[str, str], types: EntryTypes) -> None:
        self._workspace, self._names, self._types = workspace, names, types

    def text(self) -> Iterator[str]:
        """Yield the types of selected fields, the classes of the APIs' calls and the two clients."""
        yield TYPE_VARIABLES
        for api in self._workspace.apis:
            yield self._selected(api)
            yield self._class(api, is_async=False)
            yield self._class(api, is_async=True)
        yield self._client("Client", "_SyncReader", "Api", "Reads")
        yield self._client("AsyncClient", "_AsyncReader", "Async", "Reads, in asyncio,")

    def _client(self, name: str, base: str, ending: str, verb: str) -> str:
        lines = ["", f"class {name}({base}):", f'    """{verb} the workspace {self._workspace.id}."""', ""]
        taken = set(_TAKEN)
        for api in self._workspace.apis:
            place = re.sub("[^A-Za-z0-9]+", "_", api.endpoint).strip("_") or "api"
            place = f"api_{place}" if place[0].isdigit() else place
            while place in taken or iskeyword(place):
                place += "_"
            taken.add(place)
            made = f"_{self._names[api.uid]}{ending}"
            lines += ["    @property", f"    def {place}(self) -> {made}:", f'        """{_about(api)}"""']
            lines += [f"        return {made}(self)", ""]
        return "\n".join(lines)

    def _selected(self, api: Api) -> str:
        """The type of entries with chosen fields, and its variable for them."""
        name = self._names[api.uid]
        is_by_depth = self._expands(api)
        variables, first = ("_Depth, _Of", "Any, ") if is_by_depth else ("_Of", "")
        about = f"An entry of {in_comment(api.name)} with chosen fields; in fact a plain dictionary."
        lines = ["", f"class {name}Selected(dict[str, Any], Generic[{variables}]):", f'    """{about}"""', ""]
        for field, kind in {"id": "str", "_langs": "Languages"}.items():
            lines.append(f"    @overload{'  # type: ignore[override]' if field == 'id' else ''}")
            lines.append(f"    def __getitem__(self, key: {literal([field])}) -> {kind}: ...")
        of_fields = {**{date: {1: "str"} for date in META_DATES}, **self._types.selected(api)}
        for field, kinds in of_fields.items():
            for depth, kind in kinds.items():
                at = f"Literal[{depth}], " if len(kinds) > 1 else first
                own = f"{name}Selected[{at}{literal([field])}]"
                lines += ["    @overload", f"    def __getitem__(self: {own}, key: {literal([field])}) -> {kind}: ..."]
        lines += ["    def __getitem__(self, key: str) -> Any:", "        return super().__getitem__(key)", ""]
        return "\n".join([*lines, "", f'_{name}Of = TypeVar("_{name}Of", bound={name}Field)', ""])

    def _class(self, api: Api, *, is_async: bool) -> str:
        reader, ending = ("_AsyncReader", "Async") if is_async else ("_SyncReader", "Api")
        lines = ["", f"class _{self._names[api.uid]}{ending}:", f'    """{_about(api)}"""', ""]
        lines += [f"    def __init__(self, reader: {reader}) -> None:", "        self._reader = reader", ""]
        methods = self._of_list(api) if api.kind is ApiKind.LIST else self._of_object(api)
        for method in methods:
            lines += self._method(api, method, is_async)
        return "\n".join([*lines, *self._draft(api, is_async)])

    def _of_list(self, api: Api) -> Iterator[_Method]:
        name, language, endpoint = self._names[api.uid], query_language(api, self._workspace), json.dumps(api.endpoint)
        sorted_by = f"{language}, {name}Order, {name}Filters"
        yield _Method(
            "list", "", f"ListOptions[{sorted_by}]", "ListOf[{}]", "Return one page.", f"_get({endpoint}, query)"
        )
        about = "Yield every entry that matches, page by page. All pages come from one snapshot version and instant."
        yield _Method("all", "", f"AllOptions[{sorted_by}]", "Iterator[{}]", about, f"_all({endpoint}, query)")
        options, about = f"EntryOptions[{language}]", "Return one entry. Raises `NotFound` if it is not live."
        yield _Method("entry", "id: str, ", options, "{}", about, f"_get({_entry_path(api)}, query)")
        about = (
            "Return those entries that are live, in the order of their IDs; ten take one request. All come from one "
            "snapshot version and instant."
        )
        call = f"_entries({endpoint}, ids, query)"
        yield _Method("entries", "ids: Iterable[str], ", options, "builtins.list[{}]", about, call)

    def _of_object(self, api: Api) -> Iterator[_Method]:
        options, call = (
            f"EntryOptions[{query_language(api, self._workspace)}]",
            f"_get({json.dumps(api.endpoint)}, query)",
        )
        yield _Method("get", "", options, "{}", "Return the item. Raises `NotFound` if it is not live.", call)

    def _method(self, api: Api, method: _Method, is_async: bool) -> Iterator[str]:
        """Yield a method: a type for each depth, without ``fields``, with them, and with a list of them for mypy."""
        name = self._names[api.uid]
        is_awaited = is_async and method.name != "all"
        start = f"    {'async ' if is_awaited else ''}def {method.name}(self, {method.argument}"
        answer = method.answer.replace("Iterator", "AsyncIterator") if is_async else method.answer
        for fields, of in (
            ("", ""),
            (f"fields: builtins.list[_{name}Of] | tuple[_{name}Of, ...], ", f"_{name}Of"),
            (f"fields: Sequence[{name}Field], ", f"{name}Field"),
        ):
            for depth in (1, 0, 2) if self._expands(api) else (None,):
                entry = f"{name}{DEPTHS[1 if depth is None else depth]}"
                if fields:
                    entry = f"{name}Selected[{'' if depth is None else f'Literal[{depth}], '}{of}]"
                taken = f"{fields}depth: {_depth(depth)}, **query: Unpack[{method.options}]"
                yield from ("    @overload", f"{start}*, {taken}) -> {answer.format(entry)}: ...")
        yield f"{start}**query: Any) -> Any:"
        yield f'        """{method.about}"""'
        yield from (f"        return {'await ' if is_awaited else ''}self._reader.{method.call}", "")

    def _draft(self, api: Api, is_async: bool) -> Iterator[str]:
        name, options = self._names[api.uid], f"EntryOptions[{query_language(api, self._workspace)}]"
        is_list = api.kind is ApiKind.LIST
        argument, path = ("id: str, ", _entry_path(api)) if is_list else ("", json.dumps(api.endpoint))
        about = _DRAFT.format(*(("an entry", "an entry") if is_list else ("the item", "an item")))
        yield f"    {'async ' if is_async else ''}def draft("
        yield f"        self, {argument}draft_key: str, *, fields: Sequence[{name}Field] = (),"
        yield f"        depth: Literal[0, 1, 2] = 1, **query: Unpack[{options}]"
        yield f"    ) -> {name}Part:"
        yield f'        """{about}"""'
        yield '        asked = {"fields": fields, "depth": depth, **query}'
        yield f"        found: {name}Part = {'await ' if is_async else ''}self._reader._get({path}, asked, draft_key)"
        yield from ("        return found", "")

    def _expands(self, api: Api) -> bool:
        return expands(api.every_field(), self._workspace)


def _depth(depth: int | None) -> str:
    """The parameter of one depth; ``None`` is any, and 1 the default."""
    return "Literal[0, 1, 2] = 1" if depth is None else f"Literal[{depth}]{' = 1' if depth == 1 else ''}"


def _entry_path(api: Api) -> str:
    return f'f"{api.endpoint}/{{_text(id)}}"'


def _about(api: Api) -> str:
    what = "The entries" if api.kind is ApiKind.LIST else "The item"
    more = f" {in_comment(description(api))}" if description(api) else ""
    return f"{what} of {in_comment(api.name)}, `{api.endpoint}`.{more}"
