"""``cms query``: a request as applications send it → its answer, without a server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import unquote

import typer

from cli import completion, output
from cli.location import Place, find_place, usable_cache
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from snapshots.times import now_ms, parse_datetime

if TYPE_CHECKING:
    from engine.keys.access import AccessList
    from engine.page_views.counting.counts import Counts
    from engine.query.plan import Scope
    from engine.query.stages import Stages, TimedStages
    from engine.reader.reader import Reader
    from engine.reader.search_indexes import Array
    from engine.reader.statement import Statement
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
        help="Answer with the scope of this key: its prefix, its name, or all of it.",
        autocompletion=completion.keys,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", show_default=False, help="Answer as of another instant, such as 2026-12-24T18:00:00Z."
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the SQL, DuckDB's plan and the time of each stage.")]


@app.command()
def query(
    target: Target,
    key: AsKey = None,
    at: At = None,
    explain: Explain = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Answer a request here, without a server.

    From the current version, as the delivery API would. Without --key, all APIs are in scope. A TIME without an
    offset is in the workspace's time zone.
    """
    import msgspec

    from engine.query.stages import TimedStages
    from engine.reader.reader import open_reader

    target, workspace_id = _without_address(target, workspace_id)
    place = find_place(store, workspace_id)
    version = place.current_version()
    manifest = place.inside.manifest(version)
    now = now_ms() if at is None else _instant(at, manifest.workspace)
    access = _access(place)
    scope = _scope(access, key, manifest.workspace, now)
    counts = _counts(place, target)
    with usable_cache(place.store) as cache:
        with output.progress() as tell:
            tell("opening the version", 0, 0)
            reader = open_reader(place.inside.snapshots / version, manifest, cache)
        try:
            watched, first = _Watched(reader), TimedStages()
            body = _answer(cast("Reader", watched), target, scope, now, access.draft_secret, counts, first)
            statements = [_explained(reader, one) for one in watched.statements] if explain else []
            again = TimedStages()
            if explain:  # timed again: the first time also loads the data that a server holds already
                _answer(reader, target, scope, now, access.draft_secret, counts, again)
        finally:
            reader.close()
    explanation = {
        "statements": statements,
        "parts": _parts(first),
        "partsAgain": _parts(again),
        "stages": again.milliseconds,
    }
    if json:
        document = {"answer": msgspec.Raw(body), **explanation}
        output.write_json_text((msgspec.json.encode(document) if explain else body).decode())
    elif explain:
        _print_explanation(explanation)
    else:
        output.write_json_text(msgspec.json.format(body, indent=2).decode())


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
            f"{target} is no request for content: those are …/v1/WORKSPACE/ENDPOINT. Write `cms query ENDPOINT`, "
            "with an entry ID or parameters behind it."
        )
    if workspace_id not in {None, workspace}:
        raise typer.BadParameter(f'{target} is about workspace "{workspace}", and -w names "{workspace_id}".')
    return asked, workspace


def _nearest(endpoint: str, endpoints: list[str]) -> str:
    near = get_close_matches(endpoint, endpoints, 1)
    return f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(endpoints) or 'none'}."


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
        output.answer("No statement: the answer is read by position from what was prepared for this version.")
    made = {part["sql"]: part["part"] for part in explanation["parts"] if part["sql"]}
    for number, one in enumerate(explanation["statements"], 1):
        output.answer(f"{number}. {made.get(one['sql'], 'entries that a draft refers to')}", style="bold")
        output.answer(one["sql"])
        output.answer("".join(f"\n${name} = {value!r}" for name, value in one["parameters"].items()).lstrip())
        output.answer(f"\n{one['plan']}\n")
    for title, parts in (
        ("Milliseconds of each part, asked for the first time:", explanation["parts"]),
        ("The same asked again:", explanation["partsAgain"]),
    ):
        if parts:
            output.answer(title, style="bold")
        for part in parts:
            output.answer(f"{part['milliseconds']:9.3f} {part['part']}{' (kept)' if part['kept'] else ''}")
    output.answer("Milliseconds of each stage, with everything loaded:", style="bold")
    for stage, milliseconds in explanation["stages"].items():
        output.answer(f"{stage:>8} {milliseconds:9.3f}")


def _answer(
    reader: Reader, target: str, scope: Scope, now: int, secret: bytes, counts: Counts, stages: Stages
) -> bytes:
    """Return the body that the delivery API would answer with. Raises the errors that it would answer with."""
    from engine.query.answers.answer import NotFound, answer_entry, answer_list, answer_object, schema_document
    from engine.query.answers.view_counts import answer_views
    from engine.query.plan import in_scope
    from snapshots.model import ApiKind

    path, _, parameters = target.removeprefix("/").partition("?")
    endpoint, *rest = map(unquote, path.split("/"))
    raw = parameters.encode()
    if endpoint == "_schema" and not rest:
        return schema_document(reader, scope)
    of_views = endpoint == "_views" and len(rest) == 1
    if of_views:
        endpoint = rest[0]
    api = reader.workspace.api(endpoint)
    if api is None or not in_scope(api, scope):
        readable = [api.endpoint for api in reader.workspace.apis if in_scope(api, scope)]
        unreadable = "" if scope is None else ", or the key may not read it"
        raise NotFound(
            f'Workspace "{reader.workspace.id}" has no API "{endpoint}"{unreadable}. {_nearest(endpoint, readable)}'
        )
    if of_views:
        return answer_views(reader, api, raw, now, counts)
    if api.kind is ApiKind.OBJECT and not rest:
        return answer_object(reader, api, scope, raw, None, now, secret, stages)
    if api.kind is ApiKind.LIST and not rest:
        return answer_list(reader, api, scope, raw, now, counts.entry_totals, stages)
    if api.kind is ApiKind.LIST and len(rest) == 1:
        return answer_entry(reader, api, rest[0], scope, raw, None, now, secret, stages)
    raise NotFound(f'There is no "{path}": write an endpoint, or that of a list API and an entry ID after a slash.')


def _counts(place: Place, target: str) -> Counts:
    """Return the view counts if the request may ask for them; empty ones otherwise, and before the first view."""
    from engine.page_views.counting.count_files import COUNTS, TODAY
    from engine.page_views.counting.counts import Counts, CountsFile
    from engine.page_views.counting.writer import VIEWS

    directory = place.inside.directory / VIEWS
    if "views" not in unquote(target) or not (directory / COUNTS / TODAY).exists():
        return Counts()
    file = CountsFile(directory)
    file.refresh()
    return file.counts


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


def _access(place: Place) -> AccessList:
    """Return the workspace's keys; if none was ever issued, no keys and a random secret, which fits no draft key."""
    from secrets import token_bytes

    from engine.keys.access import SECRET_BYTES, AccessFile, AccessList

    return AccessFile(place.inside.directory).read() or AccessList((), token_bytes(SECRET_BYTES))


def _scope(access: AccessList, key: str | None, workspace: Workspace, now: int) -> Scope:
    """Return the scope of a key named by prefix or name; a key given whole is refused where the API would refuse it."""
    from zoneinfo import ZoneInfo

    from engine.keys.access import Keyring, find_key
    from engine.keys.keys import is_key_text

    if key is None:
        return None
    if is_key_text(key):
        ring = Keyring({workspace.id: access})
        return ring.authorize(key.encode(), workspace.id, now, ZoneInfo(workspace.timezone)).scope
    return find_key(access.keys, key).scope
