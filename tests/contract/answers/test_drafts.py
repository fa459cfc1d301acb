"""Contract 4.10, decisions 25 and 40: draft preview."""

from __future__ import annotations

from tests.contract.bodies import (
    ALPHA_JA_DRAFT,
    BANNER_DRAFT,
    BRAVO,
    BRAVO_DRAFT,
    BRAVO_JA_DRAFT,
    CHARLIE,
    FOXTROT,
    GOLF_JA,
    HISTORY,
    MEMO_DRAFT,
    MIKA,
    SITE_DRAFT,
    SKETCH_DRAFT,
)
from tests.contract.cases import answers, check, check_all, missing, refuses
from tests.contract.service import WORKSPACE, Service

BRAVO_PREVIEW = {**BRAVO_DRAFT, "author": MIKA, "related": [FOXTROT], "topic": None}
OPENS = {"X-Draft-Key": "bravo-key"}
LONGEST = "k" * 64

PREVIEWS = [
    answers(
        "4.10 by parameter; targets show published content only", "articles/bravo?draftKey=bravo-key", BRAVO_PREVIEW
    ),
    answers("4.10 by header", "articles/bravo", BRAVO_PREVIEW, headers=OPENS),
    answers(
        "4.10 the header wins over a parameter", "articles/bravo?draftKey=sketch-key", BRAVO_PREVIEW, headers=OPENS
    ),
    answers(
        "4.10 the header's name ignores case", "articles/bravo", BRAVO_PREVIEW, headers={"x-draft-key": "bravo-key"}
    ),
    answers("4.10 depth=0", "articles/bravo?draftKey=bravo-key&depth=0", BRAVO_DRAFT),
    answers("4.10 without the key, the published content", "articles/bravo?depth=0", BRAVO),
    answers(
        "4.10 depth=2: the second level is published content too",
        "articles/bravo?draftKey=bravo-key&depth=2&fields=related",
        {
            "id": "bravo",
            "related": [
                {
                    **FOXTROT,
                    "author": MIKA,
                    "related": [],
                    "topic": HISTORY,
                }
            ],
        },
    ),
    answers("4.10 with fields", "articles/bravo?draftKey=bravo-key&fields=rank", {"id": "bravo", "rank": 7}),
    answers(
        "4.10 with _langs: what is live, and what this is",
        "articles/bravo?draftKey=bravo-key&fields=id&include=_langs",
        {"id": "bravo", "_langs": {"current": "en", "available": ["en"]}},
    ),
    answers(
        "4.10 _langs of a draft leaves out what is scheduled",
        "articles/charlie?draftKey=charlie-key&fields=title&include=_langs",
        {
            "id": "charlie",
            "title": "Charlie, changed (UNPUBLISHED)",
            "_langs": {"current": "en", "available": ["en"]},
        },
    ),
    answers(
        "D40 status: draft alone is unpublished content, and may lack required fields",
        "articles/sketch?draftKey=sketch-key",
        SKETCH_DRAFT,
    ),
    answers(
        "D40 never published: no language is live",
        "articles/sketch?draftKey=sketch-key&fields=id&include=_langs",
        {"id": "sketch", "_langs": {"current": "en", "available": []}},
    ),
    answers(
        "4.10 a language version's key with lang; its targets in that language, live ones only",
        "articles/alpha?lang=ja&draftKey=alpha-ja-key",
        {**ALPHA_JA_DRAFT, "related": [GOLF_JA], "topic": None},
    ),
    answers(
        "4.10 _langs of a language version's draft",
        "articles/alpha?lang=ja&draftKey=alpha-ja-key&fields=id&include=_langs",
        {"id": "alpha", "_langs": {"current": "ja", "available": ["en", "ja", "pt-BR"]}},
    ),
    answers(
        "4.10 a language version with status: draft", "articles/bravo?lang=ja&draftKey=bravo-ja-key", BRAVO_JA_DRAFT
    ),
    answers("4.10 the main language named", "articles/bravo?lang=en&draftKey=bravo-key&depth=0", BRAVO_DRAFT),
    answers("4.10 an object", "site?draftKey=site-key", {**SITE_DRAFT, "featured": None, "picks": [CHARLIE]}),
    answers("4.10 an object by header", "site?depth=0", SITE_DRAFT, headers={"X-Draft-Key": "site-key"}),
    answers("4.10 an object that was never published", "banner?draftKey=banner-key", BANNER_DRAFT),
    answers(
        "D4 parameters of lists have no effect",
        "articles/bravo?draftKey=bravo-key&limit=x&filters=[[&depth=0",
        BRAVO_DRAFT,
    ),
]

MISSING = [
    missing("4.10 a wrong key", "articles/bravo?draftKey=wrong"),
    missing("4.10 keys are case-sensitive", "articles/bravo?draftKey=Bravo-Key"),
    missing("4.10 the beginning of a key", "articles/bravo?draftKey=bravo"),
    missing(
        "4.10 a wrong header, though the parameter is right",
        "articles/bravo?draftKey=bravo-key",
        headers={"X-Draft-Key": "wrong"},
    ),
    missing("D25 the key of another entry", "articles/alpha?draftKey=bravo-key"),
    missing("D25 an entry without unpublished changes", "articles/echo?draftKey=echo"),
    missing("D25 an ID of no entry", "articles/nobody?draftKey=bravo-key"),
    missing("D25 a not yet live version is no draft", "articles/sleeper?draftKey=sleeper"),
    missing("4.10 the key of another language version", "articles/alpha?draftKey=alpha-ja-key"),
    missing("4.10 the main version's key with lang", "articles/bravo?lang=ja&draftKey=bravo-key"),
    missing("4.10 preview never falls back", "articles/bravo?lang=pt-BR&lang_fallback=true&draftKey=bravo-key"),
    missing("4.10 a draft's language version that does not exist", "articles/sketch?lang=ja&draftKey=sketch-key"),
    missing("4.10 the longest key that matches nothing", f"articles/bravo?draftKey={LONGEST}"),
    missing("4.10 an object with a wrong key", "site?draftKey=wrong"),
    missing("4.10 an object with an entry's key", "site?draftKey=bravo-key"),
    missing("4.10 an object without unpublished changes", "imprint?draftKey=site-key"),
    missing("4.10 an object that was never saved", "blank?draftKey=site-key"),
    missing("2.7 a draft key opens no API outside the scope", "banner?draftKey=banner-key", key="narrow"),
    refuses("5 a draft key is no API key", "articles/bravo?draftKey=bravo-key", status=401, key="none"),
]

MALFORMED = [
    refuses("D6 an empty draftKey", "articles/bravo?draftKey=", "draft"),
    refuses("D40 an empty X-Draft-Key", "articles/bravo", "Draft", headers={"X-Draft-Key": ""}),
    refuses(
        "D40 an empty X-Draft-Key, though the parameter is right",
        "articles/bravo?draftKey=bravo-key",
        headers={"X-Draft-Key": ""},
    ),
    refuses("4.3 sixty-five characters", f"articles/bravo?draftKey={LONGEST}k"),
    refuses("D25 a space", "articles/bravo?draftKey=bravo+key"),
    refuses("D25 a point", "articles/bravo?draftKey=bravo.key"),
    refuses("D25 a line break at the end", "articles/bravo?draftKey=bravo-key%0A"),
    refuses("D25 letters beyond ASCII", "articles/bravo?draftKey=%C3%A9"),
    refuses("D25 a NUL", "articles/bravo?draftKey=%00"),
    refuses("D25 a malformed header", "articles/bravo", headers={"X-Draft-Key": "bravo key"}),
    refuses(
        "D25 a malformed header, though the parameter is right",
        "articles/bravo?draftKey=bravo-key",
        headers={"X-Draft-Key": "*"},
    ),
    refuses("D1 a malformed key before a missing entry", "articles/nobody?draftKey=*"),
    refuses("D25 a malformed key for an object", "site?draftKey=*"),
    refuses("7 an unknown lang in a preview", "articles/bravo?lang=fr&draftKey=bravo-key", "lang"),
]


def test_drafts(service: Service) -> None:
    check_all(service, [*PREVIEWS, *MISSING, *MALFORMED])


def test_a_draft_without_a_key_of_its_own_has_a_derived_one(service: Service) -> None:
    """4.10 and workspace-format: ``draftKey`` is optional; otherwise one is derived."""
    key = service.draft_key("articles", "memo", "en")
    check(service, answers("derived", f"articles/memo?draftKey={key}", MEMO_DRAFT))
    check(service, missing("another entry's derived key", f"articles/alpha?draftKey={key}"))
    other = service.draft_key("articles", "memo", "ja")
    check(service, missing("another language's derived key", f"articles/memo?draftKey={other}"))


def test_a_key_in_the_file_replaces_the_derived_one(service: Service) -> None:
    key = service.draft_key("articles", "bravo", "en")
    check(service, missing("derived, though the file gives one", f"articles/bravo?draftKey={key}"))


DRAFTS = {
    ("articles/bravo", "en"): "bravo-key",
    ("articles/charlie", "en"): "charlie-key",
    ("articles/hotel", "en"): "hotel-key",
    ("articles/sketch", "en"): "sketch-key",
    ("articles/alpha", "ja"): "alpha-ja-key",
    ("articles/bravo", "ja"): "bravo-ja-key",
    ("site", "en"): "site-key",
    ("banner", "en"): "banner-key",
}
"""Each version with unpublished changes, and its key; one of ``articles/memo`` is derived."""


def test_a_key_opens_its_own_version_and_no_other(service: Service) -> None:
    """D25: every key at every address in every language, of entries with and without drafts, and of none."""
    keys = {**DRAFTS, ("articles/memo", "en"): service.draft_key("articles", "memo", "en")}
    articles = sorted({path.name.split(".")[0] for path in (WORKSPACE / "content/articles").iterdir()})
    addresses = [*(f"articles/{entry}" for entry in (*articles, "nobody")), "site", "banner", "blank", "imprint"]
    opened = {
        (address, lang, key)
        for key in keys.values()
        for address in addresses
        for lang in ("en", "ja", "pt-BR")
        if service.get(f"/v1/acme/{address}?fields=id&lang={lang}", headers={"X-Draft-Key": key}).status == 200
    }
    assert opened == {(address, lang, key) for (address, lang), key in keys.items()}
