"""Answer ``_types`` and ``_openapi``: the definitions that a key reads, for programs (decision 75).

Nothing in these answers depends on content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from engine.read.query.answers.answer_cache import PLAIN_TEXT, Answer, Lifetime
from engine.read.query.answers.bind import NotFound, Target
from engine.read.query.answers.signals import workspace_signals
from engine.read.query.invalid_query import InvalidQuery, nearest, shown
from engine.read.query.parameters import Parameters
from engine.read.reader.reach import Scope
from engine.typed.modules import CLIENTS, Client, key_module
from engine.typed.names import as_read
from snapshots.model import Workspace

Document: TypeAlias = Callable[[Workspace], bytes]
"""Makes the OpenAPI document of a workspace, as JSON."""

LANGUAGES: Final = tuple(CLIENTS)


class TypesPlan(msgspec.Struct, frozen=True):
    """A request for the typed module of a key."""

    scope: Scope
    language: str
    client: Client


class DocumentPlan(msgspec.Struct, frozen=True):
    """A request for the OpenAPI document of a key, which takes no parameters."""

    scope: Scope


DescribedPlan: TypeAlias = TypesPlan | DocumentPlan


def bind_described(target: Target, scope: Scope, *, strict: bool = False) -> DescribedPlan | None:
    """Return the plan of a request for a description, ``None`` for one for content. Raises ``NotFound`` for a language
    that there are no types for, and ``InvalidQuery``, with ``strict`` for all that is wrong with parameters."""
    match target.path:
        case ["_openapi"]:
            Parameters(target.query, strict=strict)
            return DocumentPlan(scope)
        case ["_types", language] if language in CLIENTS:
            return TypesPlan(scope, language, _client(language, Parameters(target.query, strict=strict)))
        case ["_types", *others]:
            raise NotFound(_unknown("/".join(others)))
    return None


def described_answer(plan: DescribedPlan, workspace: Workspace, document: Document) -> Answer:
    """Return the description of a workspace for the keys of a scope; ``document`` makes that of OpenAPI."""
    signals = workspace_signals(workspace.id)
    if isinstance(plan, DocumentPlan):
        return Answer(document(as_read(workspace, plan.scope)), Lifetime(), signals)
    source = key_module(workspace, plan.scope, plan.language, plan.client)
    return Answer(source.encode(), Lifetime(), signals, media_type=PLAIN_TEXT)


def _client(language: str, given: Parameters) -> Client:
    text = given.text("client")
    *others, last = (client.value for client in CLIENTS[language])
    if text is None:
        return Client.OWN
    if text not in {*others, last}:
        raise InvalidQuery(f"client: expected {', '.join(others)} or {last}, got {shown(text)}.")
    return Client(text)


def _unknown(language: str) -> str:
    paths = " or ".join(f"_types/{one}" for one in LANGUAGES)
    if not language:
        return f"Types are for one programming language: write {paths}."
    return f"There are no types for {shown(language)}.{nearest(language, LANGUAGES)} Write {paths}."
