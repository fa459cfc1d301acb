"""Contract 4.7, decisions 14 and 37: q."""

from __future__ import annotations

from tests.contract.cases import Case, check_all, finds, refuses
from tests.contract.service import Service

ALL = "alpha bravo delta echo foxtrot charlie"


def search(name: str, phrase: str, ids: str) -> Case:
    return finds(name, f"articles?q={phrase}", ids)


CASES = [
    search("4.3 an empty q is no search", "", ALL),
    search("D14 blanks alone are no search", "+%20+", ALL),
    search("4.7 text, ignoring case", "ECHO", "echo"),
    search("4.7 a part of a word", "ocie", "alpha"),
    search("4.7 textarea", "PARTY", "foxtrot"),
    search("4.7 referenced entries are not searched", "editor", ""),
    search("4.7 richtext, ignoring case", "HELLO", "alpha"),
    search("4.7 any of the fields", "o", "alpha bravo delta echo foxtrot charlie"),
    search("4.7 a phrase, not words", "bold+world", "alpha"),
    search("4.7 a phrase, in this order", "world+bold", ""),
    search("4.7 words of two fields are no phrase", "society+first", ""),
    search("D14 ends are trimmed", "++echo++", "echo"),
    search("D14 spaces inside count", "bold++world", ""),
    search("4.7 white space of a textarea stays", "line%0A++second", "alpha"),
    search("4.7 white space of a textarea is not collapsed", "line+second", ""),
    search("D14 beyond ASCII, ignoring case", "CAF%C3%89", "alpha foxtrot"),
    search("D14 composed and decomposed are one", "cafe%CC%81", "alpha foxtrot"),
    search("D14 accents count", "cafe", ""),
    search("D14 Japanese", "%E6%9D%B1%E4%BA%AC", "delta"),
    search("D14 one Japanese character", "%E6%9C%AC", "delta"),
    search("D14 an emoji", "%F0%9F%8E%89", "foxtrot"),
    search("D14 another emoji", "%F0%9F%8E%88", ""),
    search("D14 full-width letters have cases", "%EF%BD%94%EF%BD%8F", "delta"),
    search("D14 full-width letters are not narrow ones", "tokyo", ""),
    search("D14 a percent sign", "%25", "charlie"),
    search("D14 an underscore", "_", "charlie"),
    search("D14 an underscore is no wildcard", "ec_o", ""),
    search("D14 brackets", "[ok]", "charlie"),
    search("D14 tags are not looked at", "strong", ""),
    search("D14 attributes and tag names are not looked at", "h2", ""),
    search("D14 an ampersand, in text and in HTML", "%26", "alpha bravo"),
    search("D14 an entity is not looked at", "%26amp;", ""),
    search("D14 markup-like text of a text field", "%3Cltd%3E", "bravo"),
    search("D14 an escaped tag in a richtext is text", "tag%3Csoup%3E+next", "delta"),
    search("D14 blocks are words apart", "co+one+two", "alpha"),
    search("D14 blocks never glue", "onetwo", ""),
    search("D14 a heading and a paragraph are words apart", "red+fish", "echo"),
    search("D14 a line break is a space", "fish+bowl", "echo"),
    search("D37 a no-break space is white space", "next+stop", "delta"),
    search("4.7 selects are not searched", "news", ""),
    search("4.7 references are not searched", "mika", ""),
    search("4.7 images are not searched", "cup", ""),
    search("4.7 dates are not searched", "2020", ""),
    search("4.7 numbers are not searched", "-1.5", ""),
    search("4.7 ids are not searched", "foxtrot", ""),
    search("4.7 SQL is text", "'+OR+1=1--", ""),
    search("4.7 a NUL is a character like another", "%00", ""),
    search("3.1 unpublished text is not found", "unpublished", ""),
    search("4.3 a hundred characters", "x" * 100, ""),
    search("4.3 a hundred characters beyond ASCII", "%F0%9F%8E%89" * 100, ""),
    refuses("4.3 a hundred and one characters", f"articles?q={'x' * 101}", "q", "100"),
    refuses("4.3 a hundred and one characters beyond ASCII", f"articles?q={'%E6%9D%B1' * 101}", "q", "100"),
    finds("4.7 an API without text fields finds nothing", "scores?q=s", ""),
    finds("4.7 with filters, both must be met", "articles?q=caf%C3%A9&filters=featured[equals]false", "foxtrot"),
    finds("4.7 with filters that find others", "articles?q=caf%C3%A9&filters=id[equals]echo", ""),
    finds(
        "4.7 with [or] filters, q still must be met",
        "articles?q=caf%C3%A9&filters=id[equals]echo[or]rank[exists]",
        "alpha foxtrot",
    ),
    finds("4.7 with orders and a page", "articles?q=caf%C3%A9&orders=title&limit=1", "foxtrot", total=2, limit=1),
]


def test_search(service: Service) -> None:
    check_all(service, CASES)
