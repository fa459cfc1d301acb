"""The console as a process: one for all workers of a server, which pass its requests on.

It is a process of its own because pages are made by Python code: in a worker, answers to applications would wait for
it.
"""

from __future__ import annotations

import asyncio
import logging
import logging.config
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from server.console.process.answering import answered
from server.console.process.messages import PassedOn, tell, told
from server.logs import LOGGER, log_config
from server.processes.child import NICENESS, until_told
from server.processes.elected import ElectedProcess
from server.processes.standing_back import stand_back
from server.settings import Settings
from snapshots.problems import ParquetryError
from snapshots.store.durable import keep_from_others
from snapshots.times import now_ms

SOCKET: Final = "console"
BACKLOG: Final = 1024
LOOK_SECONDS: Final = 0.5
"""Seconds between two looks whether the process is there."""
RESTART_SECONDS: Final = 2.0
LAST_SECONDS: Final = 5.0
"""Seconds that requests under way may go on when the process is told to end."""

_log = logging.getLogger(LOGGER)


class ConsoleNotServed(ParquetryError):
    """The machine has no place for the socket of the console's process."""


@contextmanager
def console_served(settings: Settings) -> Iterator[str | None]:
    """Keep the console's process running during the block, and return the path of the socket that takes its requests;
    ``None`` where the console is off. What is sent while the process starts waits until it has.

    Raises ``ConsoleNotServed``.
    """
    if not settings.console:
        yield None
        return
    with _socket() as (listener, folder):
        address = str(folder / SOCKET)
        process = ElectedProcess(
            "console",
            serve_console,
            (settings, listener, str(folder)),
            folder / "lock",
            look_seconds=LOOK_SECONDS,
            restart_seconds=RESTART_SECONDS,
        )
        process.start()
        try:
            yield address
        finally:
            process.stop()


@contextmanager
def _socket() -> Iterator[tuple[socket.socket, Path]]:
    """A socket that listens, and the directory in which it is alone."""
    with ExitStack() as entered:
        try:
            # Paths of sockets have 103 bytes at most, so it is not in the store's cache.
            folder = Path(entered.enter_context(tempfile.TemporaryDirectory(prefix="parquetry-console-")))
            listener = entered.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(folder / SOCKET))
        except OSError as error:
            raise ConsoleNotServed(
                f"The console has no place for its socket: {error}. Set TMPDIR to a directory that can be written, "
                "with a path of at most 60 characters."
            ) from None
        listener.listen(BACKLOG)
        yield listener, folder


def serve_console(settings: Settings, listener: socket.socket, folder: str) -> None:
    """Run the console's process, until SIGTERM or the end of its parent, of which the ``folder`` is left then."""
    keep_from_others()
    logging.config.dictConfig(log_config(settings.log_format))
    stand_back(NICENESS)

    def left() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        stopping.set()

    stopping = until_told(left)
    asyncio.run(_serve(settings, listener, stopping))


async def _serve(settings: Settings, listener: socket.socket, stopping: threading.Event) -> None:
    from server.console.console import Console  # noqa: PLC0415 - for this process only

    console = Console(settings, now_ms)
    pages = console.application()
    under_way: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        under_way.add(task)
        try:
            await tell(writer, await answered(pages, await told(reader, PassedOn)))
        except (OSError, msgspec.DecodeError):
            pass  # the worker is gone
        finally:
            writer.close()
            under_way.discard(task)

    server = await asyncio.start_server(serve, sock=listener)
    await asyncio.to_thread(stopping.wait)
    server.close()
    waited = [task for task in under_way if task is not None]
    if waited:
        await asyncio.wait(waited, timeout=LAST_SECONDS)
    console.stop()
