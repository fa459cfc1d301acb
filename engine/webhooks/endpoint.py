"""Endpoints: where webhooks go, what they are told of, and how far each has been told."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from engine.timeline.points import Point
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime

KEPT_ATTEMPTS: Final = 10
"""The number of past attempts that are kept of each endpoint."""

_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase


class InvalidWebhook(ParquetryError):
    """A setting that no endpoint can have."""


class Reason(StrEnum):
    """The cause of a change of content."""

    ACTIVATION = "activation"
    ROLLBACK = "rollback"
    """The version made current is older than the one before."""
    FLIP = "flip"
    """A publish period began or ended."""


class EndpointState(StrEnum):
    """The state of an endpoint, as it is shown."""

    ACTIVE = "active"
    RETRYING = "retrying"
    """The last try failed, and another one follows."""
    DISABLED = "disabled"
    """By a person."""
    GONE = "gone"
    """Disabled because the receiver answered 410."""
    GIVEN_UP = "given_up"
    """Disabled because the last of all tries failed."""


class Secret(msgspec.Struct, frozen=True):
    """A signing secret."""

    text: str
    until: int | None = None
    """UTC milliseconds until which it signs beside a newer one; ``None`` for the newest."""


class Pending(msgspec.Struct, frozen=True):
    """A step that is being told, from the endpoint's cursor to ``after``: written down before the first request."""

    after: Point
    begun_at: int
    """UTC milliseconds."""
    failures: int = 0
    next_at: int = 0
    """The instant of the next try, UTC milliseconds."""
    accepted: int = 0
    """The number of the step's requests that were accepted already."""


class Attempt(msgspec.Struct, frozen=True):
    """A past try, for people."""

    at: int
    """UTC milliseconds."""
    before: Point | None
    after: Point
    requests: int
    """The number of requests that were accepted in this try."""
    status: int | None
    """The last answer's."""
    refusal: str | None
    """Why it failed; ``None`` when all was accepted."""
    took: int | None = None
    """Milliseconds; ``None`` where it was not measured."""


class Stop(msgspec.Struct, frozen=True):
    """Why an endpoint is told nothing."""

    state: EndpointState
    at: int
    """UTC milliseconds."""
    told: bool = True
    """Whether nobody has to be told of it any more."""


class Endpoint(msgspec.Struct, frozen=True):
    """One receiver of webhooks and its ledger: a cursor, and the tries of the step after it."""

    id: str
    url: str
    format: str
    """The name of one of ``formats.FORMATS``."""
    secrets: tuple[Secret, ...]
    """The newest first."""
    created_at: int
    """UTC milliseconds."""
    cursor: Point | None
    """All until here has been told; ``None``: all since there was nothing."""
    token: str | None = None
    """The credential of a purge format."""
    apis: frozenset[str] | None = None
    """The ``uid`` of each API whose changes are told; ``None`` for all."""
    langs: frozenset[str] | None = None
    reasons: frozenset[Reason] | None = None
    pending: Pending | None = None
    stopped: Stop | None = None
    attempts: tuple[Attempt, ...] = ()
    """The newest first."""

    @property
    def state(self) -> EndpointState:
        if self.stopped is not None:
            return self.stopped.state
        failing = self.pending is not None and self.pending.failures
        return EndpointState.RETRYING if failing else EndpointState.ACTIVE

    def secrets_at(self, now: int) -> list[str]:
        """Return the secrets that sign at ``now`` (UTC milliseconds), the newest first."""
        return [secret.text for secret in self.secrets if secret.until is None or now < secret.until]


def new_endpoint_id() -> str:
    return "wh_" + "".join(secrets.choice(_ALPHABET) for _ in range(12))


def languages_of(workspace: Workspace, langs: Iterable[str]) -> frozenset[str]:
    """Return language codes, each checked to be one of the workspace's. Raises ``InvalidWebhook``."""
    for lang in langs:
        if lang not in workspace.languages:
            raise InvalidWebhook(
                f'Workspace "{workspace.id}" has no language "{lang}". It has: {", ".join(workspace.languages)}.'
            )
    return frozenset(langs)


def endpoint_document(endpoint: Endpoint, workspace: Workspace) -> dict[str, object]:
    """Return an endpoint as ``--json`` prints it: without its secrets and its credential."""
    pending = endpoint.pending
    return {
        "id": endpoint.id,
        "workspace": workspace.id,
        "url": endpoint.url,
        "format": endpoint.format,
        "apis": "all"
        if endpoint.apis is None
        else [api.endpoint for api in workspace.apis if api.uid in endpoint.apis],
        "langs": "all" if endpoint.langs is None else [lang for lang in workspace.languages if lang in endpoint.langs],
        "reasons": "all" if endpoint.reasons is None else [str(one) for one in Reason if one in endpoint.reasons],
        "state": str(endpoint.state),
        "createdAt": format_datetime(endpoint.created_at),
        "toldUntil": _written(endpoint.cursor),
        "failures": pending.failures if pending else 0,
        "nextTry": format_datetime(pending.next_at) if pending and endpoint.stopped is None else None,
        "attempts": [
            {
                "at": format_datetime(one.at),
                "from": _written(one.before),
                "to": str(one.after),
                "accepted": one.requests,
                "status": one.status,
                "problem": one.refusal,
                "milliseconds": one.took,
            }
            for one in endpoint.attempts
        ],
    }


def subscription_text(endpoint: Endpoint, workspace: Workspace) -> str:
    """Return the changes that an endpoint is told of, for people: ``blog in en (flip only)``."""
    document = endpoint_document(endpoint, workspace)
    apis, langs, reasons = (document[name] for name in ("apis", "langs", "reasons"))
    what = "all APIs" if apis == "all" else _joined(apis) or "no API (those it was limited to are gone)"
    if langs != "all":
        what += f" in {_joined(langs)}"
    if reasons != "all":
        what += f" ({_joined(reasons)} only)"
    return what


def state_text(endpoint: Endpoint) -> str:
    """Return the state of an endpoint for people."""
    return str(endpoint.state).replace("_", " ")


def _joined(names: object) -> str:
    return ", ".join(names) if isinstance(names, list) else str(names)


def _written(point: Point | None) -> str | None:
    return None if point is None else str(point)
