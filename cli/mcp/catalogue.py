"""What the tool ``schema`` tells of a workspace: all that an agent has to know before it asks for content.

It is put together from what a key may ask for itself: the schema, the OpenAPI description, and how long lists are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from cli.mcp.content import ContentSource
from snapshots.problems import ParquetryError

MOST_COUNTED: Final = 50
"""Lists whose lengths are asked for, one request each: in the main language first."""

_LANGUAGES: Final = re.compile("`([A-Za-z0-9-]+)`")

Json = Mapping[str, Any]


def catalogue(content: ContentSource) -> dict[str, Any]:
    """Return the APIs of a workspace, with their languages, fields, options, targets, descriptions and counts.

    Raises ``ParquetryError``.
    """
    schema = content.answer("_schema", None)
    described = _Described(content.description(), schema)
    languages = {api["endpoint"]: described.languages(api["endpoint"]) for api in schema["apis"]}
    counts = _counts(content, schema["apis"], languages)
    told: dict[str, Any] = {"workspace": schema["workspace"]}
    if described.workspace_languages:
        told["languages"] = described.workspace_languages
    told["apis"] = [
        {
            "endpoint": api["endpoint"],
            "name": api["name"],
            "kind": api["kind"],
            **described.api(api["endpoint"]),
            **(
                {"languages": languages[api["endpoint"]]}
                if languages[api["endpoint"]] != described.workspace_languages
                else {}
            ),
            **({"entries": counts[api["endpoint"]]} if api["endpoint"] in counts else {}),
            "fields": described.fields(api),
        }
        for api in schema["apis"]
    ]
    return told


def _counts(
    content: ContentSource, apis: list[dict[str, Any]], languages: Mapping[str, list[str]]
) -> dict[str, dict[str, int] | int]:
    """Return the numbers of live entries by endpoint, and by language where these are known; what cannot be counted is
    left out."""
    lists = [api["endpoint"] for api in apis if api["kind"] == "list"]
    main = [(endpoint, next(iter(languages[endpoint]), None)) for endpoint in lists]
    others = [(endpoint, lang) for endpoint in lists for lang in languages[endpoint][1:]]
    found: dict[str, dict[str, int] | int] = {}
    for endpoint, lang in (*main, *others)[:MOST_COUNTED]:
        asked = f"{endpoint}?limit=1&fields=id" + (f"&lang={lang}" if lang else "")
        try:
            total = content.answer(asked, None)["totalCount"]
        except ParquetryError:  # the key's limit is reached, or the API has just gone
            break
        counted = found.get(endpoint, {})
        found[endpoint] = {**counted, lang: total} if lang and isinstance(counted, dict) else total
    return found


class _Described:
    """What an OpenAPI description of a workspace says beyond its schema."""

    def __init__(self, document: Json | None, schema: Json) -> None:
        """``document`` is ``None`` where a server has none."""
        self._base = f"/v1/{schema['workspace']}"
        self._paths: Json = document["paths"] if document else {}
        self._schemas: Json = document["components"]["schemas"] if document else {}
        self._endpoints = {name: api["endpoint"] for api in schema["apis"] for name in self._names(api["endpoint"])}
        about = document["info"].get("description", "") if document else ""
        named = _LANGUAGES.findall(about.rpartition("Languages: ")[2])
        found = [lang for api in schema["apis"] for lang in self.languages(api["endpoint"])]
        self.workspace_languages = list(dict.fromkeys([*named, *found]))
        """The languages of the workspace, the main one first."""

    def languages(self, endpoint: str) -> list[str]:
        """Return the languages of an API, the main one first; none where they are not known."""
        for parameter in self._operation(endpoint).get("parameters", ()):
            if parameter.get("name") == "lang":
                return list(parameter["schema"].get("enum", ()))
        return []

    def api(self, endpoint: str) -> dict[str, str]:
        """Return the description of an API, if it has one."""
        about = _after_first(self._operation(endpoint).get("description", ""))
        return {"description": about} if about else {}

    def fields(self, api: Json) -> list[dict[str, Any]]:
        """Return the fields of an API with what is known of each."""
        names = self._names(api["endpoint"])
        return [self._field(field, self._members(names[0] if names else "")) for field in api["fields"]]

    def _field(self, field: Json, members: Json) -> dict[str, Any]:
        """Return a field, with what its description among ``members`` says."""
        leaves = list(self._leaves(members.get(field["id"], {})))
        told = {name: value for name, value in field.items() if name not in ("required", "fields", "groups")}
        if field["required"]:
            told["required"] = True
        about = _after_first(members.get(field["id"], {}).get("description", ""))
        if about:
            told["description"] = about
        options = next((leaf["enum"] for leaf in leaves if "enum" in leaf), None)
        if options is not None:
            told["options"] = [option for option in options if option is not None]
        targets = [self._endpoints[leaf["name"]] for leaf in leaves if leaf.get("name") in self._endpoints]
        if targets:
            told["refersTo"] = list(dict.fromkeys(targets))
        objects = [leaf["properties"] for leaf in leaves if "properties" in leaf and "name" not in leaf]
        if "fields" in field:
            told["fields"] = [self._field(one, objects[0] if objects else {}) for one in field["fields"]]
        if "groups" in field:
            told["groups"] = [
                {**kind, "fields": [self._field(one, _of_kind(objects, kind)) for one in kind["fields"]]}
                for kind in field["groups"]
            ]
        return told

    def _leaves(self, shown: Json, depth: int = 6) -> Iterator[dict[str, Any]]:
        """Yield the schemas of single values that a value may be; that of an entry has its API's ``name``."""
        if not depth:
            return
        name = str(shown.get("$ref", "")).rpartition("/")[2]
        if name in self._endpoints:
            yield {"name": name}
        elif name:
            yield from self._leaves(self._schemas.get(name, {}), depth - 1)
        for one in (*shown.get("anyOf", ()), *shown.get("oneOf", ())):
            yield from self._leaves(one, depth - 1)
        if "items" in shown:
            yield from self._leaves(shown["items"], depth - 1)
        if "enum" in shown or "properties" in shown:
            yield dict(shown)

    def _names(self, endpoint: str) -> list[str]:
        """Return the names of the schemas of an API's entries, that at the usual depth first."""
        content = self._operation(endpoint).get("responses", {}).get("200", {}).get("content", {})
        found = []
        for one in content.get("application/json", {}).get("schema", {}).get("anyOf", ()):
            name = one.get("$ref", "").rpartition("/")[2]
            page = self._schemas.get(name, {}).get("properties", {}).get("contents")
            found.append(page["items"]["$ref"].rpartition("/")[2] if page else name)
        return found

    def _members(self, name: str) -> Json:
        found: Json = self._schemas.get(name, {}).get("properties", {})
        return found

    def _operation(self, endpoint: str) -> Json:
        found: Json = self._paths.get(f"{self._base}/{endpoint}", {}).get("get", {})
        return found


def _of_kind(objects: list[dict[str, Any]], kind: Json) -> Json:
    """Return the members of the kind of group that has all fields of ``kind``, and names it where several have."""
    fitting = [one for one in objects if {field["id"] for field in kind["fields"]} <= set(one)]
    named = [one for one in fitting if any(kind["id"] in (v.get("const"), *v.get("enum", ())) for v in one.values())]
    return next(iter((*named, *fitting)), {})


def _after_first(text: str) -> str:
    """Return a description without its first paragraph, which says what the thing is called, and without what is told
    in members of their own."""
    kept = [one for one in text.split("\n\n")[1:] if not one.startswith("Refers to entries of ") and one != "HTML."]
    return "\n\n".join(kept)
