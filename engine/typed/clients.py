"""Write a module that reads a workspace: types from its definitions, and a client without dependencies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from engine.typed.addresses import places_of_addresses
from engine.typed.names import expands, lists, objects, used_records
from engine.typed.python import EntryTypes, literal, python_module, python_names
from engine.typed.python_calls import TYPE_VARIABLES, Calls
from engine.typed.templates import template
from engine.typed.typescript import typescript_types
from snapshots.model import Api, Workspace

_IMPORTS: Final = """\
import asyncio
import builtins
import json
import re
import socket
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from gzip import decompress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from logging import getLogger
from math import inf
from os import getpid
from random import uniform
from socket import SHUT_RDWR
from threading import Lock, Timer, local
from typing import Any, Generic, Literal, NamedTuple, NotRequired, Required, Self, TypedDict, TypeVar, Unpack, overload
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakKeyDictionary
"""
_SHARED: Final = ("pictures.ts", "addresses.ts", "transport.ts")
"""The templates that both clients for TypeScript need."""
_PYTHON: Final = ("pictures.py.txt", "addresses.py.txt", "transport.py.txt", "client.py.txt")
"""The templates that the client for Python needs."""


def typescript_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module with the types of the workspace and a class ``Client``, which reads it by ``fetch``.

    Without ``any_key``, it is for keys that read all APIs of ``workspace``.
    """
    records = f"type Records = {' | '.join(record.name for record in used_records(workspace))};\n"
    more = [*_facts(workspace), *map(template, _SHARED), records, template("client.ts")]
    return typescript_types(workspace, any_key=any_key, more="\n".join(more))


def microcms_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module that is used as the one of microCMS's SDK, with the types of the workspace."""
    more = [*_facts(workspace), *map(template, _SHARED), template("microcms.ts")]
    return typescript_types(workspace, any_key=any_key, more="\n".join(more))


def python_client(workspace: Workspace, *, any_key: bool = True) -> str:
    """The source text of a module with the types of the workspace and a class ``Client``, which reads it.

    Without ``any_key``, it is for keys that read all APIs of ``workspace``.
    """
    text = [*map(template, _PYTHON)]
    names = python_names(workspace, "\n".join((_IMPORTS, TYPE_VARIABLES, *text, "Client AsyncClient")))
    endpoints = literal(api.endpoint for api in workspace.apis) if workspace.apis else "str"
    facts = [
        f"_WORKSPACE = {json.dumps(workspace.id)}",
        "# The beginning of the server's own addresses of files.",
        f"_FILES = {json.dumps(_files(workspace))}",
        "# Whether addresses of pictures take a size.",
        f"_MAKES_SIZES = {workspace.answers_sizes}",
        "# Where addresses of files stand in entries, by endpoint.",
        f"_PLACES: dict[str, dict[str, Any]] = {_python_places(workspace)}",
        f"Endpoint = {endpoints}\n",
    ]
    shared = ["\n".join(facts), *(part.strip("\n") + "\n\n" for part in text)]

    def more(types: EntryTypes) -> str:
        return "\n".join((*shared, *Calls(workspace, names, types).text()))

    return python_module(workspace, names, _IMPORTS, more, any_key=any_key)


def _facts(workspace: Workspace) -> Iterator[str]:
    """Yield what the templates of TypeScript need to know of a workspace."""
    files, sizes = json.dumps(_files(workspace)), json.dumps(workspace.answers_sizes)
    yield f"const workspace = {json.dumps(workspace.id)};"
    yield f"/** The beginning of the server's own addresses of files. */\nconst files = {files};"
    yield f"/** Whether addresses of pictures take a size. */\nconst makesSizes: boolean = {sizes};"
    places = places_of_addresses(workspace).items()
    yield "/** Where addresses of files stand in entries, by endpoint. */"
    yield "const places: { [endpoint: string]: Places } = {"
    yield from (f"  {json.dumps(endpoint)}: {json.dumps(place)}," for endpoint, place in places)
    yield "};\n"
    yield _by_depth("ListsAt", "Lists", lists(workspace), workspace)
    yield _by_depth("ObjectsAt", "Objects", objects(workspace), workspace)


def _files(workspace: Workspace) -> str:
    return f"/assets/{workspace.id}/"


def _python_places(workspace: Workspace) -> str:
    lines = [f"    {endpoint!r}: {place!r},\n" for endpoint, place in places_of_addresses(workspace).items()]
    return "".join(["{\n", *lines, "}"]) if lines else "{}"


def _by_depth(name: str, entries: str, apis: Iterable[Api], workspace: Workspace) -> str:
    """The type that has, by depth, the entries of all APIs; those without references are the same at each."""
    is_generic = any(expands(api.every_field(), workspace) for api in apis)
    members = (f"{depth}: {entries}{f'<{depth}>' if is_generic else ''}" for depth in (0, 1, 2))
    return f"interface {name} {{ {'; '.join(members)} }}\n"
