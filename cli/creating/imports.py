"""``cms import``: turn the export of another CMS into a workspace, and report what is lost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.creating.init import id_for
from cli.options import Json, new_app
from cli.output import documents, lines, tables, wording
from cli.output.progress import progress

if TYPE_CHECKING:
    from snapshots.importers.run import Report

app = new_app("Create a workspace from another CMS's export.")

SHOWN = 40
"""Kinds of losses that are shown to people; --json has all."""

Export: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The export.", show_default=False)]
Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A folder with the files of the export.", show_default=False)
]
Directory: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Where to create the workspace; must be empty or missing.", show_default=False),
]
Assets: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Copy the export's images and files into this folder of the workspace, such as media. "
        "Without it, they keep their addresses.",
        show_default=False,
    ),
]
Language: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="The main language, if the export names none.", show_default=False),
]


@app.command()
def microcms(
    source: Folder, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import <endpoint>.json and <endpoint>.schema.json of each API."""
    _import("microcms", source, directory, assets, language, json=json)


@app.command()
def wordpress(
    source: Export, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import the XML file that Tools → Export saves (WXR)."""
    _import("wordpress", source, directory, assets, language, json=json)


@app.command()
def contentful(
    source: Export, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import the JSON file of `contentful space export`."""
    _import("contentful", source, directory, assets, language, json=json)


@app.command()
def strapi(
    source: Export, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import the archive or folder of `strapi export --no-encrypt`."""
    _import("strapi", source, directory, assets, language, json=json)


@app.command()
def sanity(
    source: Export, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import the archive or folder of `sanity dataset export`."""
    _import("sanity", source, directory, assets, language, json=json)


@app.command()
def directus(
    source: Folder, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
) -> None:
    """Import the folder of `directus-template-cli extract`."""
    _import("directus", source, directory, assets, language, json=json)


def _import(kind: str, source: Path, directory: Path, assets: str | None, language: str | None, *, json: bool) -> None:
    from snapshots.importers.run import import_export

    with progress() as tell:
        tell("Importing", 0, 0)
        report = import_export(kind, source, directory, id_for(directory), assets=assets, language=language)
    if json:
        documents.write_json(_document(directory, report))
        return
    lines.answer(f"What was imported into {directory}:\n")
    rows = [(endpoint, f"{count:,}") for endpoint, count in report.written.versions.items()]
    tables.table(("API", "LANGUAGE VERSIONS"), rows, right=("LANGUAGE VERSIONS",))
    _losses(report)
    cms = wording.program()
    lines.answer(f"\nWhat comes next:\n\ncd {shlex.quote(str(directory))}")
    lines.answer(f"{cms} check                 # list every problem, with file and line")
    lines.answer(f"{cms} snapshot build        # build a snapshot version, and make it current")


def _losses(report: Report) -> None:
    if not report.losses:
        lines.answer("\nNothing was lost.")
        return
    lines.answer("\nWhat was lost or changed:\n")
    shown = sorted(report.losses, key=lambda loss: -loss.count)[:SHOWN]
    rows = [(f"{loss.count:,}", loss.what, loss.why, loss.places[0]) for loss in shown]
    tables.table(("TIMES", "WHAT", "WHY", "FIRST AT"), rows, right=("TIMES",), wrapped=("WHAT", "WHY", "FIRST AT"))
    rest = len(report.losses) - len(shown)
    if rest:
        lines.answer(f"… and {wording.plural(rest, 'more kind')}: --json has all of them.", style="dim")


def _document(directory: Path, report: Report) -> dict[str, object]:
    return {
        "workspace": id_for(directory),
        "directory": str(directory),
        "languages": report.written.languages,
        "versions": report.written.versions,
        "losses": [
            {"what": loss.what, "why": loss.why, "count": loss.count, "places": loss.places} for loss in report.losses
        ],
    }
