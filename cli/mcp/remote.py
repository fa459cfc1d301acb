"""A server as content for agents."""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

import msgspec

from cli.mcp.content import SHOWN, NotThere, Owner
from cli.remote.definitions import definitions_of
from cli.remote.server import Server, ServerRefused
from snapshots.compare.compatibility import change_document, schema_changes
from snapshots.compare.diff import field_changes
from snapshots.times import format_datetime, parse_datetime

COMPARED: Final = 50
"""Changed entries of each API and language that a diff compares field by field; it takes two requests for ten."""
_A_PAGE: Final = 1_000
_MOST_PAGES: Final = 20
_AT_ONCE: Final = 10
"""Conditions that a filter takes."""
_GONE: Final = 410
_UNKNOWN: Final = 404
_KINDS: Final = {"published": "added", "updated": "changed", "unpublished": "removed"}


class _Entries(msgspec.Struct):
    """The entries of a list, each as it was sent."""

    contents: list[msgspec.Raw]


class _WithId(msgspec.Struct):
    id: str


class ServedContent:
    """A workspace behind a server, with what an API key can read."""

    def __init__(self, server: Server) -> None:
        self.workspace = server.workspace
        self.compares = True
        self.owner: Owner | None = None
        self._server = server

    def answer(self, target: str, at: str | None) -> dict[str, Any]:
        """Return the server's answer; with an instant, as the current version was visible then. A server tells that for
        a while only."""
        if at is None:
            return self._server.ask(target).document
        try:
            instant = parse_datetime(at, UTC)
        except ValueError as error:
            raise NotThere(f"at: {error}.") from None
        now = self._server.ask("_schema")
        try:
            found = self._server.ask(target, f"{now.version}@{format_datetime(instant)}")
        except ServerRefused as refused:
            if refused.status != _GONE:
                raise
            raise NotThere(
                "at: this server answers as of the last hour at most, unless its operator says otherwise, and not as "
                f"of before its current snapshot version ({now.version}) became current. Leave `at` out."
            ) from None
        if found.at != format_datetime(instant):
            raise ServerRefused("This server cannot answer as of another time. Leave `at` out.")
        return found.document

    def description(self) -> dict[str, Any] | None:
        """Return the OpenAPI description that the server has for the key; an older server has none."""
        try:
            return self._server.ask("_openapi").document
        except ServerRefused as refused:
            if refused.status != _UNKNOWN:
                raise
            return None

    def diff(self, old: str | None, new: str | None) -> dict[str, Any]:
        """Return what clients see otherwise in the current version than in an earlier one, at the same instant."""
        present = self._server.ask("_changes")
        if new is not None and new.partition("@")[0] != present.version:
            raise NotThere(
                f"A server compares with its current snapshot version only ({present.version}). Leave `new` out."
            )
        before = old or present.document.get("previous")
        if before is None:
            raise NotThere(
                f"The server does not know which snapshot version was current before {present.version}. "
                "Name one as `old`."
            )
        since = before if "@" in before else f"{before}@{present.at}"
        found, is_whole = self._changed(since)
        after = self._server.ask("_schema", present.point).document
        earlier = self._schema_before(since)
        kinds = {one["endpoint"]: one["kind"] for one in after["apis"]} if earlier is not None else {}
        compare = _Comparison(self._server, since, present.point, kinds)
        diff: dict[str, Any] = {
            "from": since,
            "to": present.point,
            "entries": [compare.file(api, lang, ids) for (api, lang), ids in found.items()],
            "schema": [],
        }
        notes = []
        if earlier is None:
            notes.append(
                "The server can no longer read the earlier snapshot version: fields and schema changes are left out."
            )
        else:
            changes = schema_changes(definitions_of(earlier), definitions_of(after))
            diff["schema"] = [change_document(one) for one in changes]
        if not is_whole:
            notes.append(f"There are more changes than the {_MOST_PAGES * _A_PAGE:,} that were counted.")
        return diff | ({"note": " ".join(notes)} if notes else {})

    def _changed(self, since: str) -> tuple[dict[tuple[str, str], dict[str, list[str]]], bool]:
        """Return the IDs by API and language and by what became of them, and whether these are all."""
        found: dict[tuple[str, str], dict[str, list[str]]] = {}
        for _ in range(_MOST_PAGES):
            page = self._server.ask(f"_changes?limit={_A_PAGE}&since={quote(since, safe='')}").document
            for one in page["changes"]:
                ids = found.setdefault((one["api"], one["lang"]), {name: [] for name in _KINDS.values()})
                ids[_KINDS[one["change"]]].append(one["id"])
            if len(page["changes"]) < _A_PAGE:
                return found, True
            since = page["next"]
        return found, False

    def _schema_before(self, point: str) -> dict[str, Any] | None:
        """Return the schema as it was, ``None`` where the server does not have that version open any more."""
        try:
            return self._server.ask("_schema", point).document
        except ServerRefused as refused:
            if refused.status != _GONE:
                raise
            return None


class _Comparison:
    """Reads changed entries at two points, and names the fields that differ."""

    def __init__(self, server: Server, old: str, new: str, kinds: dict[str, str]) -> None:
        """``kinds`` are those of the APIs to compare, by endpoint."""
        self._server, self._old, self._new, self._kinds = server, old, new, kinds

    def file(self, api: str, lang: str, ids: dict[str, list[str]]) -> dict[str, Any]:
        """Return the changes of one API in one language, the fields of changed entries with both values."""
        counts = {name: len(of_kind) for name, of_kind in ids.items()}
        fields: dict[str, Any] = {}
        if api in self._kinds:
            for first in range(0, min(len(ids["changed"]), COMPARED), _AT_ONCE):
                fields |= self._fields(api, lang, ids["changed"][first : first + _AT_ONCE])
        changed = [{"id": one, **({"fields": fields[one]} if one in fields else {})} for one in ids["changed"][:SHOWN]]
        named = {"added": ids["added"][:SHOWN], "changed": changed, "removed": ids["removed"][:SHOWN]}
        return {"api": api, "lang": lang, "counts": counts, **named}

    def _fields(self, api: str, lang: str, ids: list[str]) -> dict[str, list[dict[str, Any]]]:
        before, after = (self._entries(api, lang, ids, point) for point in (self._old, self._new))
        return {
            one: [
                {"field": change.field, "from": change.before, "to": change.after}
                for change in field_changes(before[one], after[one])
            ]
            for one in ids
            if one in before and one in after
        }

    def _entries(self, api: str, lang: str, ids: list[str], point: str) -> dict[str, str]:
        """Return entries as JSON by their IDs, those of them that are live."""
        target = f"{quote(api, safe='')}?depth=0&lang={quote(lang, safe='')}"
        if self._kinds[api] == "object":
            return {ids[0]: self._server.ask(target, point).body.decode()}
        filters = "[or]".join(f"id[equals]{one}" for one in ids)
        body = self._server.ask(f"{target}&limit={_AT_ONCE}&filters={filters}", point).body
        contents = msgspec.json.decode(body, type=_Entries).contents
        return {msgspec.json.decode(one, type=_WithId).id: bytes(one).decode() for one in contents}
