"""Explain the answer to a request: what it is, or why there is none, from the store and the files of the workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cli.location import ChosenWorkspace, usable_cache
from cli.output.progress import progress
from cli.output.wording import plural
from cli.query.opened import OpenedRequest
from cli.query.sentences import AskedEntry, for_key, sentences
from snapshots.problems import ParquetryError, Problems
from snapshots.times import format_datetime

if TYPE_CHECKING:
    from pathlib import Path

    from engine.read.query.answers.bind import Target
    from engine.visibility import Visibility
    from engine.why.facts import Stored, Written
    from engine.why.reason import Reason
    from snapshots.model import Api, Workspace
    from snapshots.store.manifest import Manifest

DRAFT_KEY = "draft_key"
"""The reason of what a draft key opens, or does not."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The reason for an answer, or for none."""

    is_live: bool
    """Whether the API answers with 200."""
    reason: str
    sentences: list[str]
    about: dict[str, Any] = field(default_factory=dict)
    """The facts of the reason, as ``--json`` prints them."""


def explained(opened: OpenedRequest, *, files: bool) -> Explained:
    """Explain what the API answers. With ``files`` and without a key, the workspace's files count too.

    Raises the errors of requests that cannot be read: ``InvalidQuery`` and ``PointGone``.
    """
    import msgspec

    from engine.read.query.answers.answer_cache import JSON
    from engine.read.query.answers.bind import NotFound, target_of
    from engine.read.query.invalid_query import InvalidQuery
    from engine.read.query.stages import UNWATCHED
    from engine.why.reason import Kind

    target = target_of(opened.target)
    asked = asked_entry(target, opened.manifest.workspace)
    try:
        answer = opened.answer(opened.reader, UNWATCHED)
    except NotFound as error:
        return not_answered(opened, target, error, files=files)
    except InvalidQuery:
        new = _not_built_language(opened, target) if files and not opened.has_key else None
        if new is None:
            raise
        return new
    if asked is None:
        document = msgspec.json.decode(answer.body) if answer.media_type == JSON else None
        total = document.get("totalCount") if isinstance(document, dict) else None
        said = "" if total is None else f": {plural(total, 'entry')}"
        return Explained(True, Kind.LIVE, [f"{opened.target} is answered{said}."])
    if _draft_key(target) is not None:
        return Explained(True, DRAFT_KEY, [f"This draft key opens the unpublished changes of {asked.name}."])
    if opened.has_key:
        return Explained(True, Kind.LIVE, [f"{asked.name} is live."])
    return _explained(asked, *_facts(opened, asked, files=files))


def not_answered(opened: OpenedRequest, target: Target, error: ParquetryError, *, files: bool) -> Explained:
    """Explain why the API finds nothing, as its ``error`` says. With a key, nothing is said that depends on what is not
    published."""
    from engine.why.reason import Kind

    workspace = opened.manifest.workspace
    api = _readable(opened, target)
    asked = asked_entry(target, workspace)
    if asked is not None and _draft_key(target) is not None:
        return Explained(False, DRAFT_KEY, [str(error)])
    if asked is None or (opened.has_key and api is None):
        new = _not_built_api(opened, target) if files and not opened.has_key and api is None else None
        return new or Explained(False, Kind.UNKNOWN_API, [str(error)])
    if api is not None and opened.has_key:
        return _explained_for_key(opened, api, asked)
    stored, written = _facts(opened, asked, files=files)
    if api is None and not (written is not None and written.has_api):
        return Explained(False, Kind.UNKNOWN_API, [str(error)])
    return _explained(asked, stored, written)


def explained_by_files(chosen: ChosenWorkspace, target_text: str, now: int) -> Explained:
    """Explain a request where no version is current: nothing is answered, and the files say what would be.

    ``now`` is in UTC milliseconds. Raises ``NoWorkspace`` without files of the workspace.
    """
    from engine.read.query.answers.bind import target_of
    from engine.why.reason import Kind

    directory = chosen.directory
    if directory is None:
        chosen.current_version()
    nothing = [f"Nothing of this workspace is published yet: {chosen.store.location} has no current snapshot version."]
    asked = asked_entry(target_of(target_text), chosen.workspace())
    if asked is None or directory is None:
        return Explained(False, Kind.NOT_BUILT, nothing)
    found = _explained(asked, None, _written(chosen, directory, asked, now, None))
    told = found.sentences if found.reason == Kind.NOT_BUILT else found.sentences + nothing
    return Explained(False, found.reason, told, found.about)


def asked_entry(target: Target, workspace: Workspace) -> AskedEntry | None:
    """Return the entry that a request is for; ``None`` for one of anything else, and one that cannot be read."""
    from engine.read.query.invalid_query import InvalidQuery
    from engine.read.query.parameters import parse_entry_query
    from snapshots.model import ApiKind

    endpoint, *rest = target.path
    api = workspace.api(endpoint)
    is_object = api is not None and api.kind is ApiKind.OBJECT
    if endpoint.startswith("_") or len(rest) != (0 if is_object else 1):
        return None
    try:
        query = parse_entry_query(target.query, None)
    except InvalidQuery:
        return None
    visibility = _visibility(workspace, query.lang, fallback=query.lang_fallback)
    return AskedEntry(endpoint, rest[0] if rest else None, visibility, workspace)


def _visibility(workspace: Workspace, lang: str | None, *, fallback: bool) -> Visibility:
    from engine.visibility import Visibility

    main = workspace.main_language
    if lang is None or lang == main:
        return Visibility(main)
    return Visibility(lang, main if fallback else None)


def _draft_key(target: Target) -> str | None:
    from engine.read.query.parameters import parse_entry_query

    return parse_entry_query(target.query, None).draft_key


def _readable(opened: OpenedRequest, target: Target) -> Api | None:
    """Return the API that is asked, if it is there and in the key's scope."""
    from engine.read.reader.reach import in_scope

    api = opened.manifest.workspace.api(target.path[0])
    return api if api is not None and in_scope(api, opened.scope) else None


def _not_built_api(opened: OpenedRequest, target: Target) -> Explained | None:
    """Explain a request for an API that only the files define; ``None`` where they do not."""
    defined = _defined(opened)
    if defined is None or len(target.path) > 1 or defined.api(target.path[0]) is None:
        return None
    return _not_built(opened, f"The API {target.path[0]}")


def _not_built_language(opened: OpenedRequest, target: Target) -> Explained | None:
    """Explain a request in a language that only the files have for the API; ``None`` for any other."""
    from engine.read.query.invalid_query import InvalidQuery
    from engine.read.query.parameters import parse_entry_query

    defined, published = _defined(opened), opened.manifest.workspace
    try:
        lang = parse_entry_query(target.query, None).lang
    except InvalidQuery:
        return None
    new, old = (None if one is None else one.api(target.path[0]) for one in (defined, published))
    if lang is None or defined is None or new is None or old is None or lang in published.languages_of(old):
        return None
    return _not_built(opened, f"The language {lang} of {new.endpoint}") if lang in defined.languages_of(new) else None


def _not_built(opened: OpenedRequest, what: str) -> Explained:
    from engine.why.reason import Kind

    version = opened.manifest.version
    sentence = f"{what} is in the files, but not in the current snapshot version {version}"
    publishes = "`cms snapshot build` publishes it."
    return Explained(False, Kind.NOT_BUILT, [f"{sentence}: {publishes}"], {"version": version, "built": False})


def _defined(opened: OpenedRequest) -> Workspace | None:
    """Return the definitions in the workspace's folder, if the command runs there and they can be read."""
    from snapshots.definitions.workspace import load_workspace

    directory = opened.chosen.directory
    definitions = None if directory is None else load_workspace(directory, Problems(), salvage=True)
    return None if definitions is None else definitions.workspace


def _explained_for_key(opened: OpenedRequest, api: Api, asked: AskedEntry) -> Explained:
    from engine.visibility import Visibility
    from engine.why.reason import Kind
    from engine.why.stored import live_ids

    rows, now = opened.reader.rows(api), opened.now
    languages = opened.manifest.workspace.languages_of(api)
    found = {
        lang: rows.item(Visibility(lang), now)
        if asked.entry is None
        else rows.entry(asked.entry, Visibility(lang), now)
        for lang in languages
    }
    live = [lang for lang, row in found.items() if row is not None]
    near = {
        entry
        for lang in asked.visibility.languages
        for entry in live_ids(opened.chosen.workspace_store, opened.manifest, api, lang, now)
    }
    reason = Kind.OTHER_LANGUAGE if live else Kind.NOT_FOR_KEY
    return Explained(
        False,
        reason,
        list(for_key(asked, live, near)),
        {"languages": [{"lang": lang, "state": "live"} for lang in live]} if live else {},
    )


def _facts(opened: OpenedRequest, asked: AskedEntry, *, files: bool) -> tuple[Stored, Written | None]:
    from engine.why.stored import stored_entry

    chosen = opened.chosen
    stored = stored_entry(chosen.workspace_store, opened.manifest, asked.endpoint, asked.entry, opened.now)
    if not files or chosen.directory is None:
        return stored, None
    return stored, _written(chosen, chosen.directory, asked, opened.now, opened.manifest)


def _written(chosen: ChosenWorkspace, directory: Path, asked: AskedEntry, now: int, built: Manifest | None) -> Written:
    from engine.why.written import written_entry
    from snapshots.build.build import survey

    with usable_cache(chosen.store) as cache, progress() as tell:
        surveyed = survey(directory, cache, built=built, progress=tell)
    return written_entry(directory, surveyed, asked.endpoint, asked.entry, now)


def _explained(asked: AskedEntry, stored: Stored | None, written: Written | None) -> Explained:
    from engine.why.reason import Kind, reason_of

    reason = reason_of(asked.visibility, stored, written)
    said = list(sentences(asked, reason, stored, written))
    return Explained(reason.kind is Kind.LIVE, reason.kind, said, _document(reason, stored))


def _document(reason: Reason, stored: Stored | None) -> dict[str, Any]:
    known = reason.known
    about: dict[str, Any] = {"version": stored and stored.version, "built": reason.is_built}
    if known is not None:
        about |= {"lang": known.lang, "from": _time(known.live_from), "until": _time(known.live_until)}
        about |= {"file": known.file or None, "line": known.line if known.file else None}
    about |= {"changed": reason.has_changes, "newer": reason.newer and reason.newer.version}
    about["languages"] = [{"lang": one.lang, "state": one.state} for one in reason.others]
    about["errors"] = [{"file": one.file, "line": one.line, "message": one.text} for one in reason.errors]
    return about


def _time(at: int | None) -> str | None:
    return None if at is None else format_datetime(at)
