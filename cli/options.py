"""Arguments and options that several commands share, spelled once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cli import completion
from cli.commands import Commands

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
StoreLocation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="CMS_STORE",
        metavar="STORE",
        help="The store; `cms --help` says which it is by default.",
    ),
]
WorkspaceId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--workspace-id",
        "-w",
        metavar="ID",
        help="Which workspace, if the store holds several.",
        autocompletion=completion.workspaces,
    ),
]
WorkspaceDirectory: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        metavar="WORKSPACE",
        help="A directory with a workspace.yaml. Default: the nearest one at or above the current directory.",
        show_default=False,
    ),
]
PublicUrl: TypeAlias = Annotated[
    str, typer.Option("--public-url", envvar="CMS_PUBLIC_URL", metavar="URL", help="The server's public address.")
]
AssetsHost: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--public-url",
        envvar="CMS_PUBLIC_URL",
        metavar="URL",
        help="The server's public address, with which the addresses of images and files begin. "
        "Default: they begin with /assets/, without a host.",
    ),
]
ServerUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--public-url",
        envvar="CMS_PUBLIC_URL",
        metavar="URL",
        help="The server's public address. Default: that of the server that runs on the store, else "
        "http://127.0.0.1:8787.",
        show_default=False,
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")]

MissingIn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="LANGUAGE",
        show_default=False,
        help="Also name the entries that are not translated into this language.",
    ),
]


def no_such_language(lang: str, languages: Iterable[str]) -> Exception:
    """Return the error about a language into which no API is translated, with those that there are."""
    there = ", ".join(dict.fromkeys(languages)) or "none"
    return typer.BadParameter(f'Nothing is translated into "{lang}". Languages of translations: {there}.')


def place_given(given: str) -> str:
    """Return a place that an argument names. Raises ``BadParameter`` for nothing, as an unset variable leaves it in a
    script: the current directory would be taken then."""
    if not given.strip():
        raise typer.BadParameter("It is empty. Name a directory, or the URL of a bucket, such as s3://….")
    return given


def assets_host(given: str | None) -> str | None:
    """Return what ``AssetsHost`` was given, without a slash at its end; ``None`` for nothing.

    Raises ``BadParameter``.
    """
    from server.setting_values import parse_public_url

    try:
        return parse_public_url(given) if given else None
    except ValueError as error:
        raise typer.BadParameter(f'"{given}" cannot be used: {error}.', param_hint="--public-url") from None


def new_app(summary: str | None = None) -> typer.Typer:
    """Return an application for one command; with a ``summary``, for a group of commands."""
    return typer.Typer(
        cls=Commands, help=summary, no_args_is_help=summary is not None, rich_markup_mode=None, add_completion=False
    )
