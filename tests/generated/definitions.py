"""Random definitions of a small workspace, and random changes of them over content that mostly stays as it is.

Values are such that many types take them: what a version holds must follow from the definitions of the day alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

Shape: TypeAlias = dict[str, Any]

VALUES: Final = [
    "red",
    '"red and Blue"',
    '"3"',
    "3",
    "true",
    "2026-01-02",
    "2026-01-02T03:04:05",
    "[red, blue]",
    "[]",
    "null",
    '"<p class=\\"note\\">Red &amp; <b>blue</b></p>"',
    '"Rédꞏ赤い"',
    "{url: red}",
    "{url: '3', sub: {url: 2026-01-02}}",
    "[{url: red}, {url: blue, sub: {url: red}}]",
    "[{fieldId: a, url: red}, {fieldId: b}]",
    "{fieldId: a, url: blue}",
    "[{api: people, id: red}, blue]",
    "{api: people, id: red}",
]
"""Values as YAML. Not every type takes each of them."""
PLAIN: Final[dict[str, Shape]] = {
    **{
        kind: {"type": kind}
        for kind in (
            *("text", "textarea", "richtext", "number", "datetime", "boolean", "json"),
            *("single_select", "multiple_select", "image", "images", "file"),
        )
    },
    "reference": {"type": "reference", "api": "people"},
    "references": {"type": "references", "api": "people"},
    "references to several": {"type": "references", "apis": ["people", "things"]},
}
"""The forms of a field without fields of its own."""
_INSIDE: Final = {"id": "url", "type": "text"}
FORMS: Final[dict[str, Shape]] = PLAIN | {
    "group": {"type": "group", "fields": [_INSIDE]},
    "groups": {"type": "groups", "fields": [_INSIDE]},
    "groups of several kinds": {
        "type": "groups",
        "groups": [{"id": "a", "fields": [_INSIDE]}, {"id": "b", "fields": []}],
    },
}
"""Every form that a field can have."""
_ALIKE: Final = (
    ("single_select", "reference", "json", "text", "textarea", "richtext"),
    ("multiple_select", "references"),
)
"""Forms that are stored in columns of the same kind: where one becomes another, only the definition tells."""
_MOST_FIELDS: Final = 5


def random_form(random: Random, depth: int = 0) -> Shape:
    """A field's definition without its ID."""
    if depth < 2 and random.random() < 0.3:
        fields = [{"id": "url"} | random_form(random, depth + 1), {"id": "sub"} | random_form(random, depth + 1)]
        kinds = [{"id": "a", "fields": fields}, {"id": "b", "fields": fields[:1] * random.randrange(2)}]
        if depth:
            return {"type": "group", "fields": fields[:1] + fields[1:] * random.randrange(2)}
        return random.choice(
            [
                {"type": "group", "fields": fields},
                {"type": "groups", "fields": fields},
                {"type": "groups", "groups": kinds},
            ]
        )
    known = random.choice([_ALIKE[0], _ALIKE[1], [*PLAIN]])
    form = deepcopy(PLAIN[random.choice(known)])
    if form["type"].endswith("_select") and random.random() < 0.3:
        form["options"] = ["red", "blue", "3"]
    if form["type"] == "references" and random.random() < 0.3:
        form = {"type": "references", "apis": random.sample(["people", "things"], 2)}
    return form


def random_workspace(random: Random) -> Shape:
    """A workspace's definitions: two lists, of which one refers to the other, and an object API."""
    apis: Shape = {
        "things": {
            "uid": "api_Things0000001",
            "endpoint": "things",
            "kind": "list",
            "multilingual": random.random() < 0.7,
            "source": ["things/{id}.md", "things.{lang}/{id}.md"],
        },
        "people": {"uid": "api_People0000001", "endpoint": "people", "kind": "list", "source": "people/{id}.yaml"},
        "front": {"uid": "api_Front00000001", "endpoint": "front", "kind": "object", "source": "front.yaml"},
    }
    for api in apis.values():
        api["fields"] = [{"id": f"f{number}"} | random_form(random) for number in range(random.randrange(1, 4))]
    return {"workspace": {"id": "changed", "languages": ["en", "ja"], "timezone": "Asia/Tokyo"}, "apis": apis}


def random_content(random: Random) -> dict[str, str]:
    """The content files by path."""
    files = {}
    for entry in ("red", "blue", "3", "fourth"):
        files[f"things/{entry}.md"] = _entry(random, "[other](../people/red.yaml) **bold**")
        if random.random() < 0.6:
            files[f"things.ja/{entry}.md"] = _entry(random, "<i class=note>本文</i>")
        files[f"people/{entry}.yaml"] = _entry(random, None)
    return files | {"front.yaml": _entry(random, None)}


def _entry(random: Random, body: str | None) -> str:
    lines = [f"f{number}: {random.choice(VALUES)}" for number in range(_MOST_FIELDS) if random.random() < 0.8]
    lines += [f"createdAt: 2026-01-0{random.randrange(1, 9)}", f"day: 2025-02-0{random.randrange(1, 9)}"]
    lines += random.choice([[], [], ["publishEnd: 2030-01-01"], ["status: scheduled", "publishStart: 2029-01-01"]])
    lines += random.choice([[], [], [], ["status: draft"]])
    text = "\n".join(lines)
    return f"{text}\n" if body is None else f"---\n{text}\n---\n{body}\n"


def change(random: Random, defined: Shape, content: dict[str, str]) -> None:
    """Change the definitions at one place or a few; one time of four a content file too."""
    for _ in range(random.choice([1, 1, 1, 2])):
        api = random.choice([*defined["apis"].values()])
        random.choice(_CHANGES)(random, defined, api)
    if random.random() < 0.25:
        path = random.choice([*content])
        content[path] = _entry(random, "Other **text**" if path.endswith(".md") else None)


def _field(random: Random, api: Shape) -> Shape:
    """A field, or one inside a group."""
    fields = api["fields"]
    while True:
        field: Shape = random.choice(fields)
        kinds = [kind["fields"] for kind in field.get("groups", [field]) if kind.get("fields")]
        if not kinds or random.random() < 0.4:
            return field
        fields = random.choice(kinds)


def _other_form(random: Random, _: Shape, api: Shape) -> None:
    field = _field(random, api)
    is_inside = field not in api["fields"]
    kept = {key: field[key] for key in ("id", "from") if key in field}
    field.clear()
    field |= kept | random_form(random, 2 if is_inside else 0)


def _form_stored_alike(random: Random, defined: Shape, api: Shape) -> None:
    field = _field(random, api)
    family = next((forms for forms in _ALIKE if field["type"] in forms and "apis" not in field), None)
    if family is None:
        _other_form(random, defined, api)
        return
    kept = {key: field[key] for key in ("id", "from") if key in field}
    field.clear()
    # The first three have no column with their text, outside of groups too.
    field |= kept | PLAIN[random.choice(family[:3] if random.random() < 0.6 else family)]


def _other_id(random: Random, _: Shape, api: Shape) -> None:
    free = {f"f{number}" for number in range(_MOST_FIELDS)} - {field["id"] for field in api["fields"]}
    random.choice(api["fields"])["id"] = random.choice(sorted(free) or ["f9"])


def _other_source(random: Random, _: Shape, api: Shape) -> None:
    field = random.choice(api["fields"])
    field["from"] = random.choice([f"f{random.randrange(_MOST_FIELDS)}", "day", field["id"]])


def _order(random: Random, _: Shape, api: Shape) -> None:
    random.shuffle(api["fields"])


def _required(random: Random, _: Shape, api: Shape) -> None:
    _field(random, api)["required"] = random.random() < 0.5


def _name(random: Random, _: Shape, api: Shape) -> None:
    _field(random, api)["name"] = random.choice(["One", "Other"])


def _more_or_fewer(random: Random, _: Shape, api: Shape) -> None:
    if len(api["fields"]) > 1 and random.random() < 0.5:
        api["fields"].pop()
    else:
        api["fields"].append({"id": "f9"} | random_form(random))
        _other_id(random, _, {"fields": api["fields"][-1:]})


def _multilingual(_: Random, defined: Shape, __: Shape) -> None:
    things = defined["apis"]["things"]
    things["multilingual"] = not things["multilingual"]


def _meta(random: Random, _: Shape, api: Shape) -> None:
    api["meta"] = random.choice([{}, {"publishedAt": "day"}, {"updatedAt": "day", "createdAt": "day"}])


def _workspace(random: Random, defined: Shape, _: Shape) -> None:
    name, values = random.choice(
        [
            ("languages", [["en"], ["en", "ja"], ["ja", "en"], ["en", "fr", "ja"]]),
            ("timezone", ["UTC", "Asia/Tokyo", "America/New_York"]),
            ("markdown", [{}, {"classes": ["note"]}]),
        ]
    )
    defined["workspace"][name] = random.choice(values)


def _pages(random: Random, _: Shape, api: Shape) -> None:
    api["page_url"] = random.choice(["/a/{id}", "/{lang}/b/{id}"])


def _ids(random: Random, defined: Shape, _: Shape) -> None:
    people = defined["apis"]["people"]
    people.pop("id", None)
    people["source"] = "people/{id}.yaml"
    if random.random() < 0.6:
        people |= {"source": "people/{name}.yaml", "id": "{name}"}
        people["id_map"] = random.choice([{}, {"blue": "azure"}])


_CHANGES: Final = [
    *[_other_form] * 3,
    *[_form_stored_alike] * 9,
    *(_other_id, _other_source, _order, _required, _name, _more_or_fewer, _multilingual, _meta, _workspace, _pages),
    _ids,
]


def write(root: Path, defined: Shape, content: dict[str, str]) -> None:
    """Write a workspace's files over what is there; those that stay as they are keep their times."""
    files = {"workspace.yaml": json.dumps(defined["workspace"])}
    files |= {f"apis/{name}.yaml": json.dumps(api) for name, api in defined["apis"].items()} | content
    for path, text in files.items():
        place = root / path
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")


def pairs(forms: dict[str, Shape]) -> Iterator[tuple[str, str]]:
    """Every two different forms, in both orders."""
    for before in forms:
        for after in forms:
            if before != after:
                yield before, after
