"""Tell from the parts of a request which view it reports, if any (decisions 30, 32 and 46)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from engine.views.collecting.bots import LONGEST as LONGEST_USER_AGENT
from engine.views.collecting.origins import Domains, origin_host
from engine.views.collecting.targets import Kind, entry_key, path_key
from engine.views.collecting.visitors import Limits
from snapshots.model import Workspace

LARGEST_BODY: Final = 8192
"""Bytes of a body that is read."""
LONGEST_ORIGIN: Final = 300
"""Bytes of the header ``Origin``; the longest host has 253."""


class _Body(msgspec.Struct):
    path: str
    entryId: str | None = None  # noqa: N815 - as the contract spells it


_decode: Final = msgspec.json.Decoder(_Body).decode


class Reported(NamedTuple):
    """A view that a page reports."""

    kind: Kind
    key: str
    host: str
    """The host of the page."""

    @property
    def target(self) -> bytes:
        """The text that tells the target from every other."""
        return f"{self.kind}:{self.key}".encode()


class ViewRules:
    """The entries, paths and domains whose views a workspace counts."""

    def __init__(self, workspace: Workspace) -> None:
        self._domains = Domains(workspace.domains)
        self._host = lru_cache(maxsize=1024)(self._registered_host)
        self.limits: Final = Limits(workspace.views.dedupe_minutes * 60, workspace.views.per_address_per_minute)

    def reported(
        self, content_type: bytes | None, origin: bytes | None, user_agent: bytes | None, body: bytes
    ) -> Reported | None:
        """The view in a request, headers as sent; ``None`` where there is none that counts.

        Bots, duplicates and views over the limit are found later: that costs more than all of this.
        """
        if content_type is None or origin is None or not user_agent:
            return None
        if len(body) > LARGEST_BODY or len(origin) > LONGEST_ORIGIN or len(user_agent) > LONGEST_USER_AGENT:
            return None
        if content_type.partition(b";")[0].strip().lower() != b"text/plain":
            return None
        host = self._host(origin)
        if host is None:
            return None
        try:
            sent = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        path = path_key(sent.path)
        if path is None:
            return None
        if sent.entryId is None:
            return Reported(Kind.PATH, path, host)
        entry = entry_key(sent.entryId)
        return None if entry is None else Reported(Kind.ENTRY, entry, host)

    def _registered_host(self, origin: bytes) -> str | None:
        """The host of a page whose views count."""
        host = origin_host(origin.decode("latin-1"))
        return host if host is not None and self._domains.has(host) else None
