"""``cms query``: print the answer to a request as applications send it, without a server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import unquote

import typer

from cli import completion
from cli.location import choose_workspace, usable_cache
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from cli.output.progress import progress
from cli.query.local_answers import access_list, answer_request, instant_of_key, scope_of_key, view_counts
from snapshots.times import now_ms, parse_datetime

if TYPE_CHECKING:
    from engine.read.query.stages import TimedStages
    from engine.read.reader.reader import Reader
    from engine.read.reader.search_indexes import Array
    from engine.read.reader.statement import Statement
    from snapshots.model import Workspace

app = new_app()

# An endpoint holds neither a dot nor a colon.
_SERVER = re.compile(r"https?://[^/?#]*|[^/?#]*[.:][^/?#]*(?=/)", re.IGNORECASE)

Target = Annotated[
    str,
    typer.Argument(
        help="What follows the workspace in a URL: `blog?limit=3`, `blog/hello`, `_schema`, `_views/blog?ids=hello`; "
        "or the whole URL.",
        autocompletion=completion.targets,
    ),
]
AsKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="K",
        show_default=False,
        help="Answer as this key is answered: its prefix, its name, or the whole key. It must be valid now, and reads "
        "nothing of the future, and of the past only the last hour.",
        autocompletion=completion.keys,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", show_default=False, help="Answer as of another instant, such as 2026-12-24T18:00:00Z."
    ),
]
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
    from engine.read.query.parameters import ignored_parameters
    from engine.read.query.stages import TimedStages
    from engine.read.reader.reader import open_reader

    target, workspace_id = _without_address(target, workspace_id)
    chosen = choose_workspace(store, workspace_id)
    if version is not None and "@" in version:
        if at is not None:
            raise typer.BadParameter("Two instants: write one in --version, or one in --at.")
        version, _, at = version.partition("@")
    version = chosen.current_version() if version is None else chosen.workspace_store.find(version)
    manifest = chosen.workspace_store.manifest(version)
    asked_at = now_ms()
    now = asked_at if at is None else _instant(at, manifest.workspace)
    access = access_list(chosen)
    scope = scope_of_key(access, key, manifest.workspace, asked_at)
    if key is not None:
        now = instant_of_key(chosen, version, now, asked_at)
    counts = view_counts(chosen, target)
    with usable_cache(chosen.store) as cache:
        with progress() as tell:
            tell("opening the version", 0, 0)
            reader = open_reader(chosen.workspace_store.bring(version), manifest, cache)
        try:
            watched, first = _Watched(reader), TimedStages()
            answering = (chosen, scope, now, access.draft_secret, counts)
            answer = answer_request(cast("Reader", watched), target, *answering, first, strict=strict)
            statements = [_explained(reader, one) for one in watched.statements] if explain else []
            again = TimedStages()
            if explain:  # timed again: the first time also loads the data that a server holds already
                answer_request(reader, target, *answering, again, strict=strict)
        finally:
            reader.close()
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


def _without_address(target: str, workspace_id: str | None) -> tuple[str, str | None]:
    """Return the part of a request behind the workspace, and the workspace's ID.

    ``target`` is a URL of a server, the path of one, or the part behind the workspace already; then the ID is
    ``workspace_id``. Raises ``BadParameter`` for any other URL, and for one of another workspace than ``workspace_id``.
    """
    address = _SERVER.match(target)
    if address is None and not target.startswith("/v1/"):
        return target, workspace_id
    path = (target[address.end() :] if address else target).partition("#")[0]
    version, _, rest = path.removeprefix("/").partition("/")
    workspace, slash, asked = rest.partition("/")
    workspace = unquote(workspace)
    if version != "v1" or not slash or not asked:
        raise typer.BadParameter(
            f"{target} is not a request for content. Such requests are …/v1/WORKSPACE/ENDPOINT. Write `cms query "
            "ENDPOINT`, "
            "with an entry ID or parameters behind it."
        )
    if workspace_id not in {None, workspace}:
        raise typer.BadParameter(f'{target} is about workspace "{workspace}", and -w names "{workspace_id}".')
    return asked, workspace


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

    def run_for_columns(self, statement: Statement, deadline: float) -> dict[str, Array]:
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


def _instant(text: str, workspace: Workspace) -> int:
    from zoneinfo import ZoneInfo

    try:
        return parse_datetime(text, ZoneInfo(workspace.timezone))
    except ValueError as error:
        raise typer.BadParameter(f"--at: {error}.") from None
