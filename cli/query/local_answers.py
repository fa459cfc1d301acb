"""Answer a request from a version in a store, as a server would."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import unquote

from cli.location import ChosenWorkspace

if TYPE_CHECKING:
    from engine.access.keys.access import AccessList
    from engine.read.query.answers.answer_cache import Answer
    from engine.read.query.stages import Stages
    from engine.read.reader.reach import Scope
    from engine.read.reader.reader import Reader
    from engine.views.counting.counts import Counts
    from snapshots.model import Workspace


def answer_request(
    reader: Reader,
    target: str,
    chosen: ChosenWorkspace,
    scope: Scope,
    now: int,
    secret: bytes,
    counts: Counts,
    stages: Stages,
    *,
    strict: bool = False,
) -> Answer:
    """Return what the delivery API would answer with, to one that asks for ``strict`` reading or not. Raises the errors
    that it would answer with."""
    from engine.described.answers import bind_described, described_answer
    from engine.read.query.answers.answer import History, Source, answer_to
    from engine.read.query.answers.bind import ChangesPlan, NotFound, UnknownApi, bind, target_of
    from engine.read.reader.reach import in_scope

    asked = target_of(target)
    described = bind_described(asked, scope, strict=strict)
    if described is not None:
        stages.done("bind")
        return described_answer(described, reader.workspace, _document)
    try:
        plan = bind(reader, scope, asked, {}, stages, strict=strict)
    except UnknownApi as error:
        readable = [api.endpoint for api in reader.workspace.apis if in_scope(api, scope)]
        unreadable = "" if scope is None else ", or the key may not read it"
        raise NotFound(
            f'Workspace "{reader.workspace.id}" has no API "{error.endpoint}"{unreadable}. '
            f"{_nearest(error.endpoint, readable)}"
        ) from None
    stages.done("bind")
    history = (
        History(chosen.workspace_store, chosen.workspace_store.current()) if isinstance(plan, ChangesPlan) else None
    )
    source = Source(reader, now, counts.entry_totals, counts, draft_secret=secret, history=history)
    return answer_to(plan, source, stages)


def _document(workspace: Workspace) -> bytes:
    from server.reference.workspace_document import encoded_document

    return encoded_document(workspace, "/")


def view_counts(chosen: ChosenWorkspace, target: str) -> Counts:
    """Return the view counts if the request may ask for them; empty ones otherwise, and before the first view."""
    from engine.views.collecting.spool import VIEWS
    from engine.views.counting.count_files import COUNTS, TODAY
    from engine.views.counting.counts import Counts, CountsFile

    directory = chosen.workspace_store.directory / VIEWS
    if "views" not in unquote(target) or not (directory / COUNTS / TODAY).exists():
        return Counts()
    file = CountsFile(directory)
    file.refresh()
    return file.counts


def access_list(chosen: ChosenWorkspace) -> AccessList:
    """Return the workspace's keys; if none was ever issued, no keys and a random secret, which fits no draft key."""
    from secrets import token_bytes

    from engine.access.keys.access import SECRET_BYTES, AccessFile, AccessList

    return AccessFile(chosen.workspace_store).read() or AccessList((), token_bytes(SECRET_BYTES))


def scope_of_key(access: AccessList, key: str | None, workspace: Workspace, now: int) -> Scope:
    """Return the scope of a key, given whole or named by prefix or name, which is refused at ``now`` (UTC ms) where the
    API would refuse it: ``KeyRejected``."""
    from zoneinfo import ZoneInfo

    from engine.access.keys.access import Keyring, find_key, valid_key
    from engine.access.keys.keys import is_key_text

    if key is None:
        return None
    if is_key_text(key):
        ring = Keyring({workspace.id: access})
        return ring.authorize(key.encode(), workspace.id, now, ZoneInfo(workspace.timezone)).scope
    return valid_key(find_key(access.keys, key), now, ZoneInfo(workspace.timezone)).scope


def instant_of_key(chosen: ChosenWorkspace, version: str, at: int, now: int) -> int:
    """Return the instant at which a version is read for who asks with a key at ``now``, as a server that is asked with
    ``X-Snapshot`` has it; all in UTC milliseconds.

    Raises ``PointGone`` for what no key reads any more, and ``InvalidQuery`` for the future.
    """
    from engine.read.query.invalid_query import InvalidQuery
    from engine.timeline.points import PINNED_SECONDS, Point, PointGone
    from snapshots.times import format_datetime

    if at > now:
        raise InvalidQuery(f"{format_datetime(at)} is in the future, which no key can read. Leave the key out.")
    history = chosen.workspace_store.current()
    shown = None if history is None else history.shown(version, at)
    if shown is None or shown < now - PINNED_SECONDS * 1000:
        raise PointGone(Point(version, at), without="the instant, or without the key")
    return shown


def _nearest(endpoint: str, endpoints: list[str]) -> str:
    near = get_close_matches(endpoint, endpoints, 1)
    return f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(endpoints) or 'none'}."
