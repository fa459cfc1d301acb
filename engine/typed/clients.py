"""Write a module that reads a workspace: types from its definitions, and a client without dependencies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from typing import Final

from engine.typed.names import expands, lists, objects, used_records
from engine.typed.python import python_module, python_names, query_language
from engine.typed.templates import template
from engine.typed.typescript import typescript_types
from snapshots.model import Api, ApiKind, Workspace

_IMPORTS: Final = """\
import json
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from email.utils import parsedate_to_datetime
from gzip import decompress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from math import inf
from os import getpid
from threading import Lock, local
from typing import Any, Generic, Literal, NamedTuple, NotRequired, Required, Self, TypedDict, TypeVar, Unpack, overload
from urllib.parse import quote, urlsplit
"""
_VARIABLES: Final = "".join(f'{name} = TypeVar("{name}")\n' for name in ("E0", "E1", "E2", "P", "F", "L", "O", "C"))
_TAKEN: Final = {"at", "close", "last_answer", "pin", "property", "schema", "snapshot", "views"}
"""Names that no API has in the Python client, which has its own use for them."""


def typescript_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module with the types of the workspace and a class ``Client``, which reads it by ``fetch``.

    Without ``any_key``, it is for keys that read all APIs of ``workspace``.
    """
    records = f"type Records = {' | '.join(record.name for record in used_records(workspace))};\n"
    more = [*_facts(workspace), template("transport.ts"), records, template("client.ts")]
    return typescript_types(workspace, any_key=any_key, more="\n".join(more))


def microcms_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module that is used as the one of microCMS's SDK, with the types of the workspace."""
    more = [*_facts(workspace), template("transport.ts"), template("microcms.ts")]
    return typescript_types(workspace, any_key=any_key, more="\n".join(more))


def python_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module with the types of the workspace and a class ``Client``, which reads it.

    Without ``any_key``, it is for keys that read all APIs of ``workspace``.
    """
    text = [template("transport.py.txt"), template("client.py.txt")]
    names = python_names(workspace, "\n".join((_IMPORTS, _VARIABLES, *text, "Client")))
    endpoints = ", ".join(json.dumps(api.endpoint) for api in workspace.apis)
    facts = f"_WORKSPACE = {json.dumps(workspace.id)}\nEndpoint = {f'Literal[{endpoints}]' if endpoints else 'str'}\n"
    more = [facts, _VARIABLES, *(part.strip("\n") + "\n\n" for part in text), *_python_class(workspace, names)]
    return python_module(workspace, names, _IMPORTS, "\n".join(more), any_key=any_key)


def _facts(workspace: Workspace) -> Iterator[str]:
    """Yield what the templates of TypeScript need to know of a workspace."""
    yield f"const workspace = {json.dumps(workspace.id)};\n"
    yield _by_depth("ListsAt", "Lists", lists(workspace), workspace)
    yield _by_depth("ObjectsAt", "Objects", objects(workspace), workspace)


def _by_depth(name: str, entries: str, apis: Iterable[Api], workspace: Workspace) -> str:
    """The type that has, by depth, the entries of all APIs; those without references are the same at each."""
    is_generic = any(expands(api.every_field(), workspace) for api in apis)
    members = (f"{depth}: {entries}{f'<{depth}>' if is_generic else ''}" for depth in (0, 1, 2))
    return f"interface {name} {{ {'; '.join(members)} }}\n"


def _python_class(workspace: Workspace, names: dict[str, str]) -> Iterator[str]:
    yield f'class Client(_Reader):\n    """Reads the workspace {workspace.id}."""\n'
    taken = set(_TAKEN)
    for api in workspace.apis:
        name = re.sub("[^A-Za-z0-9]+", "_", api.endpoint).strip("_") or "api"
        name = f"api_{name}" if name[0].isdigit() else name
        while name in taken or iskeyword(name):
            name += "_"
        taken.add(name)
        entry, language = names[api.uid], query_language(api, workspace)
        types = [f"{entry}Depth0", entry, f"{entry}Depth2", f"{entry}Part", f"{entry}Field", language]
        kind = "ObjectApi"
        if api.kind is ApiKind.LIST:
            kind = "ListApi"
            types += [f"{entry}Order", f"{entry}Condition"]
        yield (
            f"    @property\n    def {name}(self) -> {kind}[{', '.join(types)}]:\n"
            f"        return {kind}(self, {json.dumps(api.endpoint)})\n"
        )
