"""Every status with its headers: ``components.responses`` and ``components.headers`` (contract 7, decisions 28-29)."""

from __future__ import annotations

from typing import Final

from engine.read.query.answers.signals import LONGEST_TAGS
from server.reference.schemas import Json, ref

JSON: Final = "application/json"

V1_HEADERS: Final = ("Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "X-Request-ID")
"""Headers of every answer under ``/v1``."""
AUTHENTICATED: Final = (*V1_HEADERS, "X-Snapshot", "X-Snapshot-At", "RateLimit", "RateLimit-Policy")
"""Headers of every answer under ``/v1`` once the key is accepted."""
UNCHANGED: Final = (*AUTHENTICATED, "ETag", "Vary", "X-Next-Change", "X-Content-Tags", "X-Ignored-Parameters")
"""Headers of every 304 under ``/v1``."""
SUCCESSFUL: Final = (*UNCHANGED, "Content-Encoding")
"""Headers of every 200 under ``/v1``."""
COUNTED: Final = ("Access-Control-Allow-Origin", "Public.Cache-Control", "X-Request-ID")
"""Headers of every answer with public counts, or with why there are none."""
ASSET: Final = (
    "Asset.Cache-Control",
    "Access-Control-Allow-Origin",
    "Asset.ETag",
    "X-Content-Type-Options",
    "Asset.Content-Security-Policy",
    "Cross-Origin-Resource-Policy",
    "X-Request-ID",
)
"""Headers of every answer that is an asset, or says that the client has it."""
HEALTH: Final = ("Health.Cache-Control", "X-Request-ID")
"""Headers of every answer about the health of the server."""

ERRORS: Final = {
    "400": "InvalidRequest",
    "401": "KeyRejected",
    "403": "WrongWorkspace",
    "404": "NotFound",
    "410": "PointGone",
    "429": "TooManyRequests",
    "500": "ServerError",
    "503": "NotReady",
}


def headers() -> dict[str, Json]:
    """The document's ``components.headers``."""
    text = {"type": "string"}
    return {
        "Cache-Control": {
            "description": "The answer is for this key only, so no cache may store it.",
            "schema": {"const": "private, no-store"},
            "required": True,
        },
        "Access-Control-Allow-Origin": {
            "description": "Pages of any origin may read the answer.",
            "schema": {"const": "*"},
            "required": True,
        },
        "Access-Control-Expose-Headers": {
            "description": "Pages of any origin may read all headers of the answer.",
            "schema": {"const": "*"},
            "required": True,
        },
        "X-Request-ID": {
            "description": "The request's ID in the server's log: the one that it was sent with, or a new one.",
            "schema": text,
            "required": True,
            "example": "97eafe5d-1f",
        },
        "X-Snapshot": {
            "description": "The snapshot version that the answer comes from. Another value means that something was "
            "published.",
            "schema": text,
            "example": "20260110T093000000Z-56a8d682",
        },
        "X-Snapshot-At": {
            "description": "The instant for which the answer is right.",
            "schema": {**text, "format": "date-time"},
            "example": "2026-01-10T09:41:07.250Z",
        },
        "X-Next-Change": {
            "description": "The next instant at which anything is published or ends by its schedule in the APIs that "
            "the answer is made from, whatever is asked for in them. Until then the answer stays the same, unless "
            "something is published. Absent if no such instant is known, or if the workspace does not tell.",
            "schema": {**text, "format": "date-time"},
            "example": "2026-02-01T00:00:00.000Z",
        },
        "X-Content-Tags": {
            "description": "The workspace, and the APIs (`workspace:endpoint`) and entries (`workspace:endpoint:id`) "
            "that the answer depends on. Every change that can alter the answer has one of these tags.",
            "schema": {**text, "maxLength": LONGEST_TAGS},
            "required": True,
            "example": "acme, acme:blog, acme:authors:mika",
        },
        "RateLimit": {
            "description": "Requests left (`r`), and the seconds until there are more (`t`).",
            "schema": text,
            "example": '"key";r=299;t=60',
        },
        "RateLimit-Policy": {
            "description": "Requests (`q`) in a window of seconds (`w`).",
            "schema": text,
            "example": '"key";q=300;w=60',
        },
        "ETag": {
            "description": "A strong tag of exactly these bytes in this content coding. Sent back in `If-None-Match`, "
            "it saves the body.",
            "schema": text,
            "example": '"3ae7d805f6789a6402acb70ad4096a85"',
        },
        "Vary": {
            "description": "The request header that decides the content coding.",
            "schema": {"const": "Accept-Encoding"},
            "required": True,
        },
        "Content-Encoding": {
            "description": "The content coding; absent if there is none.",
            "schema": text,
            "example": "br",
        },
        "X-Ignored-Parameters": {
            "description": "The names of query parameters that no read endpoint has, percent-encoded. Absent if "
            "there are none.",
            "schema": text,
            "example": "page, sort",
        },
        "WWW-Authenticate": {
            "description": "How to send a key.",
            "schema": text,
            "required": True,
            "example": 'ApiKey header="X-API-KEY"',
        },
        "Retry-After": {
            "description": "Seconds to wait before the next request.",
            "schema": {"type": "integer", "minimum": 0},
            "required": True,
            "example": 12,
        },
        "Public.Cache-Control": {
            "description": "Caches may store the counts for a while.",
            "schema": {"const": "public, max-age=60, s-maxage=300"},
            "required": True,
        },
        "Public.ETag": {
            "description": "A strong tag of the counts. Sent back in `If-None-Match`, it saves the body.",
            "schema": text,
            "required": True,
            "example": '"3ae7d805f6789a6402acb70ad4096a85"',
        },
        "Asset.Cache-Control": {
            "description": "The file of a name never changes, so caches may store it forever.",
            "schema": {"const": "public, max-age=31536000, immutable"},
            "required": True,
        },
        "Asset.ETag": {
            "description": "A strong tag of the file. Sent back in `If-None-Match`, it saves the body.",
            "schema": text,
            "required": True,
            "example": '"3ae7d805f6789a6402acb70ad4096a85"',
        },
        "Asset.Content-Security-Policy": {
            "description": "A file that is opened as a page runs no scripts and loads nothing.",
            "schema": text,
            "required": True,
        },
        "Cross-Origin-Resource-Policy": {
            "description": "Pages of any origin may show the file.",
            "schema": {"const": "cross-origin"},
            "required": True,
        },
        "Health.Cache-Control": {
            "description": "No cache may store the state of the service.",
            "schema": {"const": "no-store"},
            "required": True,
        },
        "Service.Cache-Control": {
            "description": "Caches may store this description for a while.",
            "schema": {"const": "public, max-age=300"},
            "required": True,
        },
        "Service.ETag": {
            "description": "A weak tag of these bytes in any content coding. Sent back in `If-None-Match`, it saves "
            "the body.",
            "schema": text,
            "required": True,
            "example": 'W/"3ae7d805f6789a64"',
        },
        "Link": {
            "description": "The addresses of the description, the reference and the catalog.",
            "schema": text,
            "required": True,
            "example": '</openapi.json>; rel="service-desc"; type="application/json"',
        },
        "X-Content-Type-Options": {
            "description": "The body is what `Content-Type` says, whatever it looks like.",
            "schema": {"const": "nosniff"},
            "required": True,
        },
        "Content-Security-Policy": {
            "description": "A page loads nothing from elsewhere, and sends nothing elsewhere.",
            "schema": text,
            "required": True,
        },
        "Referrer-Policy": {
            "description": "Links on the page send no Referer.",
            "schema": {"const": "no-referrer"},
            "required": True,
        },
    }


def sent(*names: str) -> Json:
    """Headers of an answer, by the names of their components: one header may have several, told apart by a prefix
    that ends with a dot."""
    return {name.rpartition(".")[2]: ref(name, "headers") for name in names}


def failure(description: str, message: str, *carried: str) -> Json:
    """An answer that is ``{message}``."""
    return {
        "description": description,
        "headers": sent(*carried),
        "content": {JSON: {"schema": ref("Error"), "example": {"message": message}}},
    }


def responses() -> dict[str, Json]:
    """Return the document's ``components.responses``: 304 and the failures under ``/v1``."""
    return {
        "NotModified": {
            "description": "`If-None-Match` names the answer's `ETag`: the client has it already. Counted for the rate "
            "limit like any other answer.",
            "headers": sent(*UNCHANGED),
        },
        "InvalidRequest": failure(
            "A parameter cannot be used. The message names it and says what is accepted.",
            'limit: expected an integer from 1 to 100, got "500".',
            *AUTHENTICATED,
        ),
        "KeyRejected": failure(
            "The key is missing, unknown, disabled, or outside its validity period.",
            "This API key has expired.",
            *V1_HEADERS,
            "WWW-Authenticate",
        ),
        "WrongWorkspace": failure(
            "The key belongs to another workspace.",
            "This API key belongs to another workspace.",
            *V1_HEADERS,
        ),
        "NotFound": failure(
            "There is no such API or entry, the entry is not live, the key may not read the API, or the draft key "
            "opens nothing here.",
            "There is no such API in this workspace, or this API key may not read it.",
            *AUTHENTICATED,
        ),
        "PointGone": failure(
            "What `X-Snapshot`, or `since`, names is no longer kept, or never was. Begin again without it.",
            "Snapshot version 20260110T093000000Z-56a8d682 is no longer kept as of 2026-01-10T09:41:07.250Z. "
            "Begin again without X-Snapshot.",
            *AUTHENTICATED,
        ),
        "TooManyRequests": failure(
            "The key's rate limit is used up.",
            "This API key may make 300 requests in 60 seconds. Try again in 12 seconds.",
            *AUTHENTICATED,
            "Retry-After",
        ),
        "ServerError": failure(
            "Something went wrong on the server.",
            "Something went wrong on the server. It has been logged as 97eafe5d-1f.",
            *AUTHENTICATED,
        ),
        "NotReady": failure(
            "The content cannot be served just now, or the request took too long.",
            "The content of this workspace is not ready to be served yet. Try again in a moment.",
            *AUTHENTICATED,
            "Retry-After",
        ),
    }


def described(description: str, content: Json, *carried: str) -> Json:
    """The answers of the service about itself: 200, and 304 for a client that has them already."""
    of_all = ("Service.Cache-Control", "Service.ETag", "Vary", "Link", "X-Content-Type-Options", "X-Request-ID")
    return {
        "200": {
            "description": description,
            "headers": sent(*of_all, *carried, "Content-Encoding"),
            "content": content,
        },
        "304": {
            "description": "`If-None-Match` names the answer's `ETag`: the client has it already.",
            "headers": sent(*of_all, *carried),
        },
    }


def answered(description: str, schema: Json, examples: Json, *, errors: tuple[str, ...] = tuple(ERRORS)) -> Json:
    """The answers of an operation under ``/v1``: 200, and the failures by their statuses."""
    return {
        "200": {
            "description": description,
            "headers": sent(*SUCCESSFUL),
            "content": {JSON: {"schema": schema, **({"examples": examples} if examples else {})}},
        },
        "304": ref("NotModified", "responses"),
        **{status: ref(ERRORS[status], "responses") for status in errors},
    }
