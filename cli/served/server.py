"""Ask a server for content: its answer, with the point that the answer is of."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import Any, Final

import msgspec

from snapshots.problems import ParquetryError

KEY_VARIABLE: Final = "CMS_KEY"
"""The environment variable that holds the API key: a key on a command line would show in lists of processes."""

_ADDRESS: Final = re.compile(r"(https?://[^?#\s]*/v1/([A-Za-z0-9-]+))/?")
_SECONDS: Final = 30.0
_WAITS: Final = frozenset({429, 503})


class NoServer(ParquetryError):
    """The address is not that of a workspace."""


class ServerRefused(ParquetryError):
    """The server did not answer with content."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """``status`` is that of the answer, ``None`` where there was none."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Served:
    """One answer."""

    body: bytes
    version: str
    at: str
    """The instant that it is right for, as ``X-Snapshot-At`` has it."""

    @property
    def point(self) -> str:
        """The version and the instant, as ``X-Snapshot`` of a request takes them."""
        return f"{self.version}@{self.at}"

    @property
    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        found: dict[str, Any] = msgspec.json.decode(self.body)
        return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a key must not get to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Server:
    """A workspace on a server, with what one API key can read."""

    def __init__(self, url: str, key: str, patience: float = 0.0) -> None:
        """``patience`` is for how many seconds in all a call waits when the server asks it to try again later.

        Raises ``NoServer``.
        """
        found = _ADDRESS.fullmatch(url)
        if found is None:
            raise NoServer(
                f'"{url}" is not the address of a workspace. Write one such as https://cms.example.com/v1/acme.'
            )
        self.url, self.workspace = found[1], found[2]
        self._key, self._patience = key, patience
        self._opener = urllib.request.build_opener(_NoRedirect)

    def ask(self, target: str, point: str | None = None) -> Served:
        """Return the answer to what follows the workspace in a URL, as of a point, or of now.

        Raises ``ServerRefused``.
        """
        headers = {"X-API-KEY": self._key, **({} if point is None else {"X-Snapshot": point})}
        request = urllib.request.Request(f"{self.url}/{target}", headers=headers)  # noqa: S310 - http(s), as the address was checked
        left = self._patience
        while True:
            try:
                with self._opener.open(request, timeout=_SECONDS) as answer:
                    body = answer.read()
                    return Served(body, *_point(answer.headers, self.url))
            except urllib.error.HTTPError as error:
                wait = _seconds(error)
                if error.code not in _WAITS or wait > left:
                    raise ServerRefused(_message(error), error.code) from None
            except (OSError, ValueError, HTTPException) as error:
                raise ServerRefused(f"No answer from {self.url}: {error}. Check the address.") from None
            time.sleep(wait)
            left -= wait


def _point(headers: HTTPMessage, url: str) -> tuple[str, str]:
    version, at = headers["X-Snapshot"], headers["X-Snapshot-At"]
    if not version or not at:
        raise ServerRefused(f"{url} does not answer as Parquetry does: the header X-Snapshot is missing.")
    return version, at


def _seconds(error: urllib.error.HTTPError) -> float:
    told = error.headers.get("Retry-After", "")
    return float(told) if told.isdecimal() else 1.0


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return f"The server answered {error.code} {error.reason}."
