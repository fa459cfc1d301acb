"""The page that a worker itself answers with, where the console does not."""

from __future__ import annotations

from functools import cache

from starlette.responses import Response

from server.console.answers import Answers
from server.console.requests import ConsoleSite
from server.console.visit import PageRefused


def refusal_page(public_url: str | None, title: str, why: str) -> Response:
    """Return the answer (503) that says why there is no other; ``public_url`` is the setting."""
    return _answers(public_url).refuse(PageRefused(503, title, why))


@cache
def _answers(public_url: str | None) -> Answers:
    return Answers(ConsoleSite(public_url).base)
