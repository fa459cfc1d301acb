"""Events and changes of a step → the requests by which an endpoint is told, in its format."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from engine.timeline.changes import ChangeKind
from engine.webhooks.addresses import Target
from engine.webhooks.endpoint import Endpoint, Format
from engine.webhooks.events import Event, News, events, trial_event
from engine.webhooks.post import Post
from engine.webhooks.signatures import microcms_headers, standard_headers
from snapshots.model import Workspace

FASTLY_KEYS: Final = 256
"""Surrogate keys that Fastly takes in one request."""
CLOUDFLARE_TAGS: Final = 100
"""Tags that Cloudflare takes in one request."""

_encode: Final = msgspec.json.Encoder().encode
_MICROCMS_TYPES: Final = {ChangeKind.PUBLISHED: "new", ChangeKind.UPDATED: "edit", ChangeKind.UNPUBLISHED: "delete"}


class Telling(msgspec.Struct, frozen=True):
    """The requests of one step, of which there may be very many: each is made when it is sent."""

    count: int
    subjects: tuple[str, ...]
    """What they tell, for the log: types of events, or the format."""
    request: Callable[[int, int], Post]
    """The number of a request and the instant (UTC ms) → the request, signed."""


def telling(news: News, endpoint: Endpoint, target: Target) -> Telling:
    """Return the requests that tell a step to an endpoint at ``target``; none where there is nothing to tell it."""
    found = list(events(news, endpoint))
    if endpoint.format is Format.STANDARD:
        return Telling(
            len(found),
            tuple(event.type for event in found),
            lambda number, now: standard_post(found[number], endpoint, target, now),
        )
    if not found or not (news.has_content or news.schema):
        return Telling(0, (), _nothing)
    if endpoint.format is Format.MICROCMS:
        return _microcms(news, endpoint, target)
    return _purge(news, endpoint, target)


def standard_post(event: Event, endpoint: Endpoint, target: Target, now: int) -> Post:
    """Return the Standard Webhooks request of an event, signed at ``now`` (UTC ms)."""
    headers = standard_headers(endpoint.secrets_at(now), event.message, now, event.body.decode())
    return Post(target, headers, event.body)


def trial_post(endpoint: Endpoint, workspace: Workspace, target: Target, now: int) -> Post:
    """Return the request by which people try whether an endpoint is reached: it changes nothing there."""
    if endpoint.format is Format.STANDARD:
        message = f"msg_{secrets.token_hex(16)}"
        return standard_post(trial_event(endpoint, workspace.id, now, message), endpoint, target, now)
    if endpoint.format is Format.MICROCMS:
        body = _encode(_microcms_document(workspace.id))
        return Post(target, microcms_headers(endpoint.secrets_at(now)[0], body), body)
    return _purge_post(endpoint, target, [f"{workspace.id}:_test"])


def _nothing(_number: int, _now: int) -> Post:
    raise IndexError("there is no request")


def _microcms(news: News, endpoint: Endpoint, target: Target) -> Telling:
    documents = list(_microcms_documents(news, endpoint))

    def request(number: int, now: int) -> Post:
        body = _encode(documents[number])
        # There is room for one signature only: that of the newest secret.
        return Post(target, microcms_headers(endpoint.secrets_at(now)[0], body), body)

    return Telling(len(documents), (str(endpoint.format),), request)


def _microcms_documents(news: News, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Return one document for each entry that changed; where that is not known, one without an entry."""
    service = news.workspace.id
    if news.changes is None:
        yield _microcms_document(service)
        return
    entries: dict[tuple[str, str], dict[str, ChangeKind]] = {}
    for change in news.changes.entries():
        entries.setdefault((change.api, change.id), {})[change.lang] = change.change
    main = news.workspace.main_language
    hears_main = endpoint.langs is None or main in endpoint.langs
    for (api, entry), kinds in entries.items():
        kind = kinds.get(main)
        if kind is None:
            same = set(kinds.values())
            kind = same.pop() if len(same) == 1 and not hears_main else ChangeKind.UPDATED
        there = {
            "id": entry,
            "status": ["PUBLISH"],
            "draftKey": None,
            "publishValue": {"id": entry},
            "draftValue": None,
        }
        contents = {
            "old": None if kind is ChangeKind.PUBLISHED else there,
            "new": None if kind is ChangeKind.UNPUBLISHED else there,
        }
        yield {"service": service, "api": api, "id": entry, "type": _MICROCMS_TYPES[kind], "contents": contents}


def _microcms_document(service: str) -> dict[str, Any]:
    return {"service": service, "api": None, "id": None, "type": None, "contents": None}


def _purge(news: News, endpoint: Endpoint, target: Target) -> Telling:
    """Return the requests that purge the answers which may differ: those of changed entries, and the lists of their
    APIs; all answers of the workspace where definitions changed, or it is not known what did."""
    workspace, changes = news.workspace.id, news.changes
    everything = changes is None or bool(news.schema)
    apis = [workspace] if everything else [f"{workspace}:{api}" for api in news.apis]
    total = len(apis) + (0 if changes is None or everything else changes.total)
    size = FASTLY_KEYS if endpoint.format is Format.FASTLY else CLOUDFLARE_TAGS

    def tags(number: int) -> list[str]:
        start, stop = number * size, min((number + 1) * size, total)
        entries = (
            () if changes is None or stop <= len(apis) else changes.entries(max(0, start - len(apis)), stop - len(apis))
        )
        return list(dict.fromkeys((*apis[start:stop], *(f"{workspace}:{one.api}:{one.id}" for one in entries))))

    def request(number: int, _now: int) -> Post:
        return _purge_post(endpoint, target, tags(number))

    return Telling(-(-total // size), (str(endpoint.format),), request)


def _purge_post(endpoint: Endpoint, target: Target, tags: list[str]) -> Post:
    token = endpoint.token or ""
    if endpoint.format is Format.FASTLY:
        headers = {"fastly-key": token, "fastly-soft-purge": "1", "accept": "application/json"}
        return Post(target, headers, _encode({"surrogate_keys": tags}))
    return Post(target, {"authorization": f"Bearer {token}"}, _encode({"tags": tags}))
