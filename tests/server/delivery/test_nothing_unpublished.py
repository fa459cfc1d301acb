"""No content outside its live window, and no draft without its key, ever comes out: neither said nor implied.

Every version carries a marker of its own in every text. Any marker in an answer must be of a version that is live at
``now``, or of the draft whose key was presented. And an answer must be, byte for byte, what it would be if everything
that is not live had never been written: so totals, orders, matches and ``_langs`` give nothing away either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import APIS, LANGUAGES, Version, random_versions
from tests.generated.engine import Engine, engine_over
from tests.generated.requests import INSTANTS, Sent, requests
from tests.model.model import Request

MARKER = re.compile(r"mark\d+x")


def marked(versions: list[Version]) -> list[Version]:
    """The same versions, with a marker in every text: ``mark0x``, ``mark1x``, …"""
    types = {(api["endpoint"], field["id"]): field["type"] for api in APIS for field in api["fields"]}
    result = []
    for place, version in enumerate(versions):
        changed = dict(version)
        for name in version:
            match types.get((version["api"], name)):
                case "text" | "textarea":
                    changed[name] = f"mark{place}x{version[name] or ''}"
                case "richtext":
                    changed[name] = f"<p>mark{place}x</p>{version[name] or ''}"
                case "multiple_select":
                    changed[name] = [f"mark{place}x", *(version[name] or [])]
                case "image":
                    changed[name] = {"url": "https://img.example/x.png", "alt": f"mark{place}x"}
        result.append(changed)
    return result


def live(engine: Engine, version: Version, now: int) -> bool:
    return Request(engine.model, None, now).is_live(version)


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[int], Engine]]:
    """Engines over random workspaces by their seeds, each built when it is first asked for."""
    with ExitStack() as stack:
        yield cache(lambda seed: stack.enter_context(engine_over(marked(random_versions(5000 + seed)))))


def hunting(place: int, how: int) -> str:
    """A query that would find a version by its marker, were it searched."""
    marker = f"mark{place}x"
    return [
        f"q={marker}",
        f"filters=title[contains]{marker}",
        f"filters=story[contains]{marker}[or]memo[contains]{marker}",
        f"filters=labels[contains]{marker}",
        f"q={marker}&lang=ja&lang_fallback=true&depth=2",
        f"filters=label[contains]{marker}&lang=de-AT",
        f"filters=title[not_contains]{marker}&orders=-title&limit=100",
        f"filters=name[contains]{marker}&include=_langs",
    ][how]


@pytest.mark.parametrize(("examples", "workspaces"), [(30, 2), pytest.param(500, 4, marks=pytest.mark.slow)])
def test_every_marker_is_of_live_content(engines: Callable[[int], Engine], examples: int, workspaces: int) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(
        seed=st.integers(0, workspaces * TIMES - 1),
        sent=requests(),
        place=st.integers(0, 99),
        how=st.none() | st.integers(0, 7),
    )
    def is_live(seed: int, sent: Sent, place: int, how: int | None) -> None:
        every_marker_is_of_live_content(engines(seed), sent, place, how)

    is_live()


def every_marker_is_of_live_content(engine: Engine, sent: Sent, place: int, how: int | None) -> None:
    if how is not None:
        sent = replace(sent, query=f"{sent.query}&{hunting(place, how)}", headers=())
    status, body = engine.answer(sent)
    if body is None:
        return
    opened = drafts_opened(engine, sent)
    for marker in set(MARKER.findall(body.decode())):
        version = engine.model.versions[int(marker[4:-1])]
        assert live(engine, version, sent.now) or version in opened, (status, version)


def drafts_opened(engine: Engine, sent: Sent) -> list[Version]:
    """The versions whose draft key the request presents, for the very entry it asks for."""
    given_keys = [value for name, value in sent.headers] or re.findall(r"draftKey=([^&]*)", sent.query)[-1:]
    endpoint, *entry = sent.path.split("/")[3:]
    api = next((api for api in APIS if api["endpoint"] == endpoint), None)
    if not given_keys or api is None or (api["kind"] == "list" and not entry):
        return []
    lang = (re.findall(r"lang=([^&]*)", sent.query) or ["en"])[-1]
    own = [
        v
        for v in engine.model.versions
        if (v["api"], v["lang"]) == (endpoint, lang) and (not entry or v["id"] == entry[0])
    ]
    keys = {v.get("draftKey") for v in own}
    return [v for v in own if (v["draft"] or v.get("status") == "draft") and given_keys[0] in keys]


def test_no_key_but_its_own_opens_a_draft(engines: Callable[[int], Engine]) -> None:
    """Every draft of a workspace, with every other key there is: of its entry in other languages, of other entries."""
    engine = engines(0)
    keys = sorted({version["draftKey"] for version in engine.model.versions if "draftKey" in version})
    tried = 0
    for number, version in enumerate(engine.model.versions):
        own = {v.get("draftKey") for v in engine.model.versions_of(api_of(version), version["id"], version["lang"])}
        if version["api"] != "things" or not (version["draft"] or version["status"] == "draft"):
            continue
        for key in (
            *keys[number % 20 :: 20],
            *(f"key-{version['id']}-{lang}-draft" for lang in LANGUAGES),
            "wrong",
            "0",
            "null",
        ):
            if key not in own:
                query = f"lang={version['lang']}&draftKey={key}"
                assert (
                    engine.answer(Sent(f"/v1/random/things/{version['id']}", query, (), None, INSTANTS[-1]))[0] == 404
                )
                tried += 1
    assert tried > 100


def api_of(version: Version) -> Version:
    return next(api for api in APIS if api["endpoint"] == version["api"])


@pytest.mark.parametrize("seed", [6000, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6001, 6006))])
def test_answers_are_as_if_nothing_else_had_been_written(seed: int) -> None:
    versions = marked(random_versions(seed))
    now = Random(seed).choice(INSTANTS)
    with ExitStack() as stack:
        whole = stack.enter_context(engine_over(versions))
        alone = stack.enter_context(engine_over([v for v in versions if live(whole, v, now)]))

        @RANDOM
        @given(sent=requests(), place=st.integers(0, 99), how=st.none() | st.integers(0, 7))
        def alike(sent: Sent, place: int, how: int | None) -> None:
            query = sent.query if how is None else f"{sent.query}&{hunting(place, how)}"
            asked = replace(sent, now=now, headers=(), query=re.sub(r"draftKey=[^&]*", "", query))
            assert whole.answer(asked) == alone.answer(asked)

        alike()


def test_the_markers_of_what_is_live_do_come_out(engines: Callable[[int], Engine]) -> None:
    """The tests above can fail: lists are full of markers, and a draft's key opens its draft."""
    seen = set()
    for now in INSTANTS:
        for query in ("limit=100", "limit=100&lang=ja", "limit=100&lang=de-AT&lang_fallback=true"):
            _, body = engines(0).answer(Sent("/v1/random/things", query, (), None, now))
            assert body is not None
            seen |= set(MARKER.findall(body.decode()))
    assert len(seen) > 20
    opened = 0
    for version in engines(0).model.versions:
        if version["draft"] and "draftKey" in version and version["api"] == "things":
            query = f"lang={version['lang']}&draftKey={version['draftKey']}"
            _, body = engines(0).answer(Sent(f"/v1/random/things/{version['id']}", query, (), None, 0))
            assert body is not None
            assert version["title"].encode()[:6] in body
            opened += 1
    assert opened > 3
