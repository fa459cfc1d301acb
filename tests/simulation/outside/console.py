"""Where the product serves the console to its workers by uvicorn: the same application, on a simulated loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.simulation.below.loop import Loop
from tests.simulation.below.scheduler import Process

if TYPE_CHECKING:
    from tests.simulation.machines import ReadingMachine
    from tests.simulation.world import World

SITE = "https://console.example"
LONGEST = 120
"""Seconds that a worker waits for the console."""


class ServedConsole:
    """A console that answers, in a keeper's process."""

    def __init__(self, app: Any, process: Process) -> None:
        self._app = app
        self.process = process
        self.loop = Loop()

    def begin(self, request: dict[str, Any], body: bytes, done: Callable[[Answer], None]) -> None:
        """Begin to answer a request; called by other actors."""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def answer() -> None:
            told: dict[str, Any] = {"status": 500, "headers": [], "body": b""}

            async def send(message: dict[str, Any]) -> None:
                told["body"] += message.get("body", b"")
                told.update({name: message[name] for name in ("status", "headers") if name in message})

            await self._app(request, receive, send)
            done(Answer(told["status"], told["headers"], told["body"]))

        self.loop.call_soon_threadsafe(lambda: self.loop.create_task(answer()))


class Answer:
    """What a browser got."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.body = body
        self.location = next((value.decode() for name, value in headers if name.lower() == b"location"), "")
        self.cookies: dict[str, str] = {}
        for name, value in headers:
            if name.lower() == b"set-cookie":
                self.cookies.update({one: found.value for one, found in SimpleCookie(value.decode()).items()})


def server_of(world: World) -> type:
    """Return the class of servers in the place of the one of uvicorn."""

    class Server:
        should_exit = False

        def __init__(self, config: Any, on_ready: Callable[[], None] | None = None) -> None:
            self._app = config.app

        def run(self, _sockets: Any) -> None:
            actor = world.scheduler.current
            assert actor is not None
            served = ServedConsole(self._app, actor.process)
            world.outside.consoles[actor.process.machine.name] = served
            served.loop.run_forever()

    return Server


class Browser:
    """A browser: it keeps cookies, and asks one machine after the other."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self.cookies: dict[str, str] = {}

    def ask(
        self, machine: ReadingMachine, path: str, query: str = "", form: dict[str, str] | None = None
    ) -> Answer | None:
        """Ask for a page, or send a form; ``None`` where no answer came."""
        console = self._world.outside.consoles.get(machine.name)
        if console is None or not console.process.is_alive:
            return None
        body = b"" if form is None else urlencode(form).encode()
        headers = [(b"host", b"console.example"), (b"sec-fetch-site", b"same-origin")]
        if form is not None:
            headers.append((b"content-type", b"application/x-www-form-urlencoded"))
        if self.cookies:
            held = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            headers.append((b"cookie", held.encode()))
        request: dict[str, Any] = {
            "type": "http",
            "method": "GET" if form is None else "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "scheme": "https",
            "server": ("console.example", 443),
            "http_version": "1.1",
            "root_path": "",
        }
        found: list[Answer] = []
        came = threading.Event()

        def done(answer: Answer) -> None:
            found.append(answer)
            came.set()

        console.begin(request, body, done)
        for _ in range(LONGEST):
            if came.wait(1) or not console.process.is_alive:
                break
        if not found:
            return None
        for name, value in found[0].cookies.items():
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return found[0]

    @property
    def session(self) -> str | None:
        """The session that the browser holds."""
        return self.cookies.get("__Host-parquetry-session")
