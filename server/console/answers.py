"""Turn what a page answers with into an HTTP answer, with the headers that keep other sites out."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from server.console.visit import Download, Moved, Outcome, PageRefused, Shown
from server.http.headers import failure_headers
from server.pages.policy import content_policy
from server.pages.rendering import Pages

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Without any referrer, browsers would not tell a form's origin either.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Answers:
    """The answers of the console, whose pages are at the path ``base``."""

    def __init__(self, base: str) -> None:
        self.pages: Final = Pages(base)

    def send(self, outcome: Outcome) -> Response:
        """Return the answer with a page, a file, or the address of another page."""
        match outcome:
            case Moved(segments, query):
                return Response(status_code=303, headers={**HEADERS, "Location": self.pages.url(*segments, **query)})
            case Download(name, media_type, body):
                disposition = f'attachment; filename="{name}"'
                return Response(body, 200, {**HEADERS, "Content-Disposition": disposition}, media_type)
            case Shown(template, values, status, policy):
                page = self.pages.render(template, values)
                headers = {**HEADERS, **failure_headers(status), "Content-Security-Policy": content_policy(policy)}
                headers.pop("WWW-Authenticate", None)
                return Response(page, status, headers, "text/html")

    def refuse(self, refusal: PageRefused) -> Response:
        """Return the page that says why there is no other."""
        return self.send(
            Shown("sign_in/refusal.html", {"title": refusal.title, "message": str(refusal)}, refusal.status)
        )


def no_page() -> PageRefused:
    """Return the refusal of an address at which there is nothing."""
    return PageRefused(404, "No such page", "There is nothing at this address. Check it for a typing error.")


def no_form() -> PageRefused:
    """Return the refusal of a request to look at what takes forms alone, or of a form to what takes none."""
    return PageRefused(405, "Not a page", "There is nothing to show at this address. Go back, or begin at the console.")
