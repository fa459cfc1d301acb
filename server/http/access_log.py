"""The access log: one line a request on standard error, without secrets and without holding up an answer."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from functools import lru_cache
from select import PIPE_BUF
from urllib.parse import unquote_plus

from server.http.exchange import Exchange
from server.logs import json_line, log_moment, without_keys

LONGEST_PATH = 2000
"""Characters of a request's path and query that are logged."""
LONGEST_WORKSPACE = 63
"""Characters of a workspace's ID; a path may name a longer one, of no workspace."""
MOST_WAITING = 10_000
"""Lines kept while nobody reads standard error; later ones are counted and dropped."""

_FLUSH_SECONDS = 0.05
_SECRET = re.compile(r"key|token|secret|password|auth|\A(code|state)\Z")
"""Names of parameters whose values are not logged; the last two are what a browser brings back from a provider of
OpenID Connect."""


class AccessLog:
    """Collects a line a request and writes them some 20 times a second, in a thread.

    A reader of standard error that stalls costs lines, never an answer.
    """

    def __init__(self, log_format: str, write: Callable[[list[str]], object] | None = None) -> None:
        self._json = log_format == "json"
        self._write = write or _write_stderr
        self._waiting: list[str] = []
        self._dropped = 0
        self._writing: asyncio.Future[None] | None = None

    def record(self, exchange: Exchange, method: str, target: str, status: int, milliseconds: float, size: int) -> None:
        """Note one answered request; ``target`` is its path and query from ``logged_target``, ``size`` the body's
        bytes. To be called on the event loop."""
        if len(self._waiting) >= MOST_WAITING:
            self._dropped += 1
            return
        request_id, trace = exchange.request_id.decode("ascii"), exchange.trace
        if self._json:
            members = {
                "time": log_moment(),
                "method": method,
                "path": target,
                "status": status,
                "ms": round(milliseconds, 2),
                "bytes": size,
                "workspace": exchange.workspace,
                "key": exchange.key_prefix,
                "request": request_id,
            }
            line = json_line(members if trace is None else {**members, "trace": trace.trace_id})
        else:
            line = (
                f"{log_moment()} {method} {target} {status} {milliseconds:.2f}ms {size}B "
                f"{exchange.workspace or '-'} {exchange.key_prefix or '-'} {request_id}"
            )
            if trace is not None:
                line = f"{line} {trace.trace_id}"
        self._waiting.append(line)
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._flush())

    async def close(self) -> None:
        """Write the lines that are left."""
        if self._writing is not None:
            await self._writing
        self._write(self._take())

    async def _flush(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(_FLUSH_SECONDS)  # before each write, which would otherwise have only a few lines
                await asyncio.get_running_loop().run_in_executor(None, self._write, self._take())
        finally:
            self._writing = None

    def _take(self) -> list[str]:
        lines, self._waiting = self._waiting, []
        if self._dropped:
            message = f"{self._dropped} more requests were not logged: nobody read this log in time"
            note = {"time": log_moment(), "level": "warning", "message": message}
            lines.append(json_line(note) if self._json else f"{note['time']} WARNING {message}")
            self._dropped = 0
        return lines


def logged_target(path: bytes, query: bytes) -> str:
    """A request's path and query as they may be logged: secrets masked, only printable ASCII, cut off after 2,000
    characters."""
    text = path.decode("latin-1")
    if query:
        text = f"{text}?{'&'.join(map(_masked, query.decode('latin-1').split('&')))}"
    text = without_keys(text)
    shown = printable(text[: LONGEST_PATH + 1])  # which may be longer, and the line is to fit into a pipe at once
    return shown if len(shown) <= LONGEST_PATH else f"{shown[:LONGEST_PATH]}..."


def logged_workspace(name: str) -> str:
    """Return a workspace as a path names it in the form in which it may be logged, as ``logged_target`` does."""
    return printable(without_keys(name)[:LONGEST_WORKSPACE])


def printable(text: str) -> str:
    """A text with everything but printable ASCII escaped, so that no request can forge a line of the log."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode-escape").decode() for c in text)


def _masked(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}=***" if equals and _is_secret(name) else parameter


@lru_cache(maxsize=64)  # of few names, while a name can be as long as a request's line
def _is_secret(name: str) -> bool:
    return _SECRET.search(unquote_plus(name).lower()) is not None


def _write_stderr(lines: list[str]) -> None:
    # Past sys.stderr, whose lock a stalled write would hold against the rest of the log, and in pieces that a
    # pipe takes whole, so that the lines of several processes do not mix.
    piece = b""
    for line in lines:
        data = line.encode("ascii", "backslashreplace") + b"\n"
        if len(piece) + len(data) > PIPE_BUF:
            _write_all(piece)
            piece = b""
        piece += data
    _write_all(piece)


def _write_all(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:  # nobody to tell: standard error is gone
        pass
