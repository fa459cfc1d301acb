"""Requests of browsers: cookies, forms, and whether a form was sent by a page of this site."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

from server.console.form_bounds import LARGEST_FORM, MOST_FIELDS
from server.console.visit import Form, PageRefused

SESSION: Final = "parquetry-session"
BROWSER: Final = "parquetry-browser"
"""The cookie that binds a mailed link to the browser that asked for it."""
KNOWN: Final = "parquetry-known"
"""The cookie of a browser in which somebody has signed in."""
WANTED: Final = "parquetry-wanted"
"""The cookie with the page that somebody wanted to see before signing in."""
WANTED_SECONDS: Final = 15 * 60

_WANTED_PATH: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}(/[A-Za-z0-9._~-]{1,100}){0,6}")
_HOST_PREFIX: Final = "__Host-"


class ConsoleSite:
    """The address that browsers know the console by. ``public_url`` is the setting, ``None`` where it is not set."""

    def __init__(self, public_url: str | None) -> None:
        parts = urlsplit(public_url or "")
        self.base = f"{parts.path.rstrip('/')}/console"
        """The path of the console, as browsers see it."""
        self._public = public_url
        self._origin = None if public_url is None else f"{parts.scheme}://{parts.netloc}".lower()
        self.url = None if public_url is None else f"{public_url}/console"
        """The whole address of the console, for mails; ``None`` where only requests tell it, whom nobody should
        believe."""

    def origin(self, request: Request) -> str:
        """Return the address below which the browser finds the server, for addresses in the page that it gets."""
        if self._public is not None:
            return self._public
        return f"{'https' if self.is_secure(request) else 'http'}://{request.headers.get('host', '')}"

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks HTTPS. A client that claims so wrongly only loses its own cookies."""
        if self._origin is not None:
            return self._origin.startswith("https:")
        return request.headers.get("x-forwarded-proto", "").strip().lower() == "https"

    def check_origin(self, request: Request) -> None:
        """Refuse a change that was not asked for by a page of this site (``PageRefused``).

        Browsers tell by ``Sec-Fetch-Site``; where they do not, over plain HTTP, the origin must be ours.
        """
        fetched = request.headers.get("sec-fetch-site")
        if fetched is not None:
            if fetched == "same-origin":
                return
        else:
            origin = request.headers.get("origin", "").lower()
            own = {f"{scheme}://{request.headers.get('host', '').lower()}" for scheme in ("http", "https")}
            if origin and origin in own | {self._origin}:
                return
        raise PageRefused(
            403, "Not from this page", "The form was sent by another site, or by a program. Nothing was changed."
        )

    def cookie(self, request: Request, name: str) -> str | None:
        """Return the value of one of our cookies; ``None`` where the browser holds none."""
        full = self._full_name(request, name)
        for header in request.headers.getlist("cookie"):
            for one in header.split(";"):
                found, _, value = one.strip().partition("=")
                if found == full:
                    return value
        return None

    def set_cookie(self, request: Request, name: str, value: str, seconds: int) -> str:
        """Return the header's value that has the browser hold a cookie for some seconds; 0 takes it away."""
        secure = "; Secure" if self.is_secure(request) else ""
        return f"{self._full_name(request, name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"

    def _full_name(self, request: Request, name: str) -> str:
        # A cookie of this prefix can be set neither by another host of the domain nor over plain HTTP.
        return f"{_HOST_PREFIX}{name}" if self.is_secure(request) else name


def wanted_path(text: str | None) -> tuple[str, ...]:
    """Return the segments of a page of the console that a cookie names; none for anything else."""
    if text is None or not _WANTED_PATH.fullmatch(text):
        return ()
    segments = tuple(text.split("/"))
    return () if {".", ".."} & set(segments) else segments


async def read_form(request: Request) -> Form:
    """Return the fields of a form that was sent. Raises ``PageRefused`` for one that is too large or no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageRefused(415, "Not a form", "Only forms from these pages are accepted here.")
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise PageRefused(413, "Form too large", "The form holds more than the console accepts.")
    return fields_of(body)


def fields_of(query: bytes) -> Form:
    """Return the fields of a form or of an address's query. Bytes that are no UTF-8 become U+FFFD.

    Raises ``PageRefused`` for very many fields.
    """
    try:
        found = parse_qs(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise PageRefused(400, "Too many fields", "The form holds more fields than the console accepts.") from None
    return Form({name: tuple(values) for name, values in found.items()})
