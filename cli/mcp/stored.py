"""A store as content for agents."""

from __future__ import annotations

import json
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from cli.location import ChosenWorkspace, usable_cache
from cli.mcp.content import SHOWN, NotThere, Owner
from cli.mcp.owner import StoreOwner
from cli.query.local_answers import access_list, answer_request, instant_of_key, scope_of_key, view_counts
from engine.read.query.stages import TimedStages
from engine.read.reader.reader import Reader, open_reader
from snapshots.compare.compatibility import change_document
from snapshots.compare.diff import FileDiff, diff
from snapshots.times import now_ms, parse_datetime

if TYPE_CHECKING:
    from engine.read.reader.reach import Scope


class StoredContent:
    """The current version of a workspace in a store, with what a key can read, or all that is published."""

    def __init__(self, chosen: ChosenWorkspace, key: str | None) -> None:
        """Raises ``NoWorkspace`` without a version, ``UnknownKey`` for a key that is not there, and ``KeyRejected`` for
        one that is not valid now."""
        self.workspace = chosen.workspace_store.id
        self.compares = key is None
        self.owner: Owner | None = StoreOwner(chosen) if key is None else None
        self._chosen, self._key = chosen, key
        self._lock, self._open = Lock(), ExitStack()
        self._cache = self._open.enter_context(usable_cache(chosen.store))
        self._reader: tuple[str, Reader] | None = None
        self._scope(now_ms())

    def answer(self, target: str, at: str | None) -> dict[str, Any]:
        """Return what a server would answer from the current version; an instant may be in the past or the future, with
        a key only in the last hour, since the version became current."""
        now = now_ms()
        scope = self._scope(now)
        with self._lock:
            reader = self._current()
            instant = now
            if at is not None:
                try:
                    instant = parse_datetime(at, ZoneInfo(reader.workspace.timezone))
                except ValueError as error:
                    raise NotThere(f"at: {error}.") from None
            if self._key is not None:
                instant = instant_of_key(self._chosen, reader.manifest.version, instant, now)
            counts = view_counts(self._chosen, target)
            secret = access_list(self._chosen).draft_secret
            answer = answer_request(
                reader, target, self._chosen, scope, instant, secret, counts, TimedStages(), strict=True
            )
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def description(self) -> dict[str, Any]:
        """Return the OpenAPI description of what the key can read."""
        return self.answer("_openapi", None)

    def diff(self, old: str | None, new: str | None) -> dict[str, Any]:
        """Return the changes of published entries, also of those that are not visible yet, and of definitions."""
        workspace_store = self._chosen.workspace_store
        current = workspace_store.current()
        later = self._chosen.current_version() if new is None else workspace_store.find(new)
        if old is None and (current is None or not current.previous):
            raise NotThere(
                f"No snapshot version was current before {later}. Name one as `old`; there are: "
                f"{', '.join(workspace_store.versions()[:20])}."
            )
        earlier = (
            workspace_store.find(old)
            if old is not None
            else workspace_store.find(current.previous[0])
            if current
            else later
        )
        found = diff(workspace_store, earlier, later)
        return {
            "from": earlier,
            "to": later,
            "entries": [_changes(file) for file in found.files if not file.draft],
            "schema": [change_document(one) for one in found.schema],
        }

    def _scope(self, now: int) -> Scope:
        """Return the key's scope as it is now: a key may be changed or deleted meanwhile."""
        manifest = self._chosen.workspace_store.manifest(self._chosen.current_version())
        return scope_of_key(access_list(self._chosen), self._key, manifest.workspace, now)

    def _current(self) -> Reader:
        """Return a reader of the version that is current now."""
        version = self._chosen.current_version()
        if self._reader is not None and self._reader[0] == version:
            return self._reader[1]
        workspace_store = self._chosen.workspace_store
        reader = open_reader(workspace_store.bring(version), workspace_store.manifest(version), self._cache)
        if self._reader is not None:
            self._reader[1].close()
        self._reader = (version, reader)
        return reader


def _changes(file: FileDiff) -> dict[str, Any]:
    """Return the changes of one API in one language, the fields of changed entries with both values."""
    changed = [
        {
            "id": change.id,
            "fields": [{"field": one.field, "from": one.before, "to": one.after} for one in change.values],
        }
        for change, _ in zip(file.changes(), range(SHOWN), strict=False)
    ]
    counts = {"added": len(file.added), "changed": file.changed, "removed": len(file.removed)}
    ids = {"added": file.added[:SHOWN].to_pylist(), "changed": changed, "removed": file.removed[:SHOWN].to_pylist()}
    return {"api": file.api, "lang": file.lang, "counts": counts, **ids}
