"""Contract 4.11, decisions 6, 7, 24: lang, lang_fallback and include=_langs."""

from __future__ import annotations

from tests.contract.bodies import ALPHA_JA, ALPHA_PT, CHARLIE, FOXTROT_PT, GOLF_JA, HOTEL_JA
from tests.contract.cases import answers, check_all, finds, missing, page, refuses
from tests.contract.service import Service

LIVE = "alpha bravo delta echo foxtrot charlie"
JA_OR_EN = "bravo hotel delta echo alpha foxtrot golf charlie"
FALLBACK = "articles?lang=ja&lang_fallback=true"


def langs(entry_id: str, current: str, *available: str) -> dict[str, object]:
    return {"id": entry_id, "_langs": {"current": current, "available": list(available)}}


LISTS = [
    finds("4.11 the main language named is the main language", "articles?lang=en", LIVE),
    finds("4.11 the main language with fallback is the main language", "articles?lang=en&lang_fallback=true", LIVE),
    finds("D7 the main language on an API without languages", "authors?lang=en", "ken mika"),
    finds("4.11 fallback without a language has no effect", "articles?lang_fallback=true", LIVE),
    finds("4.11 fallback alone on an API without languages", "authors?lang_fallback=true", "ken mika"),
    finds("4.11 an additional language: only its live versions", "articles?lang=ja", "hotel alpha golf"),
    finds("4.11 lang_fallback=false is the default", "articles?lang=ja&lang_fallback=false", "hotel alpha golf"),
    finds("4.11 a language with a hyphen", "articles?lang=pt-BR", "foxtrot alpha"),
    finds("4.11 with fallback: each entry in the best live language", FALLBACK, JA_OR_EN),
    finds(
        "4.11 fallback in another language",
        "articles?lang=pt-BR&lang_fallback=true",
        "bravo delta echo foxtrot charlie alpha",
    ),
    finds("4.11 the last lang counts", "articles?lang=fr&lang=pt-BR", "foxtrot alpha"),
    answers(
        "4.11 values are the language's own",
        "articles?lang=ja&depth=0",
        page(HOTEL_JA, ALPHA_JA, GOLF_JA, total=3),
    ),
    answers(
        "4.11 values of a fallback list are of the language each row has",
        "articles?lang=pt-BR&lang_fallback=true&depth=0&offset=3",
        page(FOXTROT_PT, CHARLIE, ALPHA_PT, total=6, offset=3),
    ),
]

EVALUATED = [
    finds("4.11 filters see the language asked for", "articles?lang=ja&filters=rank[exists]", "alpha golf"),
    finds("4.11 orders see the language asked for", "articles?lang=ja&orders=-rank", "alpha golf hotel"),
    finds("4.11 q sees the language asked for", "articles?lang=ja&q=%E3%82%AB%E3%83%95%E3%82%A7", "alpha"),
    finds("4.11 q does not see the main language", "articles?lang=ja&q=echo", ""),
    finds("4.11 with fallback, filters see what each row returns", f"{FALLBACK}&filters=rank[equals]5", "delta"),
    finds("4.11 with fallback, a value of the language", f"{FALLBACK}&filters=rank[equals]50", "alpha"),
    finds("4.11 with fallback, a boolean", f"{FALLBACK}&filters=featured[equals]true", "hotel delta"),
    finds("4.11 with fallback, an array", f"{FALLBACK}&filters=tags[contains]red", "bravo delta alpha"),
    finds(
        "4.11 with fallback, a complement",
        f"{FALLBACK}&filters=tags[not_contains]red",
        "hotel echo foxtrot golf charlie",
    ),
    finds("4.11 with fallback, [or]", f"{FALLBACK}&filters=rank[equals]1[or]rank[equals]10", "echo golf"),
    finds("4.11 with fallback, not_exists", f"{FALLBACK}&filters=rank[not_exists]", "hotel charlie"),
    finds("4.11 with fallback, meta dates", f"{FALLBACK}&filters=publishedAt[greater_than]2020-03-06", "bravo hotel"),
    finds("4.11 with fallback, references", f"{FALLBACK}&filters=author[equals]ken", "delta golf"),
    finds("4.11 with fallback, q in the language", f"{FALLBACK}&q=%E3%82%AB%E3%83%95%E3%82%A7", "alpha"),
    finds("4.11 with fallback, q in the main language", f"{FALLBACK}&q=caf%C3%A9", "foxtrot"),
    finds("4.11 with fallback, q does not see what is covered", f"{FALLBACK}&q=society", ""),
    finds(
        "4.11 with fallback, number order",
        f"{FALLBACK}&orders=rank",
        "bravo foxtrot golf delta echo alpha hotel charlie",
    ),
    finds(
        "4.11 with fallback, text order",
        f"{FALLBACK}&orders=title",
        "charlie foxtrot echo bravo alpha golf hotel delta",
    ),
    finds(
        "4.11 with fallback, date order",
        f"{FALLBACK}&orders=-updatedAt",
        "hotel delta foxtrot alpha echo golf bravo charlie",
    ),
    finds("4.11 with fallback, views order", f"{FALLBACK}&orders=-views", JA_OR_EN),
    finds(
        "4.11 with fallback, a page and its total",
        f"{FALLBACK}&limit=3&offset=2",
        "delta echo alpha",
        total=8,
        limit=3,
        offset=2,
    ),
    finds(
        "4.11 with fallback, all together",
        f"{FALLBACK}&filters=rank[exists]&q=o&orders=-rank&limit=2",
        "echo delta",
        total=4,
        limit=2,
    ),
]

LANGS = [
    answers(
        "4.11 _langs on a list: the main language first, drafts and expired ones left out",
        "articles?include=_langs&fields=id",
        page(
            langs("alpha", "en", "en", "ja", "pt-BR"),
            langs("bravo", "en", "en"),
            langs("delta", "en", "en"),
            langs("echo", "en", "en"),
            langs("foxtrot", "en", "en", "pt-BR"),
            langs("charlie", "en", "en"),
            total=6,
        ),
    ),
    answers(
        "4.11 _langs in a language, where the main one is a draft or absent",
        "articles?include=_langs&fields=id&lang=ja",
        page(langs("hotel", "ja", "ja"), langs("alpha", "ja", "en", "ja", "pt-BR"), langs("golf", "ja", "ja"), total=3),
    ),
    answers(
        "4.11 _langs of rows that fell back",
        "articles?include=_langs&fields=id&lang=pt-BR&lang_fallback=true",
        page(
            langs("bravo", "en", "en"),
            langs("delta", "en", "en"),
            langs("echo", "en", "en"),
            langs("foxtrot", "pt-BR", "en", "pt-BR"),
            langs("charlie", "en", "en"),
            langs("alpha", "pt-BR", "en", "ja", "pt-BR"),
            total=6,
        ),
    ),
    answers(
        "4.11 _langs of a single entry",
        "articles/alpha?include=_langs&fields=id",
        langs("alpha", "en", "en", "ja", "pt-BR"),
    ),
    answers(
        "4.11 _langs of a single entry that fell back",
        "articles/foxtrot?include=_langs&fields=id&lang=ja&lang_fallback=true",
        langs("foxtrot", "en", "en", "pt-BR"),
    ),
    answers(
        "4.11 _langs on an API without languages", "authors/ken?include=_langs&fields=id", langs("ken", "en", "en")
    ),
    answers("4.11 _langs of an object", "site?include=_langs&fields=id&lang=ja", langs("site", "ja", "en", "ja")),
    answers(
        "4.11 _langs of an object that fell back",
        "site?include=_langs&fields=id&lang=pt-BR&lang_fallback=true",
        langs("site", "en", "en", "ja"),
    ),
    answers(
        "4.11 _langs of an object whose main language expired",
        "promo?include=_langs&fields=id&lang=ja",
        langs("spring-sale", "ja", "ja"),
    ),
    answers("D6 a repeated member", "authors/ken?include=_langs,_langs&fields=id", langs("ken", "en", "en")),
]

SINGLE = [
    answers("4.11 a single entry in a language", "articles/alpha?lang=pt-BR&depth=0", ALPHA_PT),
    answers("4.11 a language version whose main one does not exist", "articles/golf?lang=ja&depth=0", GOLF_JA),
    answers("4.11 a language version whose main one is a draft", "articles/hotel?lang=ja", HOTEL_JA),
    answers("4.11 a single entry falls back", "articles/charlie?lang=ja&lang_fallback=true", CHARLIE),
    missing("4.11 no published version in the language: not yet begun", "articles/charlie?lang=ja"),
    missing("4.11 no published version in the language: expired", "articles/delta?lang=ja"),
    missing("4.11 no published version in the language: a draft", "articles/bravo?lang=ja"),
    missing("4.11 no published version in the language: none at all", "articles/echo?lang=ja"),
    missing("4.11 lang_fallback=false does not fall back", "articles/echo?lang=ja&lang_fallback=false"),
    missing("4.11 neither the language nor the main one is live", "articles/sleeper?lang=ja&lang_fallback=true"),
    missing("4.11 no fallback from the main language to another", "articles/golf?lang_fallback=true"),
    missing("4.11 no fallback to a third language", "articles/golf?lang=pt-BR&lang_fallback=true"),
]

REFUSED = [
    refuses("7 an unknown lang", "articles?lang=fr", "lang", "ja"),
    refuses("7 an unknown lang of a single entry", "articles/alpha?lang=fr", "lang"),
    refuses("7 an unknown lang of an object", "site?lang=fr", "lang"),
    refuses("D35 a language is case-sensitive", "articles?lang=JA", "lang"),
    refuses("D35 a language is not matched by its start", "articles?lang=pt", "lang"),
    refuses("D35 a language is not trimmed", "articles?lang=+ja", "lang"),
    refuses("D6 an empty lang", "articles?lang=", "lang"),
    refuses("7 an additional language on an API without languages", "authors?lang=ja", "lang"),
    refuses("7 the same, on a single entry", "authors/mika?lang=ja", "lang"),
    refuses("7 the same, on an object", "imprint?lang=ja", "lang"),
    refuses("7 the same, with fallback", "authors?lang=ja&lang_fallback=true", "lang"),
    refuses("7 an unknown lang on an API without languages", "authors?lang=fr", "lang"),
    refuses("D6 an empty lang_fallback", "articles?lang=ja&lang_fallback=", "lang_fallback"),
    refuses("7 lang_fallback=1", "articles?lang=ja&lang_fallback=1", "lang_fallback", "true", "false"),
    refuses("7 lang_fallback=TRUE", "articles?lang=ja&lang_fallback=TRUE", "lang_fallback"),
    refuses("7 lang_fallback=yes, without a language", "articles?lang_fallback=yes", "lang_fallback"),
    refuses("7 lang_fallback of a single entry", "articles/alpha?lang_fallback=no", "lang_fallback"),
    refuses("7 lang_fallback of an object", "site?lang_fallback=no", "lang_fallback"),
    refuses("D6 an empty include", "articles?include=", "include"),
    refuses("7 an unknown include", "articles?include=langs", "include", "_langs"),
    refuses("7 an unknown include beside a known one", "articles?include=_langs,views", "include", "views"),
    refuses("D6 an empty member of include", "articles?include=_langs,", "include"),
    refuses("7 include is case-sensitive", "articles/alpha?include=_LANGS", "include"),
    refuses("7 an unknown include of an object", "site?include=all", "include"),
]


def test_languages(service: Service) -> None:
    check_all(service, [*LISTS, *EVALUATED, *LANGS, *SINGLE, *REFUSED])
