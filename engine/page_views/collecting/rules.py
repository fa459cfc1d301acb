"""What counts: the parts of a request → the view it reports, or nothing (decisions 30, 32 and 46)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from engine.page_views.collecting.bots import is_bot
from engine.page_views.collecting.origins import Domains, origin_host
from engine.page_views.collecting.targets import Kind, entry_key, path_key
from engine.page_views.collecting.visitors import Limits
from snapshots.model import Workspace

LARGEST_BODY: Final = 8192
"""Bytes."""


class _Body(msgspec.Struct):
    path: str
    entryId: str | None = None  # noqa: N815 - as the contract spells it


_decode: Final = msgspec.json.Decoder(_Body).decode


class Reported(NamedTuple):
    """A view that a page reports."""

    kind: Kind
    key: str
    host: str
    """Of the page."""

    @property
    def target(self) -> bytes:
        """What tells it from every other target."""
        return f"{self.kind}:{self.key}".encode()


class Rules:
    """What a workspace counts."""

    def __init__(self, workspace: Workspace) -> None:
        self._domains = Domains(workspace.domains)
        self._page = lru_cache(maxsize=4096)(self._counted_page)
        self.limits: Final = Limits(workspace.views.dedupe_minutes * 60, workspace.views.per_address_per_minute)

    def reported(
        self, content_type: bytes | None, origin: bytes | None, user_agent: bytes | None, body: bytes
    ) -> Reported | None:
        """The view in a request, headers as sent; ``None`` where it is none, or none that counts.

        Whether it is a duplicate, or one too many, is not looked at here.
        """
        host = self._page(content_type, origin, user_agent)
        if host is None or len(body) > LARGEST_BODY:
            return None
        try:
            sent = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if sent.entryId is None:
            kind, key = Kind.PATH, path_key(sent.path)
        else:
            kind, key = Kind.ENTRY, entry_key(sent.entryId)
        return None if key is None else Reported(kind, key, host)

    def _counted_page(self, content_type: bytes | None, origin: bytes | None, user_agent: bytes | None) -> str | None:
        """The host of a page whose views count, with this browser."""
        if content_type is None or content_type.partition(b";")[0].strip().lower() != b"text/plain":
            return None
        host = origin_host(origin.decode("latin-1")) if origin else None
        if host is None or not self._domains.has(host):
            return None
        return None if user_agent is None or is_bot(user_agent.decode("latin-1")) else host
