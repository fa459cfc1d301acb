"""The formats of webhooks: each writes the headers and bodies of the requests that tell an endpoint what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from engine.webhooks.endpoint import Endpoint
from engine.webhooks.signatures import microcms_headers, standard_headers

if TYPE_CHECKING:  # the commands that read webhooks.json need nothing of these
    from engine.webhooks.events import Event, News

_encode: Final = msgspec.json.Encoder().encode


class Message(NamedTuple):
    """The headers and the body of one signed request."""

    headers: dict[str, str]
    body: bytes


class Messages(msgspec.Struct, frozen=True):
    """The messages of one step, of which there may be very many: each is made when it is sent."""

    count: int
    subjects: tuple[str, ...]
    """The subjects of the messages, for the log: types of events, or the name of the format."""
    message: Callable[[int, int], Message]
    """Writes a message, given its number and the instant (UTC ms) at which it is signed."""


NOTHING: Final = Messages(0, (), lambda _number, _now: Message({}, b""))


class WebhookFormat(msgspec.Struct, frozen=True):
    """The form of the requests that an endpoint gets."""

    messages: Callable[[News, Sequence[Event], Endpoint], Messages]
    """Writes the messages that tell the events of a step."""
    trial: Callable[[Event, str, Endpoint, int], Message]
    """Writes a trial's message, which changes nothing, of its event, the workspace's ID and the instant (UTC ms)."""
    takes_token: bool = False
    """Whether a request carries a credential that its receiver issued, instead of a signature."""
    tells_keys: bool = False
    """Whether it tells of API keys too, not of content alone."""


def _standard() -> WebhookFormat:
    """Return the format of Standard Webhooks: one event a request."""

    def message(event: Event, endpoint: Endpoint, now: int) -> Message:
        return Message(standard_headers(endpoint.secrets_at(now), event.message, now, event.body.decode()), event.body)

    def messages(_news: News, events: Sequence[Event], endpoint: Endpoint) -> Messages:
        subjects = tuple(event.type for event in events)
        return Messages(len(events), subjects, lambda number, now: message(events[number], endpoint, now))

    return WebhookFormat(messages, lambda event, _workspace, *rest: message(event, *rest), tells_keys=True)


def _microcms() -> WebhookFormat:
    """Return the format of microCMS: one request for each entry that changed."""

    def signed(document: dict[str, Any], endpoint: Endpoint, now: int) -> Message:
        body = _encode(document)
        # There is room for one signature only: that of the newest secret.
        return Message(microcms_headers(endpoint.secrets_at(now)[0], body), body)

    def messages(news: News, _events: Sequence[Event], endpoint: Endpoint) -> Messages:
        documents = list(_microcms_documents(news, endpoint))
        return Messages(
            len(documents), (endpoint.format,), lambda number, now: signed(documents[number], endpoint, now)
        )

    def trial(_event: Event, workspace: str, endpoint: Endpoint, now: int) -> Message:
        return signed(_microcms_document(workspace), endpoint, now)

    return WebhookFormat(messages, trial)


_MICROCMS_TYPES: Final = {"published": "new", "updated": "edit", "unpublished": "delete"}


def _microcms_documents(news: News, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Return one document for each entry that changed; where that is not known, one without an entry."""
    service = news.workspace.id
    if news.changes is None:
        yield _microcms_document(service)
        return
    entries: dict[tuple[str, str], dict[str, str]] = {}
    for change in news.changes.entries():
        entries.setdefault((change.api, change.id), {})[change.lang] = change.change
    main = news.workspace.main_language
    hears_main = endpoint.langs is None or main in endpoint.langs
    for (api, entry), kinds in entries.items():
        kind = kinds.get(main)
        if kind is None:
            same = set(kinds.values())
            kind = same.pop() if len(same) == 1 and not hears_main else "updated"
        there = {
            "id": entry,
            "status": ["PUBLISH"],
            "draftKey": None,
            "publishValue": {"id": entry},
            "draftValue": None,
        }
        contents = {"old": None if kind == "published" else there, "new": None if kind == "unpublished" else there}
        yield {"service": service, "api": api, "id": entry, "type": _MICROCMS_TYPES[kind], "contents": contents}


def _microcms_document(service: str) -> dict[str, Any]:
    return {"service": service, "api": None, "id": None, "type": None, "contents": None}


def _purge(most: int, authorized: Callable[[str], dict[str, str]], member: str) -> WebhookFormat:
    """Return the format of a CDN whose cache is purged by tags, at most ``most`` in a request.

    ``authorized`` makes the headers of a token, and ``member`` is the one of the body's that has the tags.
    """

    def purge(endpoint: Endpoint, tags: list[str]) -> Message:
        return Message(authorized(endpoint.token or ""), _encode({member: tags}))

    def messages(news: News, _events: Sequence[Event], endpoint: Endpoint) -> Messages:
        # Those of changed entries, and the lists of their APIs; all answers of the workspace where definitions changed,
        # or it is not known what did.
        workspace, changes = news.workspace.id, news.changes
        everything = changes is None or bool(news.schema)
        apis = [workspace] if everything else [f"{workspace}:{api}" for api in news.apis]
        total = len(apis) + (0 if changes is None or everything else changes.total)

        def tags(number: int) -> list[str]:
            start, stop = number * most, min((number + 1) * most, total)
            entries = (
                ()
                if changes is None or stop <= len(apis)
                else changes.entries(max(0, start - len(apis)), stop - len(apis))
            )
            return list(dict.fromkeys((*apis[start:stop], *(f"{workspace}:{one.api}:{one.id}" for one in entries))))

        return Messages(-(-total // most), (endpoint.format,), lambda number, _now: purge(endpoint, tags(number)))

    def trial(_event: Event, workspace: str, endpoint: Endpoint, _now: int) -> Message:
        return purge(endpoint, [f"{workspace}:_test"])

    return WebhookFormat(messages, trial, takes_token=True)


FORMATS: Final = {
    "standard": _standard(),
    "microcms": _microcms(),
    "fastly": _purge(
        256,
        lambda token: {"fastly-key": token, "fastly-soft-purge": "1", "accept": "application/json"},
        "surrogate_keys",
    ),
    "cloudflare": _purge(100, lambda token: {"authorization": f"Bearer {token}"}, "tags"),
}
"""The formats by name: a new one is a row here, read by the command line, ``webhooks.json`` and the sender alike."""
