"""The OpenAPI 3.1 document of the service, and of one workspace's part of it (contract 9)."""

from __future__ import annotations

from typing import Final

from server.reference.answers import headers, responses
from server.reference.operations import paths
from server.reference.parameters import parameters
from server.reference.schemas import Json, base_schemas, entry_schemas
from snapshots.version import VERSION

OPENAPI: Final = "3.1.1"

_DESCRIPTION: Final = """\
**Keys.** Every request under `/v1` carries an API key in the header `X-API-KEY`, never in the URL. A key belongs to one
workspace, can only read, and reaches published content only. `cms key create NAME` issues one.

**Requests.** `HEAD` answers as `GET` without a body; under `/v1`, `OPTIONS` answers preflights from any origin. Another
method is 405 with `Allow`, an unknown path 404. Paths are exact: a trailing slash is another path. A parameter that an
operation does not list has no effect; of a repeated one the last counts.

**Examples** of answers are those of the example workspace, which `cms demo` serves.

**Failures.** Every one is JSON: `{"message": "…"}`.
"""


def service_document() -> Json:
    """The definition of the whole service, for any workspace."""
    return document(
        "Parquetry delivery API",
        _DESCRIPTION,
        paths(),
        {**base_schemas(), **entry_schemas()},
        parameters(),
    )


def document(title: str, description: str, operations: Json, schemas: Json, known_parameters: Json) -> Json:
    """A whole document around paths, schemas and parameters. ``servers`` is where it was fetched from."""
    return {
        "openapi": OPENAPI,
        "info": {
            "title": title,
            "version": VERSION,
            "summary": "Read-only JSON over HTTP: the content of a workspace, for the applications that show it.",
            "description": description,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"apiKey": []}],
        "tags": [
            {"name": "Content", "description": "What is published, as JSON."},
            {"name": "Page views", "description": "Counting views of pages and entries, and reading the counts."},
            {"name": "Service", "description": "The service about itself; no key is needed."},
        ],
        "paths": operations,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-API-KEY",
                    "description": "An API key of the workspace that is read.",
                }
            },
            "schemas": schemas,
            "parameters": known_parameters,
            "headers": headers(),
            "responses": responses(),
        },
    }
