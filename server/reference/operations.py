"""Every endpoint: the document's ``paths`` (contract 4)."""

from __future__ import annotations

from typing import Final

from server.delivery.asset_delivery import MalformedRange, UnsatisfiableRange
from server.http.routes import NOTHING_HERE
from server.reference import examples
from server.reference.answers import ASSET, COUNTED, ERRORS, HEALTH, JSON, answered, described, failure, sent
from server.reference.parameters import LIST, PINNED, SHARED, SINGLE, used
from server.reference.schemas import Json, ref

CATALOG_TYPE: Final = "application/linkset+json"
NO_KEY: Final[list[Json]] = []
"""The ``security`` of operations that need no key."""


def operation(
    operation_id: str, tag: str, summary: str, description: str, parameters: list[Json], responses: Json, **more: object
) -> Json:
    """One operation, its members in the order people read them."""
    return {
        "operationId": operation_id,
        "tags": [tag],
        "summary": summary,
        "description": description,
        **({"parameters": parameters} if parameters else {}),
        **more,
        "responses": responses,
    }


def paths() -> dict[str, Json]:
    """The document's ``paths``."""
    return {
        "/v1/{workspace}/{endpoint}": {"get": contents()},
        "/v1/{workspace}/{endpoint}/{entryId}": {"get": entry()},
        "/v1/{workspace}/_schema": {"get": schema()},
        "/v1/{workspace}/_changes": {"get": changes()},
        "/v1/{workspace}/_views/{endpoint}": {"get": views()},
        **asset_paths(),
        **page_view_paths(),
        **service_paths(),
    }


def contents() -> Json:
    return operation(
        "getContents",
        "Content",
        "A list, or the item of an object API",
        "For a list API, the entries that are live now; for an object API, its one item. A parameter that the kind of "
        "API does not take has no effect.",
        used("workspace", "endpoint", *LIST, *SHARED, *SINGLE, PINNED),
        answered("The list, or the item.", {"anyOf": [ref("EntryList"), ref("Entry")]}, examples.LISTS),
    )


def entry() -> Json:
    return operation(
        "getEntry",
        "Content",
        "One entry of a list API",
        "A bare object. 404 when it does not exist or is not live. With a draft key, its saved, unpublished changes.",
        used("workspace", "endpoint", "entryId", *SHARED, *SINGLE, PINNED),
        answered("The entry.", ref("Entry"), examples.ENTRIES),
    )


def schema() -> Json:
    return operation(
        "getSchema",
        "Content",
        "The APIs and their fields",
        "The APIs that the key may read, without their content.",
        used("workspace", PINNED),
        answered(
            "The APIs.",
            ref("Schema"),
            examples.SCHEMAS,
            errors=tuple(status for status in ERRORS if status != "404"),
        ),
    )


def changes() -> Json:
    return operation(
        "getChanges",
        "Content",
        "What changed since",
        "For programs that keep a copy of the content and cannot receive webhooks: each entry that was published, "
        "updated or unpublished since, by an activation, a rollback or its schedule, in the APIs that the key may "
        "read. While `changes` is not empty, ask again at once with `next`.",
        used("workspace", "since", "changesLimit", PINNED),
        answered(
            "The changes.",
            ref("ChangeFeed"),
            examples.CHANGES,
            errors=tuple(status for status in ERRORS if status != "404"),
        ),
    )


def views() -> Json:
    return operation(
        "getViews",
        "Page views",
        "View counts of entries, with a recent range",
        "For rankings. Counts belong to entry IDs, across all APIs of the workspace, and lag by seconds. An ID has "
        "zeros unless an entry of the API has it that is live now.",
        used("workspace", "endpoint", "ids", "days", PINNED),
        answered("The counts.", ref("Views"), examples.VIEWS),
    )


def page_view_paths() -> dict[str, Json]:
    """Return the paths of page views that need no key: recording, and reading counts."""
    return {
        "/pv/{workspace}": {
            "post": operation(
                "recordView",
                "Page views",
                "Record a view",
                "For `navigator.sendBeacon` on the site's pages. Counted when the `Origin` is one of the workspace's "
                "domains and the visitor is not a bot, has not just viewed the same page, and does not send too many "
                "views. The answer is 204 whether it is counted or not.",
                used("workspace"),
                {"204": {"description": "Received.", "headers": sent("Access-Control-Allow-Origin", "X-Request-ID")}},
                requestBody={
                    "required": True,
                    "description": "An object with `path` and, to count an entry, `entryId`, as JSON text.",
                    "content": {
                        "text/plain": {
                            "schema": {
                                "type": "string",
                                "contentMediaType": JSON,
                                "contentSchema": ref("PageView"),
                            },
                            "example": '{"path": "/"}',
                        }
                    },
                },
                security=NO_KEY,
            )
        },
        "/pv/{workspace}/counts": {
            "get": operation(
                "getCounts",
                "Page views",
                "All-time view counts, without a key",
                "For showing counts on pages. Caches may store the answer, so counts lag by up to five minutes.",
                used("workspace", "countedEntries", "countedPaths"),
                {
                    "200": {
                        "description": "The counts, zero for entries and paths that were never viewed.",
                        "headers": sent(*COUNTED, "Public.ETag"),
                        "content": {JSON: {"schema": ref("PublicCounts"), "examples": examples.COUNTS}},
                    },
                    "304": {
                        "description": "`If-None-Match` names the answer's `ETag`: the client has it already.",
                        "headers": sent(*COUNTED, "Public.ETag"),
                    },
                    "400": failure(
                        "More than 50 values of a parameter.",
                        "entryId: at most 50 values, got 51.",
                        *COUNTED,
                    ),
                    "404": failure(
                        "There is no such workspace.",
                        "There is no such workspace.",
                        *COUNTED,
                    ),
                },
                security=NO_KEY,
            )
        },
    }


def asset_paths() -> dict[str, Json]:
    """Return the path of the files that content names."""
    any_type = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "/assets/{workspace}/{name}": {
            "get": operation(
                "getAsset",
                "Content",
                "An image or a file that the content uses",
                "At the addresses that are in the content; no key is needed. The file of a name never changes. Range "
                "requests and `If-None-Match` are supported.",
                used("workspace", "assetName"),
                {
                    "200": {"description": "The file.", "headers": sent(*ASSET), "content": any_type},
                    "206": {
                        "description": "The requested range of the file.",
                        "headers": sent(*ASSET),
                        "content": any_type,
                    },
                    "304": {
                        "description": "`If-None-Match` names the file's `ETag`: the client has it already.",
                        "headers": sent(*ASSET),
                    },
                    "400": failure("The `Range` is not valid.", str(MalformedRange()), "X-Request-ID"),
                    "404": failure("There is no such file.", NOTHING_HERE, "X-Request-ID"),
                    "416": failure(
                        "The file is shorter than the requested range.",
                        str(UnsatisfiableRange("bytes */4096")),
                        "X-Request-ID",
                    ),
                },
                security=NO_KEY,
            )
        }
    }


def service_paths() -> dict[str, Json]:
    """Return the paths at which the service describes itself."""
    page = {"text/html": {"schema": {"type": "string"}}}
    guarded = ("Content-Security-Policy", "Referrer-Policy")
    return {
        "/healthz": {
            "get": operation(
                "getHealth",
                "Service",
                "Whether the process is alive",
                "For process managers.",
                [],
                {
                    "200": {
                        "description": "It is.",
                        "headers": sent(*HEALTH),
                        "content": {JSON: {"schema": ref("Alive"), "example": {"status": "ok"}}},
                    }
                },
                security=NO_KEY,
            )
        },
        "/readyz": {
            "get": operation(
                "getReadiness",
                "Service",
                "What is served, and what is wrong",
                "For load balancers and people. Ready once a workspace can be served.",
                [],
                {
                    "200": {
                        "description": "At least one workspace is served.",
                        "headers": sent(*HEALTH),
                        "content": {JSON: {"schema": ref("Readiness")}},
                    },
                    "503": {
                        "description": "None is.",
                        "headers": sent(*HEALTH),
                        "content": {JSON: {"schema": ref("Readiness")}},
                    },
                },
                security=NO_KEY,
            )
        },
        "/openapi.json": {
            "get": operation(
                "getOpenapi",
                "Service",
                "This description",
                "OpenAPI 3.1. `cms openapi` prints one with the APIs and fields of a workspace.",
                [],
                described(
                    "The description.",
                    {JSON: {"schema": {"type": "object", "required": ["openapi", "info", "paths"]}}},
                    "Access-Control-Allow-Origin",
                ),
                security=NO_KEY,
            )
        },
        "/": {
            "get": operation(
                "getHome",
                "Service",
                "A page for people who open the server's address",
                "The page says what the server is for, and links to the reference.",
                [],
                described("The page.", page, *guarded),
                security=NO_KEY,
            )
        },
        "/docs": {
            "get": operation(
                "getDocs",
                "Service",
                "The reference as a web page",
                "You can try requests on this page with a key of your own.",
                [],
                described("The page.", page, *guarded),
                security=NO_KEY,
            )
        },
        "/.well-known/api-catalog": {
            "get": operation(
                "getApiCatalog",
                "Service",
                "Where the APIs and their descriptions are",
                "An API catalog (RFC 9727), for programs that find APIs.",
                [],
                described("The catalog.", {CATALOG_TYPE: {"schema": ref("Linkset")}}, "Access-Control-Allow-Origin"),
                security=NO_KEY,
            )
        },
    }
