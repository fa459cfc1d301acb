"""Random read requests over a random workspace: every parameter, together, mostly well-formed.

A request is (path, query string as sent, headers, scope, now): what the naive evaluator takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from hypothesis import strategies as st

from tests.generated.any_text import CHARACTERS
from tests.generated.content import (
    APIS,
    DATES,
    DAY,
    FLIPS,
    IDS,
    LABELS,
    LANGUAGES,
    NUMBERS,
    OPTIONS,
    PAIRS,
    START,
    TEXTS,
)

Drawn = TypeVar("Drawn")

META = ["id", "createdAt", "updatedAt", "publishedAt"]
OPERATORS = ["equals", "not_equals", "contains", "not_contains", "greater_than", "less_than", "exists", "not_exists"]
OPERATORS_OF = {
    "text": ["equals", "not_equals", "contains", "not_contains", "exists", "not_exists"],
    "textarea": ["equals", "not_equals", "contains", "not_contains", "exists", "not_exists"],
    "richtext": ["contains", "not_contains", "exists", "not_exists"],
    "number": ["equals", "not_equals", "greater_than", "less_than", "exists", "not_exists"],
    "datetime": ["greater_than", "less_than", "exists", "not_exists"],
    "boolean": ["equals", "not_equals", "exists", "not_exists"],
    "single_select": ["equals", "not_equals", "exists", "not_exists"],
    "multiple_select": ["contains", "not_contains", "exists", "not_exists"],
    "reference": ["equals", "not_equals", "exists", "not_exists"],
    "references": ["contains", "not_contains", "exists", "not_exists"],
    "image": ["exists", "not_exists"],
    "images": ["exists", "not_exists"],
    "file": ["exists", "not_exists"],
    "json": ["exists", "not_exists"],
    "group": ["exists", "not_exists"],
    "groups": ["exists", "not_exists"],
    "id": ["equals", "not_equals", "exists", "not_exists"],
    "date": ["greater_than", "less_than", "exists", "not_exists"],
}
"""For drawing likely conditions only: whether a condition is allowed is the evaluators' business."""
NUMBER_TEXTS = [*(repr(number) for number in NUMBERS), "5.0", "-0", "1e0", "1E+1", "NaN"]
DATE_TEXTS = [
    *DATES,
    "2020-01-02T00:00:00+00:00",
    "2020-01-02T00:00",
    "2020-01-02T00:00:00.0000001Z",
    "2020-13-01",
    "now",
    "",
]
BOOLEAN_TEXTS = ["true", "false"] * 5 + ["True"]
ENTRY_IDS = [*IDS, *IDS, "B", "gone", "x.y", "日本"]
ENDPOINTS = [api["endpoint"] for api in APIS]
BY_ENDPOINT = {api["endpoint"]: api for api in APIS}
INSTANTS = sorted({START + day * DAY + around for day in range(FLIPS) for around in (-1, 0, 1)} | {0, START + 99 * DAY})


@dataclass(frozen=True)
class Sent:
    """One request, and when it is made."""

    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    scope: frozenset[str] | None
    now: int


@cache
def made(values: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def any_of(values: Sequence[Drawn]) -> st.SearchStrategy[Drawn]:
    """One of the values. What draws them is made and validated once, as that takes longer than to draw."""
    return made(tuple(values))


texts = st.one_of(
    any_of(TEXTS),
    any_of([either for pair in PAIRS for either in pair]),
    st.lists(any_of(TEXTS), min_size=2, max_size=3).map("".join),
    st.text(CHARACTERS, max_size=3),
)
DRAFT_KEYS = [
    f"key-{entry_id}-{lang}-{kind}"
    for entry_id in [*IDS[:5], "front", "own-id", "imprint"]
    for lang in LANGUAGES
    for kind in ("draft", "main")
]
FLAWS = [
    *(
        f"{name}={text}"
        for name in ("limit", "offset", "depth")
        for text in ("", "-1", "01", "1.0", "x", "9007199254740992")
    ),
    *(
        "limit=0",
        "limit=101",
        "depth=3",
        "lang=",
        "lang=fr",
        "lang=JA",
        "lang_fallback=",
        "lang_fallback=1",
        "include=",
    ),
    *("include=langs", "include=_langs,", "orders=id", "orders=title,", "orders=a,b,c,d", "draftKey=", "draftKey=a.b"),
    *(
        "q=" + "x" * 101,
        "fields=" + "," * 50,
        "filters=x",
        "filters=[and]",
        "filters=title[equals]a[and]title[exists][or]id[exists]",
    ),
    *(
        "filters=id[exists]x",
        "filters=nope[exists]",
        "filters=id[contains]a",
        "unknown=1",
        "lang=ja",
        f"draftKey={'x' * 65}",
    ),
]
"""Parameters that are refused, at least by some kind of request."""
LANGUAGE_CHOICES = [
    *("lang=ja&lang_fallback=true", "lang=de-AT&lang_fallback=true") * 2,
    *(
        "lang=en",
        "lang=ja",
        "lang=de-AT",
        "lang_fallback=true",
        "lang=ja&lang_fallback=false",
        "lang_fallback=true&lang=en",
    ),
]
SCOPES = [
    None,
    frozenset(api["uid"] for api in APIS if api["endpoint"] != "places"),
    frozenset(api["uid"] for api in APIS if api["endpoint"] != "things"),
    frozenset(["api_Things000001", "api_Front0000001"]),
]


def form(value: str) -> str:
    """A value as most clients encode it."""
    return quote_plus(value, safe="")


def quote_all(value: str) -> str:
    """A value as the careful ones do, with %20 for a space."""
    return quote(value, safe="")


@cache
def kinds_of(endpoint: str) -> dict[str, str]:
    """Every field of an API that can be named, and its type."""
    fields = {field["id"]: field["type"] for field in BY_ENDPOINT[endpoint]["fields"]}
    return {**fields, "id": "id", "createdAt": "date", "updatedAt": "date", "publishedAt": "date"}


@cache
def operands(kind: str) -> st.SearchStrategy[str]:
    match kind:
        case "number":
            return any_of(NUMBER_TEXTS)
        case "datetime" | "date":
            return any_of(DATE_TEXTS)
        case "boolean":
            return any_of(BOOLEAN_TEXTS)
        case "single_select":
            return any_of([*OPTIONS, "", "none"])
        case "multiple_select":
            return any_of([*LABELS, "", "none"])
        case "reference" | "references" | "id":
            return any_of([*ENTRY_IDS, ""])
    return texts


@cache
@st.composite
def conditions(draw: st.DrawFn, endpoint: str) -> tuple[str, str, str]:
    """(field, operator, value); now and then one that is not allowed."""
    kinds = kinds_of(endpoint)
    names = sorted(kinds)
    names += [name for name in names if kinds[name] in ("text", "textarea", "richtext")] * 3
    name = draw(any_of(names))
    if draw(any_of([False] * 39 + [True])):
        return (
            draw(any_of([name, "nope", "Title", "views"])),
            draw(any_of([*OPERATORS, "like"])),
            draw(texts),
        )
    operator = draw(any_of(OPERATORS_OF[kinds[name]]))
    if operator.endswith("exists"):
        return name, operator, ""
    return name, operator, draw(operands(kinds[name]))


@cache
@st.composite
def filters(draw: st.DrawFn, endpoint: str) -> str:
    """A filters parameter, with literal brackets or encoded as a whole."""
    parts = draw(st.lists(conditions(endpoint), min_size=1, max_size=3))
    joiner = draw(any_of(["[and]", "[or]"]))
    if draw(st.booleans()):
        encode = draw(any_of([form, quote_all]))
        return joiner.join(f"{name}[{operator}]{encode(value)}" for name, operator, value in parts)
    return form(joiner.join(f"{name}[{operator}]{value}" for name, operator, value in parts))


@cache
def orders(endpoint: str) -> st.SearchStrategy[str]:
    kinds = kinds_of(endpoint)
    sortable = [name for name, kind in kinds.items() if kind in ("text", "number", "datetime", "boolean", "date")]
    names = any_of([*sortable, *sortable, "views"])
    one = st.tuples(any_of(["", "-"]), names).map("".join)
    return st.lists(one, min_size=1, max_size=3).map(",".join)


@cache
def selected(endpoint: str) -> st.SearchStrategy[str]:
    names = any_of([*kinds_of(endpoint), "nope", " title ", "", "_langs"])
    return st.lists(names, min_size=1, max_size=4).map(",".join).map(form)


@cache
def parameters(endpoint: str) -> dict[str, st.SearchStrategy[str]]:
    """Well-formed values of every parameter but the languages'."""
    return {
        "limit": any_of(["1", "2", "3", "5", "100"]),
        "offset": any_of(["0", "1", "2", "5", "9007199254740991"]),
        "orders": orders(endpoint),
        "filters": filters(endpoint),
        "q": texts.map(form),
        "depth": any_of(["0", "1", "2", "2"]),
        "fields": selected(endpoint),
        "include": any_of(["_langs", "_langs,_langs"]),
    }


@cache
def combined(endpoint: str) -> st.SearchStrategy[set[str]]:
    """Names of parameters, mostly of one or two."""
    names = any_of(sorted(parameters(endpoint)))
    few = st.sets(names, max_size=2)
    return st.one_of(few, few, st.sets(names))


@cache
@st.composite
def queries(draw: st.DrawFn, endpoint: str) -> str:
    """A query string: any of the parameters together, well-formed but for one in ten."""
    values = parameters(endpoint)
    names = draw(combined(endpoint))
    parts = [f"{name}={draw(values[name])}" for name in sorted(names)]
    if BY_ENDPOINT[endpoint]["multilingual"]:
        parts += draw(st.lists(any_of(LANGUAGE_CHOICES), max_size=1))
    if draw(any_of([False] * 9 + [True])):
        parts.insert(draw(st.integers(0, len(parts))), draw(any_of(FLAWS)))
    return "&".join(parts)


@cache
@st.composite
def previews(draw: st.DrawFn, endpoint: str, entry_id: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What to add to a query string and to the headers to ask for a draft; often a key that opens one."""
    lang = draw(any_of(LANGUAGES if BY_ENDPOINT[endpoint]["multilingual"] else LANGUAGES[:1]))
    kind = draw(any_of(["draft", "draft", "main"]))
    key = draw(any_of([f"key-{entry_id}-{lang}-{kind}"] * 6 + DRAFT_KEYS[:2] + ["wrong", "x" * 64]))
    if draw(st.booleans()):
        return f"&lang={lang}&draftKey={form(key)}", ()
    malformed = draw(any_of([key] * 9 + [""]))
    return f"&lang={lang}{draw(any_of(['', '', '&draftKey=wrong']))}", (("X-Draft-Key", malformed),)


@cache
def perhaps_previews(endpoint: str, entry_id: str) -> st.SearchStrategy[tuple[str, tuple[tuple[str, str], ...]]]:
    return st.one_of(st.just(("", ())), previews(endpoint, entry_id))


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """A list, single, object or schema request at an instant around the flips, by a key of some scope."""
    endpoint = draw(any_of(["things", "things", "things", *ENDPOINTS]))
    api = BY_ENDPOINT[endpoint]
    path, query = f"/v1/random/{endpoint}", draw(queries(endpoint))
    headers: tuple[tuple[str, str], ...] = ()
    entry_id = draw(any_of([endpoint, "own-id"]))
    if api["kind"] == "list" and draw(any_of([False, False, True])):
        entry_id = draw(any_of(ENTRY_IDS))
        path += f"/{quote(entry_id)}"
    if path.count("/") > 3 or api["kind"] == "object":
        added, headers = draw(perhaps_previews(endpoint, entry_id))
        query += added
    if draw(any_of([False] * 19 + [True])):
        path = draw(
            any_of(["/v1/random/_schema", "/v1/random/nothing", "/v1/random/Things", f"/v1/random/{endpoint}/x"])
        )
    scopes = [scope for scope in SCOPES if scope is None or api["uid"] in scope]
    scope = draw(any_of([*scopes, *scopes, *scopes, *SCOPES]))
    return Sent(path, query, headers, scope, draw(any_of(INSTANTS)))
