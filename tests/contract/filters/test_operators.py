"""Contract 4.6, decisions 12-17: every operator on every field type, allowed or refused."""

from __future__ import annotations

from tests.contract.cases import Case, check_all, finds, refuses
from tests.contract.service import Service

ALL = "alpha bravo delta echo foxtrot charlie"
NONE = ""
REFUSED = None

OPERATORS = (
    "equals",
    "not_equals",
    "contains",
    "not_contains",
    "greater_than",
    "less_than",
    "exists",
    "not_exists",
)

# Field type, field and value; then what each operator finds, in the order of OPERATORS.
TABLE: list[tuple[str, str, str, tuple[str | None, ...]]] = [
    (
        "text",
        "title",
        "Echo",
        (
            "echo",
            "alpha bravo delta foxtrot charlie",
            "echo",
            "alpha bravo delta foxtrot charlie",
            None,
            None,
            ALL,
            NONE,
        ),
    ),
    (
        "textarea",
        "summary",
        "party+%F0%9F%8E%89+time",
        (
            "foxtrot",
            "alpha bravo delta echo charlie",
            "foxtrot",
            "alpha bravo delta echo charlie",
            None,
            None,
            "alpha delta foxtrot",
            "bravo echo charlie",
        ),
    ),
    (
        "richtext",
        "body",
        "RED+fish",
        (
            None,
            None,
            "echo",
            "alpha bravo delta foxtrot charlie",
            None,
            None,
            "alpha delta echo foxtrot",
            "bravo charlie",
        ),
    ),
    (
        "number",
        "rank",
        "5",
        (
            "alpha delta",
            "bravo echo foxtrot charlie",
            None,
            None,
            "echo",
            "bravo foxtrot",
            "alpha bravo delta echo foxtrot",
            "charlie",
        ),
    ),
    (
        "datetime",
        "eventAt",
        "2020-04-01T00:00:00.500Z",
        (None, None, None, None, "alpha", "bravo foxtrot", "alpha bravo echo foxtrot", "delta charlie"),
    ),
    (
        "boolean",
        "featured",
        "false",
        (
            "bravo foxtrot",
            "alpha delta echo charlie",
            None,
            None,
            None,
            None,
            "alpha bravo delta foxtrot",
            "echo charlie",
        ),
    ),
    (
        "single select",
        "category",
        "news",
        (
            "alpha foxtrot",
            "bravo delta echo charlie",
            None,
            None,
            None,
            None,
            "alpha bravo delta foxtrot",
            "echo charlie",
        ),
    ),
    (
        "multiple select",
        "tags",
        "red",
        (
            None,
            None,
            "alpha bravo delta",
            "echo foxtrot charlie",
            None,
            None,
            "alpha bravo delta foxtrot",
            "echo charlie",
        ),
    ),
    (
        "reference",
        "author",
        "mika",
        (
            "alpha echo foxtrot",
            "bravo delta charlie",
            None,
            None,
            None,
            None,
            "alpha bravo delta echo foxtrot",
            "charlie",
        ),
    ),
    (
        "reference to no API",
        "origin",
        "wire-77",
        (
            "alpha",
            "bravo delta echo foxtrot charlie",
            None,
            None,
            None,
            None,
            "alpha echo",
            "bravo delta foxtrot charlie",
        ),
    ),
    (
        "references",
        "related",
        "charlie",
        (
            None,
            None,
            "alpha echo",
            "bravo delta foxtrot charlie",
            None,
            None,
            "alpha delta echo foxtrot",
            "bravo charlie",
        ),
    ),
    (
        "references to a missing API",
        "sources",
        "arc-2",
        (
            None,
            None,
            "alpha echo",
            "bravo delta foxtrot charlie",
            None,
            None,
            "alpha echo",
            "bravo delta foxtrot charlie",
        ),
    ),
    (
        "image",
        "cover",
        "https://img.example/a.png",
        (None, None, None, None, None, None, "alpha bravo foxtrot", "delta echo charlie"),
    ),
    ("meta id", "id", "alpha", ("alpha", "bravo delta echo foxtrot charlie", None, None, None, None, ALL, NONE)),
    (
        "meta createdAt",
        "createdAt",
        "2020-03-01T00:00:00Z",
        (None, None, None, None, "delta", "bravo foxtrot charlie", ALL, NONE),
    ),
    (
        "meta updatedAt",
        "updatedAt",
        "2020-03-01T00:00:00Z",
        (None, None, None, None, "alpha delta foxtrot", "bravo charlie", ALL, NONE),
    ),
    (
        "meta publishedAt",
        "publishedAt",
        "2020-03-06T00:00:00Z",
        (None, None, None, None, "alpha bravo", "foxtrot charlie", ALL, NONE),
    ),
]


def case_of(kind: str, field: str, value: str, operator: str, found: str | None) -> Case:
    operand = "" if operator.endswith("exists") else value
    target = f"articles?filters={field}[{operator}]{operand}"
    name = f"4.6 {operator} on {kind}"
    if found is None:
        return refuses(f"{name} is refused", target, "filters", operator, field)
    return finds(name, target, found)


CASES = [
    case_of(kind, field, value, operator, found)
    for kind, field, value, row in TABLE
    for operator, found in zip(OPERATORS, row, strict=True)
]


def test_operator_on_field_type(service: Service) -> None:
    check_all(service, CASES)


def test_views_is_no_field_to_filter_by(service: Service) -> None:
    refused = (refuses(f"4.6 {name} on views", f"articles?filters=views[{name}]1", "filters") for name in OPERATORS)
    check_all(service, refused)
