"""A naive evaluator of the contract: workspace, language versions, request and instant → status and body.

Written from the specification alone, sharing no code with the product, so that the two can be held against each other.
It knows contract 2.1-2.3, 3.1, 4.1-4.11, and 7 and the decisions on them; keys and limits are not its subject:
every request it gets carries a good key of the workspace, whose scope is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from tests.model import values
from tests.model.query import DRAFT_KEY, META_DATES, Asked, BadRequestError, asked

Entry = dict[str, Any]


class NotFoundError(Exception):
    """404."""


@dataclass
class Model:
    """A workspace as its files say it.

    ``workspace``: ``id``, ``languages``, ``timezone`` and ``apis`` (each ``uid``, ``name``, ``endpoint``, ``kind``,
    ``multilingual``, ``fields`` with ``id``, ``name``, ``type``, ``required`` and for references ``api``).
    ``versions``: ``api`` (an endpoint), ``id``, ``lang``, ``draft``, and every other key of an entry's file.
    """

    workspace: dict[str, Any]
    versions: list[dict[str, Any]]
    derived_draft_key: Callable[[str, str, str], str] | None = None
    """(API uid, entry ID, language) → the key of a draft whose files give none."""
    views: dict[str, int] = field(default_factory=dict)
    """All-time counts by entry ID (contract 4.5)."""

    def __post_init__(self) -> None:
        self._by_entry: dict[tuple[str, str], list[Entry]] = {}
        for version in self.versions:
            self._by_entry.setdefault((version["api"], version["id"]), []).append(version)

    def versions_of(self, api: Entry, entry_id: str, lang: str) -> list[Entry]:
        """The published version and the draft of an entry in a language, as far as there are any."""
        return [v for v in self._by_entry.get((api["endpoint"], entry_id), []) if v["lang"] == lang]

    def answer(
        self, path: str, query: str, headers: dict[str, str], scope: Set[str] | None, now: int
    ) -> tuple[int, Any]:
        """The status, and the body for 200 (``None`` for failures, whose messages are free)."""
        try:
            return 200, self._answer(path, query, {k.lower(): v for k, v in headers.items()}, scope, now)
        except BadRequestError:
            return 400, None
        except NotFoundError:
            return 404, None

    def next_change(self, path: str, query: str, scope: Set[str] | None, now: int) -> int | None:
        """The instant that comes with an answer (decision 67): the next at which anything becomes visible otherwise in
        one of the APIs that such answers are made from, whichever fields, entries and conditions are asked for."""
        endpoint, *entry = [unquote(part) for part in path.split("/")[3:]]
        request = Request(self, scope, now)
        api = next((a for a in self.workspace["apis"] if a["endpoint"] == endpoint and request.may_read(a)), None)
        if api is None:
            return None
        request.asked = asked(query, api, self.workspace["languages"], many=api["kind"] == "list" and not entry)
        if any(name == "views" for name, _ in request.asked.orders):
            return None
        return min(filter(None, (self._next_flip(*one, now) for one in request.made_from(api))), default=None)

    def _next_flip(self, api: Entry, lang: str, fallback: bool, now: int) -> int | None:
        """The next instant after ``now`` at which requests in a language get something else of an API."""
        asks = Asked(lang=lang, fallback=fallback)
        ids = {v["id"] for v in self.versions if v["api"] == api["endpoint"]}

        def visible(at: int) -> list[tuple[str, str | None]]:
            found = [(one, Request(self, None, at, asks).delivered(api, one)) for one in sorted(ids)]
            return [(one, None if version is None else version["lang"]) for one, version in found]

        return next((at for at in self.flips() if at > now and visible(at) != visible(at - 1)), None)

    def versions_page(
        self, endpoint: str, query: str, now: int, lang: str | None, state: str | None, part_of_id: str
    ) -> list[tuple[Entry, str]]:
        """Every language version of an API that meets a query's conditions, and is in a language and a state and has an
        ID with some text in it where that is asked for; in the query's order, each with its state.

        Of versions that this order does not part, those in earlier languages come first, and drafts.
        """
        request = Request(self, None, now)
        api = next(a for a in self.workspace["apis"] if a["endpoint"] == endpoint)
        request.asked = asked(query, api, self.workspace["languages"], many=True)
        found = [
            version
            for version in self.versions
            if version["api"] == endpoint
            and lang in (None, version["lang"])
            and state in (None, request.state(version))
            and part_of_id.lower() in version["id"].lower()
        ]
        found.sort(key=lambda v: (self.workspace["languages"].index(v["lang"]), request.state(v) != "draft"))
        return [(one, request.state(one)) for one in request.sorted(api, request.matching(api, found))]

    def flips(self) -> list[int]:
        """All instants at which a window begins or ends."""
        zone = Request(self, None, 0).zone
        bounds = (v[name] for v in self.versions for name in ("publishStart", "publishEnd") if v.get(name) is not None)
        return sorted({values.instant(one, zone) for one in bounds})

    def _answer(self, path: str, query: str, headers: dict[str, str], scope: Set[str] | None, now: int) -> Any:
        root, version, workspace, *rest = [unquote(part) for part in path.split("/")]
        if (root, version) != ("", "v1") or len(rest) not in (1, 2) or workspace != self.workspace["id"]:
            raise NotFoundError(path)
        request = Request(self, scope, now)
        if rest == ["_schema"]:
            return request.schema()
        api = next((a for a in self.workspace["apis"] if a["endpoint"] == rest[0] and request.may_read(a)), None)
        if api is None or (api["kind"] == "object" and len(rest) == 2):
            raise NotFoundError(path)
        many = api["kind"] == "list" and len(rest) == 1
        request.asked = asked(query, api, self.workspace["languages"], many=many)
        if many:
            return request.page(api)
        if "x-draft-key" in headers:
            request.asked.draft_key = headers["x-draft-key"]
        if api["kind"] == "list":
            return request.entry(api, [rest[1]])
        return request.entry(api, [v["id"] for v in self.versions if v["api"] == api["endpoint"]])


def described(field: Entry) -> Entry:
    """A field as ``_schema`` lists it, with what is in its groups."""
    shown = {k: field.get(k, False) if k == "required" else field[k] for k in ("id", "name", "type", "required")}
    if "fields" in field:
        shown["fields"] = [described(inner) for inner in field["fields"]]
    if "groups" in field:
        shown["groups"] = [
            {
                "id": kind["id"],
                "name": kind.get("name", kind["id"]),
                "fields": [described(inner) for inner in kind["fields"]],
            }
            for kind in field["groups"]
        ]
    return shown


@dataclass
class Request:
    """One request: who may see what, when, and what was asked."""

    model: Model
    scope: Set[str] | None
    now: int
    asked: Asked = field(default_factory=Asked)

    @property
    def languages(self) -> list[str]:
        return self.model.workspace["languages"]  # type: ignore[no-any-return]  # plain dicts, as the files say

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.model.workspace.get("timezone", "UTC"))

    def may_read(self, api: Entry) -> bool:
        return self.scope is None or api["uid"] in self.scope

    def made_from(self, api: Entry) -> list[tuple[Entry, str, bool]]:
        """Every API that answers are made from, with the language and whether the main one may stand in."""
        read = [(api, *self.rule(api))]
        if self.asked.langs:
            read += [(api, lang, False) for lang in (self.languages if api["multilingual"] else self.languages[:1])]
        reached = [api]
        for _ in range(self.asked.depth):
            reached = [target for one in reached for target in self.targets(one["fields"])]
            read += [(target, *self.rule(target)) for target in reached]
        return read

    def rule(self, api: Entry) -> tuple[str, bool]:
        return (self.asked.lang, self.asked.fallback) if api["multilingual"] else (self.languages[0], False)

    def targets(self, fields: list[Entry]) -> list[Entry]:
        """The APIs in scope that fields refer to, in groups too."""
        endpoints: list[str] = []
        for one in fields:
            endpoints += [one["api"]] if "api" in one else one.get("apis", [])
            inner = [*one.get("fields", []), *(field for kind in one.get("groups", []) for field in kind["fields"])]
            endpoints += [target["endpoint"] for target in self.targets(inner)]
        apis = self.model.workspace["apis"]
        return [api for api in apis if api["endpoint"] in endpoints and self.may_read(api)]

    # Which version

    def is_live(self, version: Entry) -> bool:
        """Contract 3.1, decision 22."""
        return self.state(version) == "live"

    def state(self, version: Entry) -> str:
        """Whether a version is a draft, live, scheduled or ended."""
        if version.get("draft") or version.get("status", "published") == "draft":
            return "draft"
        start, end = version.get("publishStart"), version.get("publishEnd")
        if start is not None and self.now < values.instant(start, self.zone):
            return "scheduled"
        return "live" if end is None or self.now < values.instant(end, self.zone) else "ended"

    def live(self, api: Entry, entry_id: str, lang: str) -> Entry | None:
        return next((v for v in self.model.versions_of(api, entry_id, lang) if self.is_live(v)), None)

    def delivered(self, api: Entry, entry_id: str) -> Entry | None:
        """The version a request in its language gets (contract 4.11)."""
        lang = self.asked.lang if api["multilingual"] else self.languages[0]
        version = self.live(api, entry_id, lang)
        if version is None and self.asked.fallback:
            version = self.live(api, entry_id, self.languages[0])
        return version

    def draft(self, api: Entry, entry_id: str) -> Entry | None:
        """The unpublished changes that the draft key opens (contract 4.10, decisions 25 and 40)."""
        same = self.model.versions_of(api, entry_id, self.asked.lang)
        for version in same:
            if version.get("draft") or version.get("status") == "draft":
                keys = [v.get("draftKey") for v in sorted(same, key=lambda v: not v.get("draft"))]
                key = next((k for k in keys if k is not None), None)
                if key is None and self.model.derived_draft_key is not None:
                    key = self.model.derived_draft_key(api["uid"], entry_id, self.asked.lang)
                if key is not None and key == self.asked.draft_key:
                    return version
        return None

    # What it looks like

    def dates(self, version: Entry) -> dict[str, int]:
        """Decision 23, without a git checkout."""
        given = {n: values.instant(version[n], self.zone) for n in META_DATES if version.get(n) is not None}
        first = min(given.values(), default=0)
        created = given.get("createdAt", first)
        start = version.get("publishStart")
        return {
            "createdAt": created,
            "updatedAt": given.get("updatedAt", first),
            "publishedAt": given.get("publishedAt", created if start is None else values.instant(start, self.zone)),
        }

    def reference(self, field: Entry, entry_id: str, depth: int) -> Any:
        """An ID, an entry, or ``None`` (contract 4.8)."""
        target = next((a for a in self.model.workspace["apis"] if a["endpoint"] == field.get("api")), None)
        if depth == 0 or target is None or not self.may_read(target):
            return entry_id
        version = self.delivered(target, entry_id)
        return None if version is None else self.shown(target, version, depth - 1)

    def value(self, field: Entry, version: Entry, depth: int) -> Any:
        value = values.stored(field, version, self.zone)
        if value is None:
            return None
        if field["type"] == "datetime":
            return values.written_instant(value)
        if field["type"] == "reference":
            return self.reference(field, value, depth)
        if field["type"] == "references":
            one_of = self.one_of_several if "apis" in field else self.reference
            found = [one_of(field, one, depth) for one in value]
            return [one for one in found if one is not None]
        if field["type"] == "group":
            return self.group(field, value, depth)
        if field["type"] == "groups":
            return [self.group(field, one, depth) for one in (value if isinstance(value, list) else [value])]
        return value

    def group(self, field: Entry, group: Entry, depth: int) -> Entry:
        """A group is shown as an entry's fields are, with what kind it is where there are several."""
        shown = {inner["id"]: self.value(inner, group, depth) for inner in values.members(field, group)}
        return {"fieldId": group["fieldId"], **shown} if "groups" in field else shown

    def one_of_several(self, field: Entry, named: Any, depth: int) -> Any:
        """An ID alone means the first API of the field's that has a live entry; a named API is the only one. Where the
        entry may be in an API that is not there or not in scope, the ID stays."""
        entry_id, asked = (named["id"], [named["api"]]) if isinstance(named, dict) else (named, field["apis"])
        stays = depth == 0
        for endpoint in asked:
            target = next((a for a in self.model.workspace["apis"] if a["endpoint"] == endpoint), None)
            if target is None or not self.may_read(target):
                stays = True
                continue
            version = None if depth == 0 else self.delivered(target, entry_id)
            if version is not None:
                return {**self.shown(target, version, depth - 1), "_api": endpoint}
        return entry_id if stays else None

    def shown(self, api: Entry, version: Entry, depth: int, only: set[str] | None = None) -> Entry:
        """An entry as delivered, all fields unless ``only`` names some (contract 4.9)."""
        entry = {name: values.written_instant(ms) for name, ms in self.dates(version).items()}
        entry |= {f["id"]: self.value(f, version, depth) for f in api["fields"]}
        return {"id": version["id"], **{n: v for n, v in entry.items() if only is None or n in only}}

    def row(self, api: Entry, version: Entry) -> Entry:
        entry = self.shown(api, version, self.asked.depth, self.asked.fields)
        if self.asked.langs:
            entry["_langs"] = {
                "current": version["lang"],
                "available": [lang for lang in self.languages if self.live(api, version["id"], lang)],
            }
        return entry

    # Lists

    def matches(self, api: Entry, version: Entry, condition: tuple[str, str, Any]) -> bool:
        """Contract 4.6, decisions 13-17."""
        name, operator, operand = condition
        if operator.startswith("not_"):
            return not self.matches(api, version, (name, operator.removeprefix("not_"), operand))
        kind = next((f["type"] for f in api["fields"] if f["id"] == name), "meta")
        value: Any
        if kind == "meta":
            value = version["id"] if name == "id" else self.dates(version)[name]
        else:
            value = values.stored(next(f for f in api["fields"] if f["id"] == name), version, self.zone)
        if operator == "exists":
            return value is not None and (kind == "json" or value not in ("", []))
        if value is None:
            return False
        if operator == "equals":
            return bool(value == operand)
        if operator == "greater_than":
            return bool(value > operand)
        if operator == "less_than":
            return bool(value < operand)
        if kind in values.ARRAYS:
            return operand in [one["id"] if isinstance(one, dict) else one for one in value]
        return values.folded(operand) in (values.searched(kind, value) or "")

    def found(self, api: Entry, version: Entry, phrase: str) -> bool:
        """Contract 4.7."""
        texts = [values.searched(f["type"], version.get(f["id"])) for f in api["fields"] if f["type"] in values.TEXTS]
        return any(text is not None and values.folded(phrase) in text for text in texts)

    def sorted(self, api: Entry, versions: list[Entry]) -> list[Entry]:
        """Contract 4.5, decisions 8 and 35: one stable sort a key, the last key first."""
        result = sorted(versions, key=lambda v: v["id"])
        for name, descending in [*self.asked.orders, ("publishedAt", True)][::-1]:
            of = {id(v): self.sort_value(api, v, name) for v in result}
            with_value = [v for v in result if of[id(v)] is not None]
            with_value.sort(key=lambda v: of[id(v)], reverse=descending)
            result = with_value + [v for v in result if of[id(v)] is None]
        return result

    def sort_value(self, api: Entry, version: Entry, name: str) -> Any:
        if name == "views":
            return self.model.views.get(version["id"], 0)
        if name in META_DATES:
            return self.dates(version)[name]
        return values.stored(next(f for f in api["fields"] if f["id"] == name), version, self.zone)

    def matching(self, api: Entry, versions: list[Entry]) -> list[Entry]:
        """The versions that meet the conditions and have the phrase."""
        ask, rows = self.asked, versions
        combine = any if ask.joiner == "or" else all
        if ask.conditions:
            rows = [v for v in rows if combine(self.matches(api, v, c) for c in ask.conditions)]
        if ask.q is not None:
            rows = [v for v in rows if self.found(api, v, ask.q)]
        return rows

    def page(self, api: Entry) -> Entry:
        ask = self.asked
        ids = dict.fromkeys(v["id"] for v in self.model.versions if v["api"] == api["endpoint"])
        rows = self.matching(api, [v for v in (self.delivered(api, entry_id) for entry_id in ids) if v is not None])
        page = self.sorted(api, rows)[ask.offset : ask.offset + ask.limit]
        return {
            "contents": [self.row(api, v) for v in page],
            "totalCount": len(rows),
            "offset": ask.offset,
            "limit": ask.limit,
        }

    # One item, and the schema

    def entry(self, api: Entry, ids: list[str]) -> Entry:
        key = self.asked.draft_key
        if key is not None and not DRAFT_KEY.fullmatch(key):
            raise BadRequestError(key)
        find = self.delivered if key is None else self.draft
        for entry_id in ids:
            version = find(api, entry_id)
            if version is not None:
                return self.row(api, version)
        raise NotFoundError(ids)

    def schema(self) -> Entry:
        return {
            "workspace": self.model.workspace["id"],
            "apis": [
                {
                    "name": api["name"],
                    "endpoint": api["endpoint"],
                    "kind": api["kind"],
                    "fields": [described(f) for f in api["fields"]],
                }
                for api in self.model.workspace["apis"]
                if self.may_read(api)
            ],
        }
