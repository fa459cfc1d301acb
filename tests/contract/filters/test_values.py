"""Contract 4.6, decisions 12-16 and 36: what a condition's value means and when it is refused."""

from __future__ import annotations

from tests.contract.cases import Case, check_all, finds, refuses
from tests.contract.service import Service

ALL = "alpha bravo delta echo foxtrot charlie"


def where(name: str, condition: str, ids: str) -> Case:
    return finds(name, f"articles?filters={condition}", ids)


def bad(name: str, condition: str, *says: str) -> Case:
    return refuses(name, f"articles?filters={condition}", "filters", *says)


TEXT = [
    where("4.6 equals is exact", "title[equals]echo", ""),
    where("4.6 equals is exact, not a part", "title[equals]Ech", ""),
    where("4.6 equals does not normalise", "title[equals]CAF%C3%89+noir", ""),
    where("4.6 equals on decomposed text", "title[equals]CAFE%CC%81+noir", "foxtrot"),
    where("4.6 equals with Japanese", "title[equals]%E6%9D%B1%E4%BA%AC%E3%81%AE%E6%9C%AC", "delta"),
    where("4.6 contains ignores case", "title[contains]SOCIETY", "alpha"),
    where("D14 contains ignores case beyond ASCII, and composition", "title[contains]CAF%C3%89", "alpha foxtrot"),
    where("D14 contains normalises the value too", "title[contains]cafe%CC%81", "alpha foxtrot"),
    where("D14 an accent is not ignored", "title[contains]cafe", ""),
    where("D14 a percent sign is an ordinary character", "title[contains]%25", "charlie"),
    where("D14 an underscore is an ordinary character", "title[contains]_sure_", "charlie"),
    where("D14 an underscore stands for nothing else", "title[contains]ech_", ""),
    where("D14 a star is an ordinary character", "title[contains]*", ""),
    where("D14 a backslash is an ordinary character", "title[contains]%5C", ""),
    where("4.6 a quote ends nothing", "title[contains]'", ""),
    where("4.6 SQL is text", "title[equals]x'+OR+'1'='1", ""),
    where("4.6 a NUL is a character like another", "title[contains]%00", ""),
    where("4.6 contains with an emoji", "summary[contains]%F0%9F%8E%89", "foxtrot"),
    where("4.6 contains with a line break", "summary[contains]line%0A++second", "alpha"),
    where("D14 width is not ignored", "summary[contains]tokyo", ""),
    where("D14 lower-casing covers full-width letters", "summary[contains]%EF%BD%94%EF%BD%8F", "delta"),
    where("D36 white space before a value is part of it", "title[equals]+Echo", ""),
    where("D36 white space after a value is part of it", "title[contains]noir+", ""),
    where("D36 equals with an empty value is the empty string", "summary[equals]", "bravo"),
    where("D36 not_equals with an empty value", "summary[not_equals]", "alpha delta echo foxtrot charlie"),
    bad("D36 contains with an empty value", "title[contains]", "contains"),
    bad("D36 not_contains with an empty value", "title[not_contains]", "not_contains"),
    bad("D36 contains with an empty value on an array", "tags[contains]", "contains"),
    where("D13 no value does not contain anything, so not_contains matches", "summary[not_contains]zzz", ALL),
    where("D13 NULL does not equal the empty string", "title[equals]", ""),
]

RICHTEXT = [
    where("D14 tags are not looked at", "body[contains]strong", ""),
    where("D14 a tag inside a phrase does not split it", "body[contains]bold+world", "alpha"),
    where("D14 entities are decoded", "body[contains]world+%26+co", "alpha"),
    where("D14 an entity's own letters are not there", "body[contains]amp", ""),
    where("D14 an escaped tag is text", "body[contains]%3Csoup%3E", "delta"),
    where("D14 blocks are words apart", "body[contains]red+fish", "echo"),
    where("D14 blocks never glue", "body[contains]redfish", ""),
    where("D14 a line break is a space", "body[contains]fish+bowl", "echo"),
    where("D14 list items are words apart", "body[contains]one+two", "alpha"),
    where("D37 runs of white space are one space", "body[contains]next+stop", "delta"),
]

NUMBERS = [
    where("4.6 equals with a point", "rank[equals]5.0", "alpha delta"),
    where("D15 equals with an exponent", "rank[equals]50e-1", "alpha delta"),
    where("D15 a negative number", "rank[equals]-1.5", "bravo"),
    where("D15 a fraction", "rank[equals]0.1", "foxtrot"),
    where("4.6 greater_than excludes the boundary", "rank[greater_than]5", "echo"),
    where("4.6 less_than excludes the boundary", "rank[less_than]0.1", "bravo"),
    where("D15 a great number", "rank[less_than]1e308", "alpha bravo delta echo foxtrot"),
    finds("D15 minus zero is zero", "scores?filters=value[equals]-0", "s2"),
    finds("D15 exact to 2^53", "scores?filters=value[equals]9007199254740992", "s1"),
    finds("D15 numbers are doubles", "scores?filters=value[greater_than]9007199254740991", "s1"),
    *(
        bad(f"D15 not a number: {text or 'nothing'}", f"rank[equals]{text}", "rank", "number")
        for text in ["five", "05", "%2B5", "+5", "5+", "5.", ".5", "0x5", "1_0", "1e999", "NaN", "Infinity", "true", ""]
    ),
    bad("D15 not a number for greater_than", "rank[greater_than]ten", "number"),
    bad("D15 full-width digits are no number", "rank[equals]%EF%BC%95", "number"),
]

BOOLEANS = [
    where("4.6 equals true", "featured[equals]true", "alpha delta"),
    where("4.6 equals false", "featured[equals]false", "bravo foxtrot"),
    where("D13 not_equals true matches rows without a value", "featured[not_equals]true", "bravo echo foxtrot charlie"),
    where("D16 false exists", "featured[exists]", "alpha bravo delta foxtrot"),
    *(
        bad(f"4.6 not a boolean: {text or 'nothing'}", f"featured[equals]{text}", "featured", "true")
        for text in ["True", "1", "yes", "+true", "null", ""]
    ),
]

DATES = [
    where("D15 a bare date is midnight UTC", "eventAt[greater_than]2020-04-01", "alpha echo"),
    where("D15 seconds are optional", "eventAt[greater_than]2020-04-01T00:00Z", "alpha echo"),
    where("D15 no offset is UTC", "eventAt[greater_than]2020-04-01T00:00:00", "alpha echo"),
    where("D15 an offset", "eventAt[greater_than]2020-04-01T09:00:00%2B09:00", "alpha echo"),
    where("D15 a negative offset", "eventAt[greater_than]2020-03-31T19:00:00-05:00", "alpha echo"),
    where("D15 a space between date and time", "eventAt[greater_than]2020-04-01+00:00:00Z", "alpha echo"),
    where("D15 a fraction of a second", "eventAt[less_than]2020-04-01T00:00:00.501Z", "bravo echo foxtrot"),
    where(
        "4.6 the boundary is excluded, to the millisecond",
        "eventAt[less_than]2020-04-01T00:00:00.500Z",
        "bravo foxtrot",
    ),
    where("4.6 before 1970", "eventAt[less_than]1969-07-20T20:17:41Z", "foxtrot"),
    where(
        "D13 no date falls short of nothing", "eventAt[less_than]9999-12-31T23:59:59.999Z", "alpha bravo echo foxtrot"
    ),
    where(
        "4.6 between two dates",
        "createdAt[greater_than]2020-01-31[and]createdAt[less_than]2020-03-02",
        "alpha bravo echo",
    ),
    *(
        bad(f"D15 not a date-time: {text or 'nothing'}", f"eventAt[greater_than]{text}", "eventAt")
        for text in [
            "yesterday",
            "2020-13-01",
            "2020-02-30",
            "2020-04-01T25:00:00Z",
            "2020-04-01T00:00:00+09:00",
            "2020-4-1",
            "20200401",
            "1585699200",
            "+2020-04-01",
            "",
        ]
    ),
    bad("D15 not a date-time for a meta date", "createdAt[less_than]now", "createdAt"),
]

CHOICES = [
    where("D36 a select value that is no option matches nothing", "category[equals]sports", ""),
    where("D36 and is not_equal to everything", "category[not_equals]sports", ALL),
    where("4.6 select is exact", "category[equals]News", ""),
    where("4.6 an array element with a space", "tags[contains]light+blue", "alpha"),
    where("4.6 an array element is matched whole", "tags[contains]light", ""),
    where("4.6 an array element is matched with case", "tags[contains]Red", "foxtrot"),
    where("4.6 an array element in Japanese", "tags[contains]%E6%97%A5%E6%9C%AC", "delta"),
    where("D13 no value is an empty array", "tags[not_contains]red", "echo foxtrot charlie"),
    finds("4.6 a multiple select with options", "scores?filters=marks[contains]a", "s1 s5"),
    finds("D36 no option of a multiple select", "scores?filters=marks[contains]z", ""),
]

REFERENCES = [
    where("4.6 a reference to an entry that does not exist", "author[equals]nobody", "bravo"),
    where("4.6 references to an entry that does not exist", "related[contains]ghost", "alpha"),
    where("4.6 exists says nothing of the target", "topic[exists]", "alpha bravo delta foxtrot"),
    where("4.6 the ID of a target that is not live", "topic[equals]hidden", "delta"),
    where("4.6 references hold stored IDs, live or not", "related[contains]sleeper", "alpha foxtrot"),
    where("4.6 a reference is exact", "author[equals]MIKA", ""),
    where("4.6 text that is no ID matches nothing", "author[equals]no+such+id", ""),
    where("4.6 an empty reference matches nothing", "author[equals]", ""),
    where("4.6 a reference's fields are not reached", "author[equals]Mika", ""),
    where("D17 id is exact", "id[equals]ALPHA", ""),
    where("D17 id of an entry that is not live", "id[equals]sleeper", ""),
    where("D17 id not_equals", "id[not_equals]sleeper", ALL),
]


def test_filter_value(service: Service) -> None:
    check_all(service, [*TEXT, *RICHTEXT, *NUMBERS, *BOOLEANS, *DATES, *CHOICES, *REFERENCES])
