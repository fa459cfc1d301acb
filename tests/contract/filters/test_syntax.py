"""Contract 4.6, decisions 11, 12, 35 and 36: how a filters parameter is taken apart."""

from __future__ import annotations

from tests.contract.cases import Case, check_all, finds, refuses
from tests.contract.service import Service

ALL = "alpha bravo delta echo foxtrot charlie"


def where(name: str, condition: str, ids: str) -> Case:
    return finds(name, f"articles?filters={condition}", ids)


def bad(name: str, condition: str, *says: str) -> Case:
    return refuses(name, f"articles?filters={condition}", "filters", *says)


JOINED = [
    where("4.3 empty filters is no filter", "", ALL),
    where("4.6 [and]", "featured[equals]true[and]rank[equals]5[and]category[equals]news", "alpha"),
    where("4.6 [or]", "rank[equals]10[or]rank[equals]0.1[or]id[equals]charlie", "echo foxtrot charlie"),
    where("4.6 [and] that nothing meets", "rank[equals]10[and]rank[equals]0.1", ""),
    where("4.6 the same condition twice", "rank[equals]10[or]rank[equals]10", "echo"),
    bad(
        "4.6 [and] and [or] cannot be mixed",
        "rank[equals]10[or]rank[equals]5[and]featured[equals]true",
        "[and]",
        "[or]",
    ),
    bad("4.6 there are no parentheses", "(rank[equals]10)"),
    bad("D12 a joiner alone", "[and]"),
    bad("D12 an empty condition at the end", "title[exists][and]"),
    bad("D12 an empty condition at the start", "[or]title[exists]"),
    bad("D12 an empty condition between", "title[exists][and][and]rank[exists]", "2"),
    bad("D12 a blank condition", "+"),
    bad("D12 the message names the condition", "title[exists][and]rank[equals]five", "2", "rank[equals]five"),
    where("D36 a joiner in capitals is no joiner", "title[equals]Echo[AND]x", ""),
    where("D36 a bracket that opens nothing is a character", "title[contains][ok]", "charlie"),
    where("D36 a lone bracket is a character", "title[contains][", "charlie"),
    where("D36 a lone closing bracket is a character", "title[contains]]", "charlie"),
    where("D36 a word of no meaning in brackets", "title[not_contains][xor]", ALL),
]

CONDITIONS = [
    bad("D12 no operator", "title", "title"),
    bad("D12 an equals sign is no operator", "title=Echo", "title=Echo"),
    bad("D12 an unknown operator", "title[like]Echo", "like"),
    bad("D12 an unknown operator; the nearest is suggested", "title[equal]Echo", "equals"),
    bad("D35 operators are case-sensitive", "title[Equals]Echo", "Equals"),
    bad("D35 operators are not trimmed", "title[+equals]Echo"),
    bad("D12 an empty operator", "title[]Echo"),
    bad("D12 an operator without its end", "title[equalsEcho"),
    bad("D12 no field", "[equals]Echo"),
    bad("D12 an unknown field; the nearest is suggested", "tilte[equals]Echo", "tilte", "title"),
    bad("D12 a display name is no field", "Title[equals]Echo", "title"),
    bad("D35 fields are not trimmed", "+title[equals]Echo"),
    bad("D12 a field of another API", "label[equals]Science", "label"),
    bad("D12 a field of a reference", "author.name[equals]Mika", "author.name"),
    bad("D12 a column of the store is no field", "live_from[exists]"),
    bad("D12 a search column is no field", "title__search[contains]x"),
    bad("D12 _json is no field", "_json[exists]"),
    bad("D12 _langs is no field", "_langs[exists]"),
    bad("D12 exists takes no value", "title[exists]yes", "exists"),
    bad("D12 not_exists takes no value", "title[not_exists]true", "not_exists"),
    bad("D12 exists takes no blank either", "title[exists]+", "exists"),
]

ENCODED = [
    where("D11 literal brackets", "title[equals]Echo", "echo"),
    where("D11 the whole parameter encoded", "title%5Bequals%5DEcho", "echo"),
    where("D11 the whole parameter encoded in lower case", "title%5bequals%5dEcho", "echo"),
    where("D11 the whole parameter encoded, joined", "title%5Bexists%5D%5Band%5Drank%5Bequals%5D5", "alpha delta"),
    where("D11 encoded brackets are part of a value", "title[contains]%5Bok%5D", "charlie"),
    where("D11 an encoded joiner is part of a value", "title[contains]%5Band%5D", ""),
    where("D11 an encoded joiner is part of a value, complement", "title[not_contains]%5Band%5D", ALL),
    where("D11 an encoded [or] beside literal [and]", "rank[equals]5[and]title[not_equals]a%5Bor%5Db", "alpha delta"),
    where("D11 an encoded operator is part of a value", "title[not_equals]a%5Bequals%5Db", ALL),
    where("D36 fully encoded, a bracket that opens nothing", "title%5Bcontains%5D%5Bok%5D", "charlie"),
    bad("D36 fully encoded, [and] is always a joiner", "title%5Bcontains%5Da%5Band%5Db"),
    bad("D36 with a literal bracket, encoded ones are no tokens", "title%5Bequals%5DEcho[and]rank[exists]"),
    bad("D11 double encoding is no encoding", "title%255Bequals%255DEcho"),
    where("D11 a plus is a space", "title[equals]bravo+%26+sons+%3Cltd%3E", "bravo"),
    where("D11 a plus is a space, fully encoded", "title%5Bequals%5Dbravo+%26+sons+%3Cltd%3E", "bravo"),
    where("D11 %20 is a space", "title[equals]bravo%20%26%20sons%20%3Cltd%3E", "bravo"),
    where("D11 %2B is a plus", "title[contains]%2B", ""),
    where("D11 an encoded ampersand is part of a value", "title[contains]bravo+%26", "bravo"),
    where("D11 an equals sign in a value", "title[not_contains]a=b", ALL),
    where("D11 an encoded percent sign is decoded once", "title[contains]%2525", ""),
    where("D11 a field may be encoded", "%74itle[equals]Echo", "echo"),
    bad("4.6 bytes that are no UTF-8", "title[equals]%FF%FE"),
]

LENGTHS = [
    where("4.3 ten conditions", "[and]".join(["title[exists]"] * 10), ALL),
    bad("4.3 eleven conditions", "[and]".join(["title[exists]"] * 11), "10"),
    where("4.3 a thousand characters", f"title[not_contains]{'x' * 981}", ALL),
    bad("4.3 a thousand and one characters", f"title[not_contains]{'x' * 982}", "1000"),
    where("D11 characters are counted decoded", f"title[not_contains]{'%E6%9D%B1' * 981}", ALL),
    bad("D11 a thousand and one decoded", f"title[not_contains]{'%E6%9D%B1' * 982}", "1000"),
    where("D11 an emoji is one character", f"title[not_contains]{'%F0%9F%8E%89' * 981}", ALL),
    where("D11 counted decoded where all is encoded", f"title%5Bnot_contains%5D{'%78' * 981}", ALL),
]


def test_filter_syntax(service: Service) -> None:
    check_all(service, [*JOINED, *CONDITIONS, *ENCODED, *LENGTHS])
