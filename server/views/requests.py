"""A page view while it comes in: what uvicorn keeps of a request, without what only a called application needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from server.content.snapshot_slot import OpenSnapshot

if TYPE_CHECKING:
    from uvicorn._types import HTTPScope

_AWAITED_BY_NOBODY: Final = asyncio.Event()


class ViewRequest(RequestResponseCycle):
    """A request that is a page view of ``workspace``, told by its method and path alone.

    It never runs an application, so it lacks what is there for that: making the rest took a fourth of the time that a
    view costs the event loop.
    """

    def __init__(
        self,
        scope: HTTPScope,
        workspace: str,
        served: OpenSnapshot,
        keep_alive: bool,
        on_response: Callable[[], None],
    ) -> None:
        self.scope = scope
        self.workspace = workspace
        self.served = served
        self.keep_alive = keep_alive
        self.on_response = on_response
        self.body = bytearray()
        self.more_body = True
        self.message_event = _AWAITED_BY_NOBODY
        self.disconnected = self.response_started = self.response_complete = False
