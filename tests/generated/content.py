"""Small random workspaces: odd texts, numbers, dates, windows, languages, drafts and references of every kind.

A workspace is what the naive evaluator takes (definitions and versions as plain dicts); ``write_workspace`` makes it a
directory for the compiler.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from random import Random
from typing import Any

Version = dict[str, Any]

LANGUAGES = ["en", "ja", "de-AT"]
IDS = ["a", "A", "b", "c", "d", "e", "f-1", "f_1", "g", "10", "9", "-", "_", "Z", "z"]
DAY = 86_400_000
START = 1_577_836_800_000  # 2020-01-01T00:00:00Z
FLIPS = 6
"""How many days after START a window may begin or end."""
OPTIONS = ["news", "News", "guide"]
LABELS = ["red", "Red", "light blue", "日本", "re'd", "a,b"]

TEXTS = [
    "",
    " ",
    "a",
    "A",
    "b",
    "ab",
    "Ab",
    "zz",
    "Z",
    "10",
    "9",
    "1.10",
    "é",
    "e\u0301",
    "É",
    "ß",
    "ẞ",
    "ss",
    "İ",
    "i",
    "ı",
    "I",
    "Σ",
    "σ",
    "ς",
    "ΟΔΟΣ",
    "%",
    "_",
    "\\",
    "'",
    '"',
    "--",
    ";",
    "[and]",
    "[or]",
    "[equals]",
    "[",
    "]",
    "[x]",
    "+",
    "&",
    "<b>",
    "&amp;",
    "日本語",
    "日本",
    "カフェ",
    "ｶﾌｪ",
    "が",
    "か\u3099",
    "한",
    "\u1112\u1161\u11ab",
    "🎉",
    "👩\u200d👩\u200d👧",
    "🇯🇵",
    "ﬁ",
    "ǅ",
    "½",
    "a b",
    "a  b",
    "a\nb",
    "tab\there",
    "null",
    "true",
    "Å",
    "\u212b",
    "\uffee",
    "\U0001f600",
    "\u0345",
    "x\u0323\u0307",
    "x\u0307\u0323",
]
"""Texts whose case, composition, order or meaning elsewhere is odd."""

PAIRS = [("é", "e\u0301"), ("が", "か\u3099"), ("한", "\u1112\u1161\u11ab"), ("Å", "A\u030a"), ("ẍ̣", "x\u0308\u0323")]
"""The same text, composed and decomposed."""

NUMBERS: list[float] = [
    0,
    -0.0,
    1,
    -1,
    2,
    10,
    5,
    5.0,
    0.1,
    0.5,
    -1.5,
    1e3,
    1e-7,
    3.14159,
    2.5e15,
    2**53,
    -(2**53),
    2**53 - 1,
    1e15,
    0.30000000000000004,
]
DATES = [
    "2020-01-01T00:00:00Z",
    "2020-01-01",
    "2020-01-01T09:00:00+09:00",
    "2020-01-01T00:00:00",
    "2020-01-01T00:00:00.001Z",
    "2020-01-01T00:00:00.1Z",
    "2019-12-31T23:59:59.999Z",
    "2020-01-03 12:00Z",
    "1969-12-31T23:59:59.999Z",
    "0001-01-02T00:00:00Z",
    "9999-12-31T23:59:59.999Z",
    "2020-01-02T00:00:00Z",
    "2020-06-30T23:59:00-03:30",
    "2020-02-29",
]

LIST_FIELDS: list[dict[str, Any]] = [
    {"id": "title", "name": "Title", "type": "text", "required": True},
    {"id": "memo", "name": "Memo", "type": "textarea"},
    {"id": "story", "name": "Story", "type": "richtext"},
    {"id": "size", "name": "Size", "type": "number"},
    {"id": "day", "name": "Day", "type": "datetime"},
    {"id": "open", "name": "Open", "type": "boolean"},
    {"id": "kind", "name": "Kind", "type": "single_select", "options": OPTIONS},
    {"id": "labels", "name": "Labels", "type": "multiple_select"},
    {"id": "owner", "name": "Owner", "type": "reference", "api": "people"},
    {"id": "next", "name": "Next", "type": "reference", "api": "things"},
    {"id": "links", "name": "Links", "type": "references", "api": "things"},
    {"id": "places", "name": "Places", "type": "references", "api": "places"},
    {"id": "picture", "name": "Picture", "type": "image"},
    {"id": "pictures", "name": "Pictures", "type": "images"},
    {"id": "paper", "name": "Paper", "type": "file"},
    {"id": "loose", "name": "Loose", "type": "reference"},
    {"id": "facts", "name": "Facts", "type": "json"},
    {"id": "any", "name": "Any", "type": "references", "apis": ["people", "places", "things"]},
    {
        "id": "card",
        "name": "Card",
        "type": "group",
        "fields": [
            {"id": "title", "name": "Title", "type": "text"},
            {"id": "size", "name": "Size", "type": "number"},
            {"id": "day", "name": "Day", "type": "datetime"},
            {"id": "owner", "name": "Owner", "type": "reference", "api": "people"},
            {"id": "links", "name": "Links", "type": "references", "api": "things"},
            {"id": "facts", "name": "Facts", "type": "json"},
        ],
    },
    {
        "id": "blocks",
        "name": "Blocks",
        "type": "groups",
        "groups": [
            {"id": "rule", "fields": []},
            {
                "id": "words",
                "fields": [
                    {"id": "story", "name": "Story", "type": "richtext"},
                    {"id": "labels", "name": "Labels", "type": "multiple_select"},
                    {
                        "id": "papers",
                        "name": "Papers",
                        "type": "groups",
                        "fields": [
                            {"id": "paper", "name": "Paper", "type": "file"},
                            {"id": "owner", "name": "Owner", "type": "reference", "api": "people"},
                        ],
                    },
                ],
            },
            {
                "id": "more",
                "fields": [
                    {"id": "any", "name": "Any", "type": "references", "apis": ["places", "nowhere"]},
                    {"id": "next", "name": "Next", "type": "reference", "api": "things"},
                    {
                        "id": "inner",
                        "name": "Inner",
                        "type": "group",
                        "fields": [
                            {"id": "pictures", "name": "Pictures", "type": "images"},
                            {"id": "places", "name": "Places", "type": "references", "api": "places"},
                        ],
                    },
                ],
            },
        ],
    },
    {"id": "lost", "name": "Lost", "type": "references", "api": "nowhere"},
]
APIS: list[dict[str, Any]] = [
    {"uid": "api_Bare00000001", "name": "Bare", "endpoint": "bare", "kind": "list", "multilingual": True, "fields": []},
    {
        "uid": "api_Front0000001", "name": "Front", "endpoint": "front", "kind": "object", "multilingual": True,
        "fields": [
            {"id": "title", "name": "Title", "type": "text"},
            {"id": "hero", "name": "Hero", "type": "reference", "api": "things"},
            {"id": "team", "name": "Team", "type": "references", "api": "people"},
        ],
    },
    {
        "uid": "api_Imprint00001", "name": "Imprint", "endpoint": "imprint", "kind": "object", "multilingual": False,
        "fields": [{"id": "story", "name": "Story", "type": "richtext"}],
    },
    {
        "uid": "api_People000001", "name": "People", "endpoint": "people", "kind": "list", "multilingual": False,
        "fields": [
            {"id": "name", "name": "Name", "type": "text"},
            {"id": "boss", "name": "Boss", "type": "reference", "api": "people"},
            {"id": "notes", "name": "Notes", "type": "json"},
            {"id": "works", "name": "Works", "type": "references", "api": "things"},
            {"id": "home", "name": "Home", "type": "reference", "api": "places"},
        ],
    },
    {
        "uid": "api_Places000001", "name": "Places", "endpoint": "places", "kind": "list", "multilingual": True,
        "fields": [
            {"id": "label", "name": "Label", "type": "text"},
            {"id": "height", "name": "Height", "type": "number"},
            {"id": "near", "name": "Near", "type": "references", "api": "places"},
        ],
    },
    {
        "uid": "api_Things000001", "name": "Things", "endpoint": "things", "kind": "list", "multilingual": True,
        "fields": LIST_FIELDS,
    },
]  # fmt: skip
WORKSPACE: dict[str, Any] = {
    "id": "random",
    "name": "Random",
    "timezone": "Asia/Tokyo",
    "languages": LANGUAGES,
    "apis": APIS,
}


def flip(random: Random) -> int:
    """An instant at which a window may begin or end, UTC milliseconds."""
    return START + random.randrange(FLIPS) * DAY


def written(ms: int) -> str:
    """A flip as a content file writes it."""
    return f"2020-01-{1 + (ms - START) // DAY:02}T00:00:00.000Z"


def text(random: Random) -> str:
    if random.random() < 0.2:
        return random.choice(PAIRS)[random.randrange(2)]
    return "".join(random.choice(TEXTS) for _ in range(random.choice([1, 1, 2, 3])))


def html(random: Random) -> str:
    """Rich text that sanitising leaves as it is."""

    def inner() -> str:
        words = escape(text(random).replace("\u00a0", " "), quote=False)
        return random.choice(["{}", "<strong>{}</strong>", "x<em>{}</em>y", "{}<br>{}", "{}&nbsp;{}"]).format(
            words, "end"
        )

    blocks = [
        "<p>{}</p>", "<h2>{}</h2>", "<ul><li>{}</li><li>two</li></ul>", "<blockquote><p>{}</p></blockquote>", "{}",
        "<div>{}</div>", "<table><tbody><tr><td>{}</td><td>cell</td></tr></tbody></table>", "<p></p>{}", "<p>{}</p>\n",
    ]  # fmt: skip
    return "".join(random.choice(blocks).format(inner()) for _ in range(random.choice([1, 1, 2])))


NAMES = ["id", "owner", "links", "next", "url", "fieldId", "boss", "works", "", "日本", 'a"b', "a.b", *TEXTS[:6]]
"""Keys of JSON, many of them names of fields."""


def free(random: Random, depth: int = 3) -> Any:
    """Any JSON."""
    match random.randrange(8) if depth else random.randrange(5):
        case 0:
            return random.choice([None, True, False])
        case 1 | 2:
            return random.choice([*NUMBERS, *IDS])
        case 3 | 4:
            return text(random)
        case 5:
            return [free(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(NAMES): free(random, depth - 1) for _ in range(random.randrange(5))}


def value(random: Random, field: Version) -> Any:
    """A value of a field's type as a JSON file writes it, or ``None``."""
    if random.random() < 0.25:
        return None
    match field["type"]:
        case "text" | "textarea":
            return text(random)
        case "richtext":
            return html(random)
        case "number":
            return random.choice(NUMBERS)
        case "datetime":
            return random.choice(DATES)
        case "boolean":
            return random.random() < 0.5
        case "single_select":
            return random.choice(OPTIONS)
        case "multiple_select":
            return random.sample(LABELS, random.randrange(4))
        case "reference":
            return random.choice([*IDS, "gone"])
        case "references":
            named = random.sample([*IDS, "gone"], random.randrange(5))
            if "apis" in field:
                return [random.choice([one, {"api": random.choice(field["apis"]), "id": one}]) for one in named]
            return named
        case "group":
            return group(random, field)
        case "groups" if "groups" in field:
            kinds = [random.choice(field["groups"]) for _ in range(random.randrange(4))]
            return [{"fieldId": kind["id"], **group(random, kind)} for kind in kinds]
        case "groups":
            several = [group(random, field) for _ in range(random.randrange(4))]
            return several[0] if len(several) == 1 else several
        case "image":
            whole = {"url": "https://img.example/x.png", "width": 3, "height": 4, "alt": text(random)}
            return random.choice([whole["url"], whole, {"url": whole["url"], "alt": "x"}])
        case "images":
            one = value(random, {"type": "image"})
            return random.choice([one, [], [one for one in (value(random, {"type": "image"}), one) if one is not None]])
        case "file":
            return random.choice(["/a.pdf", {"url": "/a.pdf"}, {"url": "https://x.example/b", "fileSize": 0}])
        case "json":
            return free(random)
    raise AssertionError(field)


def group(random: Random, kind: Version) -> Version:
    """One group, in which some fields are left out."""
    return {field["id"]: value(random, field) for field in kind["fields"] if random.random() < 0.8}


def version(random: Random, api: Version, entry_id: str, lang: str, *, draft: bool) -> Version:
    """One language version with a random status, window, dates and values."""
    made: Version = {"api": api["endpoint"], "id": entry_id, "lang": lang, "draft": draft}
    for name in ("createdAt", "updatedAt", "publishedAt"):
        if random.random() < 0.5:
            made[name] = random.choice(DATES)
    if not draft:
        made["status"] = random.choices(["published", "scheduled", "draft"], [6, 3, 1])[0]
        if made["status"] == "scheduled" or random.random() < 0.2:
            made["publishStart"] = written(flip(random))
        if random.random() < 0.3:
            end = flip(random)
            if "publishStart" not in made or made["publishStart"] < written(end):
                made["publishEnd"] = written(end)
    if random.random() < 0.9:
        made["draftKey"] = f"key-{entry_id}-{lang}-{'draft' if draft else 'main'}"
    for field in api["fields"]:
        made[field["id"]] = value(random, field)
        if field.get("required") and not made[field["id"]]:
            made[field["id"]] = "x" + text(random)
    return made


def random_versions(seed: int) -> list[Version]:
    """The versions of one random workspace, some hundred."""
    random = Random(seed)
    made = []
    for api in APIS:
        ids = IDS if api["kind"] == "list" else [random.choice([api["endpoint"], "own-id"])]
        for entry_id in ids:
            for lang in LANGUAGES if api["multilingual"] else LANGUAGES[:1]:
                if random.random() < 0.75:
                    made.append(version(random, api, entry_id, lang, draft=False))
                if random.random() < 0.45 and not (made and made[-1].get("status") == "draft"):
                    made.append(version(random, api, entry_id, lang, draft=True))
    return made


def many_versions(seed: int, entries: int) -> list[Version]:
    """A random workspace with that many more entries of two APIs, beyond what one block of a table holds."""
    random = Random(seed)
    made = random_versions(seed)
    for api in APIS:
        if api["endpoint"] in ("places", "things"):
            for number in range(entries):
                for lang in LANGUAGES[:2]:
                    if random.random() < 0.7:
                        made.append(version(random, api, f"e{number}", lang, draft=False))
    random.shuffle(made)
    return made


def random_views(seed: int) -> dict[str, int]:
    """All-time counts of some of the entries, often equal."""
    random = Random(seed)
    return {entry_id: random.randrange(3) for entry_id in random.sample([*IDS, "gone"], random.choice([0, 3, 9]))}


def write_workspace(directory: Path, versions: list[Version]) -> None:
    """A directory that says what ``WORKSPACE`` and ``versions`` say, one JSONL file an API.

    Every other line has an empty text for no value, where that is not a value itself.
    """
    (directory / "apis").mkdir(parents=True)
    (directory / "content").mkdir()
    facts = {name: fact for name, fact in WORKSPACE.items() if name != "apis"}
    (directory / "workspace.yaml").write_text(json.dumps(facts), encoding="utf-8")
    for api in APIS:
        (directory / "apis" / f"{api['endpoint']}.yaml").write_text(json.dumps(api), encoding="utf-8")
        texts = {field["id"] for field in api["fields"] if field["type"] in ("text", "textarea", "richtext", "json")}
        lines = []
        for number, one in enumerate(each for each in versions if each["api"] == api["endpoint"]):
            said = {key: value for key, value in one.items() if key != "api"}
            if number % 2:
                said = {key: "" if value is None and key not in texts else value for key, value in said.items()}
            lines.append(json.dumps(said, ensure_ascii=False))
        (directory / "content" / f"{api['endpoint']}.jsonl").write_text("\n".join(lines), encoding="utf-8")
