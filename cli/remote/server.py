"""Ask a server for content: its answer, with the point that the answer is of."""

from __future__ import annotations

import re
import ssl
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import msgspec

from snapshots.problems import ParquetryError

KEY_VARIABLE: Final = "CMS_KEY"
"""The environment variable that holds the API key: a key on a command line would show in lists of processes."""

_ADDRESS: Final = re.compile(r"(https?://[^?#\s]*/v1/([A-Za-z0-9-]+))/?")
_SECONDS: Final = 30.0
_WAITS: Final = frozenset({429, 503})


class NoServer(ParquetryError):
    """The address is not that of a workspace."""


class NoKey(ParquetryError):
    """A server is to be asked, and there is no key to ask it with."""


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


class Server:
    """A workspace on a server, with what one API key can read."""

    def __init__(self, url: str, key: str, patience: float = 0.0, *, strict: bool = False) -> None:
        """``patience`` is for how many seconds in all a call waits when the server asks it to try again later.
        ``strict`` has mistakes refused that otherwise have no effect.

        Raises ``NoServer``.
        """
        found = _ADDRESS.fullmatch(url)
        if found is None:
            raise NoServer(
                f'"{url}" is not the address of a workspace. Write one such as https://cms.example.com/v1/acme.'
            )
        self.url, self.workspace = found[1], found[2]
        self._key, self._patience = key, patience
        self._prefer = {"Prefer": "handling=strict"} if strict else {}
        # What the system trusts takes longer to load than most answers, and a plain address needs none of it.
        is_plain = self.url.startswith("http:")
        self._trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else ssl.create_default_context()

    def ask(self, target: str, point: str | None = None) -> Served:
        """Return the answer to what follows the workspace in a URL, as of a point, or of now.

        Raises ``ServerRefused``.
        """
        headers = {"X-API-KEY": self._key, **self._prefer, **({} if point is None else {"X-Snapshot": point})}
        left = self._patience
        while True:
            try:
                # It follows no redirect: a key must not get to another server.
                answer = httpx2.get(
                    f"{self.url}/{target}",
                    headers=headers,
                    timeout=_SECONDS,
                    verify=self._trust,
                    follow_redirects=False,
                )
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
                why = str(error) or type(error).__name__
                raise ServerRefused(f"No answer from {self.url}: {why}. Check the address.") from None
            if answer.is_success:
                return Served(answer.content, *_point(answer.headers, self.url))
            wait = _seconds(answer)
            if answer.status_code not in _WAITS or wait > left:
                raise ServerRefused(_message(answer), answer.status_code)
            time.sleep(wait)
            left -= wait


def _point(headers: httpx2.Headers, url: str) -> tuple[str, str]:
    version, at = headers.get("X-Snapshot"), headers.get("X-Snapshot-At")
    if not version or not at:
        raise ServerRefused(f"{url} does not answer as Parquetry does: the header X-Snapshot is missing.")
    return version, at


def _seconds(answer: httpx2.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return float(told) if told.isdecimal() else 1.0


def _message(answer: httpx2.Response) -> str:
    if answer.is_redirect:
        target = answer.headers.get("Location", "another address")
        return f"The server redirects to {target}, where the key is not sent. Give the address that answers itself."
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code} {answer.reason_phrase}."
