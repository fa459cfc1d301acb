"""Arguments and options that several commands of ``cms key`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli import completion

if TYPE_CHECKING:
    from datetime import date

Prefix: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="The key's prefix, an unambiguous beginning of it, or its name.", autocompletion=completion.keys
    ),
]
Apis: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--api",
        metavar="ENDPOINT",
        help="Allow this API only; repeat it for several.",
        show_default=False,
        autocompletion=completion.endpoints,
    ),
]
Validity: TypeAlias = Annotated[
    str | None,
    typer.Option("--validity", metavar="30d|90d|1y|none", help="How long the key is valid.", show_default=False),
]
From: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATE", help="The first valid day, in the workspace's time zone.", show_default=False
    ),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option("--until", metavar="DATE", help="The last valid day; at most 5 years from today.", show_default=False),
]
NewValidity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--validity",
        metavar="30d|90d|1y|none",
        help="How long the key is valid, from today.  [default: Do not change]",
        show_default=False,
    ),
]


def given_date(text: str | None) -> date | None:
    """Return the day that an option gives, or ``None`` without one. Raises the errors of ``parse_date``."""
    from engine.access.keys.keys import parse_date

    return None if text is None else parse_date(text)
