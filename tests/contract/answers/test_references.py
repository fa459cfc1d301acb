"""Contract 4.8 and 2.7, decision 21: expanding references."""

from __future__ import annotations

from tests.contract.bodies import (
    ALPHA,
    ALPHA_JA,
    BRAVO,
    CHARLIE,
    DELTA,
    ECHO,
    FOXTROT,
    FOXTROT_PT,
    GOLF_JA,
    HISTORY,
    KEN,
    MIKA,
    SCIENCE,
    SCIENCE_JA,
)
from tests.contract.cases import answers, check_all, page, refuses
from tests.contract.service import Service

ALPHA_ONCE = {**ALPHA, "author": MIKA, "related": [BRAVO, CHARLIE], "topic": SCIENCE}
DELTA_ONCE = {**DELTA, "author": KEN, "related": [DELTA], "topic": None}
MIKA_ONCE = {**MIKA, "mentor": KEN, "interests": [SCIENCE]}
BRAVO_ONCE = {**BRAVO, "author": None, "topic": HISTORY}
FOXTROT_ONCE = {**FOXTROT, "author": MIKA, "related": [], "topic": HISTORY}
GOLF_JA_ONCE = {**GOLF_JA, "author": KEN, "related": [ALPHA_JA], "topic": None}

DEPTHS = [
    answers("4.8 depth=0: IDs as stored, live or not", "articles/alpha?depth=0", ALPHA),
    answers("4.8 depth=1: entries, with IDs inside", "articles/alpha?depth=1", ALPHA_ONCE),
    answers("4.3 depth defaults to 1", "articles/alpha", ALPHA_ONCE),
    answers(
        "4.8 depth=2: references inside are expanded once more",
        "articles/alpha?depth=2",
        {
            **ALPHA,
            "author": MIKA_ONCE,
            "related": [BRAVO_ONCE, CHARLIE],
            "topic": {**SCIENCE, "parent": HISTORY},
        },
    ),
    answers("4.8 a target that does not exist is null", "articles/bravo", BRAVO_ONCE),
    answers("4.8 a target that is not live is null; an entry may refer to itself", "articles/delta", DELTA_ONCE),
    answers(
        "4.8 an entry that refers to itself, twice expanded",
        "articles/delta?depth=2",
        {**DELTA, "author": {**KEN, "mentor": MIKA}, "related": [DELTA_ONCE], "topic": None},
    ),
    answers("4.8 not live targets are dropped from an array", "articles/foxtrot", FOXTROT_ONCE),
    answers(
        "4.8 the order of references is the stored one",
        "articles/echo?depth=2",
        {
            **ECHO,
            "author": MIKA_ONCE,
            "related": [ALPHA_ONCE, DELTA_ONCE, CHARLIE],
        },
    ),
    answers(
        "4.8 a circle of references ends at the depth",
        "authors/mika?depth=2",
        {
            **MIKA,
            "mentor": {**KEN, "mentor": MIKA},
            "interests": [{**SCIENCE, "parent": HISTORY}],
        },
    ),
    answers("4.8 an entry without references", "articles/charlie?depth=2", CHARLIE),
    answers(
        "4.8 the first level may be live and the second not",
        "topics/science?depth=2",
        {
            **SCIENCE,
            "parent": {**HISTORY, "parent": None},
        },
    ),
    answers(
        "4.8 on a list",
        "articles?depth=1",
        page(
            ALPHA_ONCE,
            BRAVO_ONCE,
            DELTA_ONCE,
            {**ECHO, "author": MIKA, "related": [ALPHA, DELTA, CHARLIE]},
            FOXTROT_ONCE,
            CHARLIE,
            total=6,
        ),
    ),
    answers(
        "4.8 on a page of a list, depth=2",
        "topics?depth=2&limit=2",
        page(
            {**HISTORY, "parent": None},
            {**SCIENCE, "parent": {**HISTORY, "parent": None}},
            total=2,
            limit=2,
        ),
    ),
    answers(
        "4.8 filters look at stored IDs, not at expanded entries",
        "articles?filters=related[contains]sleeper&offset=1&fields=related",
        page(
            {"id": "foxtrot", "related": []},
            total=2,
            offset=1,
        ),
    ),
]

SCOPE = [
    answers(
        "2.7 an API outside the key's scope is not expanded, and its IDs come back",
        "articles/alpha",
        {**ALPHA, "author": MIKA, "related": [BRAVO, CHARLIE]},
        key="narrow",
    ),
    answers(
        "2.7 nor at the second level, though the target is not live",
        "articles/alpha?depth=2&fields=author,topic",
        {"id": "alpha", "author": {**MIKA, "mentor": KEN}, "topic": "science"},
        key="narrow",
    ),
    answers(
        "2.7 the ID of a target that is not live, outside the scope",
        "articles/delta?fields=topic",
        {
            "id": "delta",
            "topic": "hidden",
        },
        key="narrow",
    ),
    *(
        answers(
            f"2.7 nor in a {kind} at depth {depth}",
            f"{target}fields=topic&depth={depth}",
            {"contents": [item], "totalCount": 1, "offset": 0, "limit": 10} if kind == "list" else item,
            key="narrow",
        )
        for depth in (0, 1, 2)
        for kind, target, item in (
            ("list", "articles?filters=id[equals]alpha&", {"id": "alpha", "topic": "science"}),
            ("draft", "articles/bravo?draftKey=bravo-key&", {"id": "bravo", "topic": "hidden"}),
        )
    ),
    answers(
        "2.7 the ID of a target of no API",
        "articles/alpha?fields=origin,sources&depth=2",
        {
            "id": "alpha",
            "origin": "wire-77",
            "sources": ["arc-1", "arc-2"],
        },
    ),
]

LANGUAGES = [
    answers(
        "4.11 expansion uses the same language; an API without languages its main one",
        "articles/alpha?lang=ja",
        {**ALPHA_JA, "author": MIKA, "related": [GOLF_JA], "topic": SCIENCE_JA},
    ),
    answers(
        "4.11 expansion uses the same fallback",
        "articles/alpha?lang=ja&lang_fallback=true",
        {**ALPHA_JA, "author": MIKA, "related": [GOLF_JA, BRAVO, CHARLIE], "topic": SCIENCE_JA},
    ),
    answers(
        "4.11 expansion in a language, at the second level",
        "articles/alpha?lang=ja&depth=2",
        {
            **ALPHA_JA,
            "author": {**MIKA, "mentor": KEN, "interests": [SCIENCE_JA]},
            "related": [GOLF_JA_ONCE],
            "topic": {**SCIENCE_JA, "parent": None},
        },
    ),
    answers(
        "4.11 expansion with fallback, at the second level",
        "articles/alpha?lang=ja&depth=2&lang_fallback=true",
        {
            **ALPHA_JA,
            "author": {**MIKA, "mentor": KEN, "interests": [SCIENCE_JA]},
            "related": [{**GOLF_JA_ONCE, "topic": HISTORY}, BRAVO_ONCE, CHARLIE],
            "topic": {**SCIENCE_JA, "parent": HISTORY},
        },
    ),
    answers(
        "4.11 inside a row that fell back, references still are in the language asked for",
        "articles/echo?lang=ja&lang_fallback=true",
        {**ECHO, "author": MIKA, "related": [ALPHA_JA, DELTA, CHARLIE]},
    ),
    answers(
        "4.11 another language, nothing live of a topic",
        "articles/alpha?lang=pt-BR&fields=related,topic",
        {
            "id": "alpha",
            "related": [FOXTROT_PT],
            "topic": None,
        },
    ),
    answers(
        "4.11 another language, with fallback",
        "articles/alpha?lang=pt-BR&fields=related,topic&lang_fallback=true",
        {
            "id": "alpha",
            "related": [FOXTROT_PT, DELTA],
            "topic": SCIENCE,
        },
    ),
    answers("4.11 depth=0 knows no language", "articles/golf?lang=ja&depth=0", GOLF_JA),
    answers(
        "4.11 expanded entries have no _langs",
        "articles/golf?lang=ja&include=_langs&fields=author,related",
        {
            "id": "golf",
            "author": KEN,
            "related": [ALPHA_JA],
            "_langs": {"current": "ja", "available": ["ja"]},
        },
    ),
]

REFUSED = [
    refuses("4.3 an empty depth", "articles?depth=", "depth"),
    refuses("4.3 depth=3", "articles?depth=3", "depth", "2"),
    refuses("4.3 a negative depth", "articles?depth=-1", "depth"),
    refuses("D5 depth with a point", "articles?depth=1.0", "depth"),
    refuses("D35 depth with a leading zero", "articles?depth=01", "depth"),
    refuses("D5 depth that is no number", "articles/alpha?depth=all", "depth"),
    refuses("4.3 an empty depth on an object", "site?depth=", "depth"),
]


def test_references(service: Service) -> None:
    check_all(service, [*DEPTHS, *SCOPE, *LANGUAGES, *REFUSED])
