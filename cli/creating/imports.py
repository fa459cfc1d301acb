"""``cms import``: turn the export of another CMS into a workspace, and report what is lost."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.creating.init import id_for
from cli.options import Json, new_app
from cli.output import documents, lines, tables, wording
from cli.output.progress import progress
from snapshots.importers.kinds.registry import KINDS, ImportKind

if TYPE_CHECKING:
    from snapshots.importers.run import ImportReport

app = new_app("Create a workspace from another CMS's export.")

SHOWN = 40
"""Kinds of losses that are shown to people; --json has all."""

Export: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The export.", show_default=False)]
Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A folder with the files of the export.", show_default=False)
]
Table: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="The table, or a folder with several.", show_default=False)
]
Api: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--api",
        metavar="ENDPOINT",
        help="The name of the API. Default: that of the file, or of the sheet where there are several.",
        show_default=False,
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="The sheet of a workbook to import. Default: each that is not hidden.",
        show_default=False,
    ),
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


def _command(name: str, kind: ImportKind) -> Callable[..., None]:
    """Return the command that imports exports of one kind."""

    def command(
        source: Export, directory: Directory, assets: Assets = None, language: Language = None, json: Json = False
    ) -> None:
        _import(name, source, directory, assets, language, json=json)

    if kind.is_folder:
        command.__annotations__["source"] = Folder
    return _of_a_table(name) if kind.takes_api else command


def _of_a_table(name: str) -> Callable[..., None]:
    """Return the command that imports tables, each of which becomes an API."""

    def command(
        source: Table,
        directory: Directory,
        api: Api = None,
        sheet: Sheet = None,
        assets: Assets = None,
        language: Language = None,
        json: Json = False,
    ) -> None:
        _import(name, source, directory, assets, language, api=api, sheet=sheet, json=json)

    return command


for _name, _kind in KINDS.items():
    app.command(_name, help=_kind.help)(_command(_name, _kind))


def _import(
    kind: str,
    source: Path,
    directory: Path,
    assets: str | None,
    language: str | None,
    *,
    api: str | None = None,
    sheet: str | None = None,
    json: bool,
) -> None:
    from snapshots.importers.run import import_export

    with progress() as tell:
        tell("Importing", 0, 0)
        read = import_module(KINDS[kind].module).read
        report = import_export(
            kind,
            read,
            source,
            directory,
            id_for(directory),
            assets=assets,
            language=language,
            api=api,
            sheet=sheet,
        )
    if json:
        documents.write_json(_document(directory, report))
        return
    lines.answer(f"What was imported into {directory}:\n")
    rows = [(endpoint, f"{count:,}") for endpoint, count in report.written.versions.items()]
    tables.table(("API", "LANGUAGE VERSIONS"), rows, right=("LANGUAGE VERSIONS",))
    _losses(report)
    cms = wording.program()
    lines.copied(f"\nWhat comes next:\n\ncd {shlex.quote(str(directory))}")
    lines.copied(f"{cms} check                 # list every problem, with file and line")
    lines.copied(f"{cms} snapshot build        # build a snapshot version, and make it current")


def _losses(report: ImportReport) -> None:
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


def _document(directory: Path, report: ImportReport) -> dict[str, object]:
    return {
        "workspace": id_for(directory),
        "directory": str(directory),
        "languages": report.written.languages,
        "versions": report.written.versions,
        "losses": [
            {"what": loss.what, "why": loss.why, "count": loss.count, "places": loss.places} for loss in report.losses
        ],
    }
