"""Every status with its headers: ``components.responses`` and ``components.headers`` (contract 7, decisions 28-29)."""

from __future__ import annotations

from typing import Final

from server.reference.schemas import Json, ref

JSON: Final = "application/json"

V1_HEADERS: Final = ("Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "X-Request-ID")
"""Headers of every answer under ``/v1``."""
AUTHENTICATED: Final = (*V1_HEADERS, "X-Snapshot", "RateLimit", "RateLimit-Policy")
"""Headers of every answer under ``/v1`` once the key is accepted."""
UNCHANGED: Final = (*AUTHENTICATED, "ETag", "Vary", "X-Ignored-Parameters")
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
    "429": "TooManyRequests",
    "500": "ServerError",
    "503": "NotReady",
}


def headers() -> dict[str, Json]:
    """The document's ``components.headers``."""
    text = {"type": "string"}
    return {
        "Cache-Control": {
            "description": "Delivered content is for whoever asked, and never kept by a cache.",
            "schema": {"const": "private, no-store"},
            "required": True,
        },
        "Access-Control-Allow-Origin": {
            "description": "Any page may read the answer.",
            "schema": {"const": "*"},
            "required": True,
        },
        "Access-Control-Expose-Headers": {
            "description": "The headers that a page of another origin may read.",
            "schema": text,
            "required": True,
            "example": "X-Snapshot, X-Request-ID, ETag, Retry-After",
        },
        "X-Request-ID": {
            "description": "The request's name in the server's log: the one that it was sent with, or a new one.",
            "schema": text,
            "required": True,
            "example": "97eafe5d-1f",
        },
        "X-Snapshot": {
            "description": "The version of the content that answered. Another value means that content was published.",
            "schema": text,
            "example": "20260110T093000000Z-56a8d682",
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
            "description": "The request header that decides about the content coding.",
            "schema": {"const": "Accept-Encoding"},
            "required": True,
        },
        "Content-Encoding": {
            "description": "The content coding; a body without any has no such header.",
            "schema": text,
            "example": "br",
        },
        "X-Ignored-Parameters": {
            "description": "The names of query parameters that no read endpoint has, percent-encoded. Without such "
            "parameters, the header is not there.",
            "schema": text,
            "example": "page, sort",
        },
        "WWW-Authenticate": {
            "description": "How to present a key.",
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
            "description": "Counts may be kept for a while.",
            "schema": {"const": "public, max-age=60, s-maxage=300"},
            "required": True,
        },
        "Asset.Cache-Control": {
            "description": "A name never means other bytes, so the file may be kept for ever.",
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
            "description": "A file that is opened as a page runs nothing and loads nothing.",
            "schema": text,
            "required": True,
        },
        "Cross-Origin-Resource-Policy": {
            "description": "Any page may show the file.",
            "schema": {"const": "cross-origin"},
            "required": True,
        },
        "Health.Cache-Control": {
            "description": "Health is never kept by a cache.",
            "schema": {"const": "no-store"},
            "required": True,
        },
        "Service.Cache-Control": {
            "description": "What the service says of itself may be kept for a while.",
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
            "description": "Where the definition, the reference and the catalog are.",
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
            "description": "A page tells no other where somebody comes from.",
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
