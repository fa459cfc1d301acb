"""What a validator of the standard finds wrong with an OpenAPI document."""

from __future__ import annotations

from typing import Any


def broken_rules(document: Any) -> list[Any]:
    # A fifth of a second to import, in each process that collects tests.
    from openapi_spec_validator import OpenAPIV31SpecValidator

    return list(OpenAPIV31SpecValidator(document).iter_errors())
