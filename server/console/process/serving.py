"""The console, served in the keeper's process to the workers of a server.

It is not in the workers because pages are made by Python code: answers to applications would wait for it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config

from server.console.console import Console
from server.console.process.headers import SIGNED_IN, VISITOR, WORKSPACE
from server.graceful_server import GracefulServer
from server.http.exchange import begin_exchange
from server.settings import Settings
from server.states.mail_watch import MailWatch
from snapshots.times import now_ms

LAST_SECONDS: Final = 5
"""Seconds that requests under way may go on when the keeper is told to end."""


def serve_console(
    settings: Settings,
    listener: socket.socket,
    watch: MailWatch,
    stopping: threading.Event,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Serve the console on a socket until ``stopping`` is set; ``on_ready`` is called when it answers. To be called on
    another thread than the main one."""
    console = Console(settings, now_ms, watch)
    server = GracefulServer(
        Config(
            told(console.application()),
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=LAST_SECONDS,
        ),
        on_ready,
    )

    def end() -> None:
        stopping.wait()
        server.should_exit = True

    threading.Thread(target=end, name="end-console", daemon=True).start()
    server.run([listener])
    console.stop()


def told(pages: ASGIApp) -> ASGIApp:
    """Return the application ``pages`` for requests that workers pass on: its answers say what workers are to know."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        scope["client"] = (headers.get(VISITOR, b"").decode("ascii"), 0)
        exchange = begin_exchange(scope)

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = []
                if exchange.workspace is not None:
                    more.append((WORKSPACE, exchange.workspace.encode()))
                if exchange.signed_in is not None:
                    more.append((SIGNED_IN, b"1" if exchange.signed_in else b"0"))
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await pages(scope, receive, send_told)

    return answer
