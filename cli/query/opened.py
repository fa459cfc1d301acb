"""Open a version of a workspace in a store for a request, at the instant and in the scope that it is asked with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias
from urllib.parse import unquote

import typer

from cli import completion
from cli.location import ChosenWorkspace, usable_cache
from cli.output.progress import progress
from cli.query.local_answers import access_list, answer_request, instant_of_key, scope_of_key, view_counts
from snapshots.times import now_ms, parse_datetime

if TYPE_CHECKING:
    from engine.read.query.answers.answer_cache import Answer
    from engine.read.query.stages import Stages
    from engine.read.reader.reach import Scope
    from engine.read.reader.reader import Reader
    from engine.views.counting.counts import Counts
    from snapshots.model import Workspace
    from snapshots.store.manifest import Manifest

# An endpoint holds neither a dot nor a colon.
_SERVER = re.compile(r"https?://[^/?#]*|[^/?#]*[.:][^/?#]*(?=/)", re.IGNORECASE)

Target: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="What follows the workspace in a URL: `blog?limit=3`, `blog/hello`, `_schema`, `_views/blog?ids=hello`; "
        "or the whole URL.",
        autocompletion=completion.targets,
    ),
]
AsKey: TypeAlias = Annotated[
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
At: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", show_default=False, help="Answer as of another instant, such as 2026-12-24T18:00:00Z."
    ),
]


@dataclass(frozen=True, slots=True)
class OpenedRequest:
    """A request, and the version that answers it."""

    target: str
    """What follows the workspace in a URL."""
    chosen: ChosenWorkspace
    manifest: Manifest
    reader: Reader
    scope: Scope
    has_key: bool
    now: int
    """The instant at which it is asked, UTC milliseconds."""
    secret: bytes
    counts: Counts

    def answer(self, reader: Reader, stages: Stages, *, strict: bool = False) -> Answer:
        """Return what ``answer_request`` does, from ``reader`` or what stands before it."""
        asking = (self.chosen, self.scope, self.now, self.secret, self.counts)
        return answer_request(reader, self.target, *asking, stages, strict=strict)


@contextmanager
def opened_request(
    chosen: ChosenWorkspace, target: str, key: str | None, at: str | None, version: str
) -> Iterator[OpenedRequest]:
    """Open a version for a request in the block. ``key`` is as ``AsKey`` has it, ``at`` as ``At``.

    Raises as ``scope_of_key``, ``instant_of_key`` and ``open_reader``.
    """
    from engine.read.reader.reader import open_reader

    manifest = chosen.workspace_store.manifest(version)
    asked_at = now_ms()
    now = asked_at if at is None else instant_at(at, manifest.workspace)
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
            secret = access.draft_secret
            yield OpenedRequest(target, chosen, manifest, reader, scope, key is not None, now, secret, counts)
        finally:
            reader.close()


def without_address(target: str, workspace_id: str | None, command: str) -> tuple[str, str | None]:
    """Return the part of a request behind the workspace, and the workspace's ID.

    ``target`` is a URL of a server, the path of one, or the part behind the workspace already; then the ID is
    ``workspace_id``. Raises ``BadParameter`` for any other URL, and for one of another workspace than ``workspace_id``.
    ``command`` is the one that is called, for the message.
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
            f"{target} is not a request for content. Such requests are …/v1/WORKSPACE/ENDPOINT. Write `cms {command} "
            "ENDPOINT`, "
            "with an entry ID or parameters behind it."
        )
    if workspace_id not in {None, workspace}:
        raise typer.BadParameter(f'{target} is about workspace "{workspace}", and -w names "{workspace_id}".')
    return asked, workspace


def instant_at(text: str, workspace: Workspace) -> int:
    """Return a time that is written as ``At`` has it, UTC milliseconds. Raises ``BadParameter``."""
    from zoneinfo import ZoneInfo

    try:
        return parse_datetime(text, ZoneInfo(workspace.timezone))
    except ValueError as error:
        raise typer.BadParameter(f"--at: {error}.") from None
