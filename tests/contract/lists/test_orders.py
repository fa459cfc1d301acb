"""Contract 4.5, decisions 8 and 35: sorting."""

from __future__ import annotations

from tests.contract.cases import check_all, finds, refuses
from tests.contract.service import Service

DEFAULT = "alpha bravo delta echo foxtrot charlie"

SORTABLE = [
    finds("4.5 default: newest publication first, ties by id", "articles", DEFAULT),
    finds("4.3 empty orders is the default", "articles?orders=", DEFAULT),
    finds("4.5 -publishedAt", "articles?orders=-publishedAt", DEFAULT),
    finds("4.5 publishedAt; ties still by id", "articles?orders=publishedAt", "charlie foxtrot delta echo bravo alpha"),
    finds("4.5 createdAt", "articles?orders=createdAt", "foxtrot charlie bravo alpha echo delta"),
    finds("4.5 -createdAt", "articles?orders=-createdAt", "delta alpha echo bravo charlie foxtrot"),
    finds("4.5 updatedAt", "articles?orders=updatedAt", "charlie bravo echo foxtrot delta alpha"),
    finds("4.5 -updatedAt", "articles?orders=-updatedAt", "alpha delta foxtrot echo bravo charlie"),
    finds("4.5 text, by code point", "articles?orders=title", "charlie foxtrot alpha echo bravo delta"),
    finds("4.5 -text, by code point", "articles?orders=-title", "delta bravo echo alpha foxtrot charlie"),
    finds("4.5 number; NULL last", "articles?orders=rank", "bravo foxtrot alpha delta echo charlie"),
    finds("4.5 -number; NULL last", "articles?orders=-rank", "echo alpha delta foxtrot bravo charlie"),
    finds("4.5 datetime; NULL last", "articles?orders=eventAt", "foxtrot bravo echo alpha delta charlie"),
    finds("4.5 -datetime; NULL last", "articles?orders=-eventAt", "alpha echo bravo foxtrot delta charlie"),
    finds("4.5 boolean; NULL last", "articles?orders=featured", "bravo foxtrot alpha delta echo charlie"),
    finds("4.5 -boolean; NULL last", "articles?orders=-featured", "alpha delta bravo foxtrot echo charlie"),
    finds("4.5 views: nothing counted is zero, ties by newest", "articles?orders=views", DEFAULT),
    finds("4.5 -views: nothing counted is zero, ties by newest", "articles?orders=-views", DEFAULT),
    finds("D35 a key after views counts", "articles?orders=-views,title", "charlie foxtrot alpha echo bravo delta"),
    finds("4.5 two keys", "articles?orders=featured,-rank", "foxtrot bravo alpha delta echo charlie"),
    finds(
        "4.5 the second key orders ties only", "articles?orders=rank,-title", "bravo foxtrot delta alpha echo charlie"
    ),
    finds("4.5 three keys", "articles?orders=featured,rank,-title", "bravo foxtrot delta alpha echo charlie"),
    finds("4.5 a key twice", "articles?orders=rank,-rank", "bravo foxtrot alpha delta echo charlie"),
    finds("4.5 an encoded comma is a comma", "articles?orders=rank%2C-title", "bravo foxtrot delta alpha echo charlie"),
    finds("4.5 number, to the ends of the range", "scores?orders=value", "s6 s2 S6 s4 s3 s1 s5"),
    finds("4.5 -number, to the ends of the range", "scores?orders=-value", "s1 s3 s4 S6 s2 s6 s5"),
    finds("4.5 datetime, to the ends of the calendar", "scores?orders=at", "s3 s2 s1 s6 s4 s5 S6"),
    finds("4.5 -datetime, to the ends of the calendar", "scores?orders=-at", "s6 s1 s2 s3 s4 s5 S6"),
    finds("4.5 boolean with many NULLs", "scores?orders=passed", "s2 s6 s1 s3 s4 s5 S6"),
    finds("4.5 -boolean with many NULLs", "scores?orders=-passed", "s1 s3 s2 s6 s4 s5 S6"),
    finds("D8 ties end by id, ascending by code point", "scores", "s1 s2 s3 s4 s5 S6 s6"),
    finds(
        "4.5 a page of a sorted list",
        "articles?orders=title&limit=2&offset=2",
        "alpha echo",
        total=6,
        limit=2,
        offset=2,
    ),
]

REFUSED = [
    *(
        refuses(f"4.5 a {kind} cannot be sorted by", f"articles?orders={field}", "orders", field)
        for kind, field in [
            ("textarea", "summary"),
            ("richtext", "body"),
            ("single select", "category"),
            ("multiple select", "tags"),
            ("reference", "author"),
            ("references", "related"),
            ("image", "cover"),
        ]
    ),
    refuses("D8 id is not a sort key", "articles?orders=id", "orders"),
    refuses("D8 an unknown field; the nearest is suggested", "articles?orders=tilte", "orders", "title"),
    refuses("D35 keys are case-sensitive", "articles?orders=Title", "orders", "title"),
    refuses("D8 a field of another API", "articles?orders=label", "orders"),
    refuses("D35 keys are not trimmed", "articles?orders=%20title", "orders"),
    refuses("D35 keys are not trimmed at the end", "articles?orders=title+", "orders"),
    refuses("D8 an empty last key", "articles?orders=title,", "orders"),
    refuses("D8 an empty first key", "articles?orders=,title", "orders"),
    refuses("D8 a comma alone", "articles?orders=,", "orders"),
    refuses("D8 a minus alone", "articles?orders=-", "orders"),
    refuses("D8 two minuses", "articles?orders=--title", "orders"),
    refuses("D8 a plus", "articles?orders=%2Btitle", "orders"),
    refuses("4.5 a fourth key", "articles?orders=title,rank,eventAt,featured", "orders", "3"),
    refuses("4.5 a fourth key, even a repeated one", "articles?orders=title,title,title,title", "orders"),
    refuses("D8 SQL is no key", "articles?orders=title%3B--", "orders"),
    refuses("D8 SQL is no key, quoted", "articles?orders=%22title%22+desc", "orders"),
]


def test_sorted_lists(service: Service) -> None:
    check_all(service, SORTABLE)


def test_refused_orders(service: Service) -> None:
    check_all(service, REFUSED)
