"""``cms query``: print the answer to a request as applications send it, without a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cli import completion
from cli.location import choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from cli.query.explained import DRAFT_KEY, not_answered
from cli.query.opened import AsKey, At, OpenedRequest, Target, opened_request, without_address
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.read.query.stages import TimedStages
    from engine.read.reader.reader import Reader
    from engine.read.reader.statement import Columns, Statement

app = new_app()

Version = Annotated[
    str | None,
    typer.Option(
        "--version",
        metavar="V[@TIME]",
        show_default=False,
        help="Answer from this snapshot version, given whole or by an unambiguous beginning; with @TIME, as an "
        "answer's X-Snapshot and X-Snapshot-At name it.",
        autocompletion=completion.versions,
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the SQL, DuckDB's plan and the time of each stage.")]


@app.command()
def query(
    target: Target,
    key: AsKey = None,
    at: At = None,
    version: Version = None,
    explain: Explain = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse what otherwise has no effect or matches nothing: unknown parameters, fields and options.",
        ),
    ] = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Answer a request on this machine, without a server.

    The answer is that of the delivery API, from the current snapshot version or another. Without --key, all APIs are
    in scope. A TIME without an offset is in the workspace's time zone.
    """
    import msgspec

    from engine.read.query.answers.answer_cache import JSON
    from engine.read.query.answers.bind import NotFound
    from engine.read.query.parameters import ignored_parameters
    from engine.read.query.stages import TimedStages

    target, workspace_id = without_address(target, workspace_id, "query")
    chosen = choose_workspace(store, workspace_id)
    if version is not None and "@" in version:
        if at is not None:
            raise typer.BadParameter("Two instants: write one in --version, or one in --at.")
        version, _, at = version.partition("@")
    version = chosen.current_version() if version is None else chosen.workspace_store.find(version)
    with opened_request(chosen, target, key, at, version) as opened:
        reader = opened.reader
        watched, first, again = _Watched(reader), TimedStages(), TimedStages()
        try:
            answer = opened.answer(cast("Reader", watched), first, strict=strict)
        except NotFound as error:
            _tell_why(opened, error)
            raise
        statements = [_explained(reader, one) for one in watched.statements] if explain else []
        if explain:  # timed again: the first time also loads the data that a server holds already
            opened.answer(reader, again, strict=strict)
    ignored = ignored_parameters(target.partition("?")[2].encode())
    if ignored:
        lines.warning(f"Without effect, as no endpoint has such parameters: {', '.join(ignored)}.")
    explanation = {
        "statements": statements,
        "parts": _parts(first),
        "partsAgain": _parts(again),
        "stages": again.milliseconds,
    }
    is_json = answer.media_type == JSON
    if json:
        body = answer.body if is_json else msgspec.json.encode(answer.body.decode())
        document = {"answer": msgspec.Raw(body), **explanation}
        documents.write_json_text((msgspec.json.encode(document) if explain else body).decode())
    elif explain:
        _print_explanation(explanation)
    elif is_json:
        documents.write_json_text(msgspec.json.format(answer.body, indent=2).decode())
    else:
        documents.write_source(answer.body.decode())


def _tell_why(opened: OpenedRequest, error: ParquetryError) -> None:
    """Say on standard error what the store knows of an entry that is not there for this request."""
    from engine.read.query.answers.bind import target_of

    found = not_answered(opened, target_of(opened.target), error, files=False)
    if found.reason in (DRAFT_KEY, "unknown_api"):  # the error says it all
        return
    for sentence in found.sentences:
        lines.message(sentence)
    if not opened.has_key:
        lines.message(f"So says snapshot version {opened.manifest.version} in {opened.chosen.store.location}.")


def _parts(stages: TimedStages) -> list[dict[str, Any]]:
    """Return the timed parts of a list request as ``--json`` prints them."""
    return [
        {
            "part": part.about,
            "sql": part.statement and part.statement.text,
            "kept": part.kept,
            "milliseconds": part.milliseconds,
        }
        for part in stages.parts
    ]


def _print_explanation(explanation: dict[str, Any]) -> None:
    if not explanation["statements"]:
        lines.answer("No SQL statement: the answer is read directly from the files prepared for this snapshot version.")
    made = {part["sql"]: part["part"] for part in explanation["parts"] if part["sql"]}
    for number, one in enumerate(explanation["statements"], 1):
        lines.answer(f"{number}. {made.get(one['sql'], 'entries that a draft refers to')}", style="bold")
        lines.copied(one["sql"])
        lines.copied("".join(f"\n${name} = {value!r}" for name, value in one["parameters"].items()).lstrip())
        lines.copied(f"\n{one['plan']}\n")
    for title, parts in (
        ("Milliseconds of each part, asked for the first time:", explanation["parts"]),
        ("The same asked again:", explanation["partsAgain"]),
    ):
        if parts:
            lines.answer(title, style="bold")
        for part in parts:
            lines.answer(f"{part['milliseconds']:9.3f} {part['part']}{' (kept)' if part['kept'] else ''}")
    lines.answer("Milliseconds of each stage, with everything loaded:", style="bold")
    for stage, milliseconds in explanation["stages"].items():
        lines.answer(f"{stage:>8} {milliseconds:9.3f}")


@dataclass(slots=True)
class _Watched:
    """A reader that remembers the statements it runs."""

    reader: Reader
    statements: list[Statement] = field(default_factory=list)

    def run(self, statement: Statement, deadline: float) -> list[tuple[Any, ...]]:
        self.statements.append(statement)
        return self.reader.run(statement, deadline)

    def run_for_columns(self, statement: Statement, deadline: float) -> Columns:
        self.statements.append(statement)
        return self.reader.run_for_columns(statement, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)


def _explained(reader: Reader, statement: Statement) -> dict[str, Any]:
    return {
        "sql": statement.text,
        "parameters": dict(statement.parameters),
        "plan": reader.explain(statement, reader.deadline()),
    }
