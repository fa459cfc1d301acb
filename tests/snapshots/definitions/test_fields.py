"""Fields of groups and references to several APIs in apis/*.yaml: what they become, and every mistake at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET

from snapshots.definitions.workspace import load_workspace
from snapshots.model import Field, FieldType, Group, ReferenceTarget
from snapshots.problems import Problems

HEAD = "uid: api_blog\nendpoint: blog\nkind: list\nfields:\n"


def load(root: Path, fields: str) -> tuple[tuple[Field, ...] | None, list[str]]:
    (root / "apis").mkdir()
    (root / "workspace.yaml").write_text("id: acme\nlanguages: [en]\n")
    (root / "apis/blog.yaml").write_text(HEAD + fields)
    (root / "apis/site.yaml").write_text("uid: api_site\nendpoint: site\nkind: object\nfields: []\n")
    problems = Problems()
    definitions = load_workspace(root, problems)
    found = [f"{p.line} {p.severity}: {p.message}" for p in problems.kept]
    return None if definitions is None else definitions.workspace.apis[0].fields, found


def test_groups_and_several_apis(tmp_path: Path) -> None:
    fields, problems = load(
        tmp_path,
        """\
  - {id: seo, type: group, fields: [{id: id, type: text}, {id: live_from, type: json}]}
  - id: blocks
    type: groups
    groups:
      - {id: rule, name: A rule, fields: []}
      - {id: more, fields: [{id: to, type: references, apis: [blog, nowhere]}]}
""",
    )
    to = Field(
        "to",
        "to",
        FieldType.REFERENCES,
        targets=(ReferenceTarget("blog", "api_blog"), ReferenceTarget("nowhere", None)),
    )
    assert fields == (
        Field(
            "seo", "seo", FieldType.GROUP,
            fields=(Field("id", "id", FieldType.TEXT), Field("live_from", "live_from", FieldType.JSON)),
        ),
        Field(
            "blocks", "blocks", FieldType.GROUPS,
            groups=(Group("rule", "A rule", ()), Group("more", "more", (to,))),
        ),
    )  # fmt: skip
    assert fields[0].groups is UNSET
    assert problems == ["10 warning: to: there is no API 'nowhere', so references are delivered as IDs"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("  - {id: a, type: group}", "5 error: a: list its fields, each with an id"),
        ("  - {id: a, type: group, fields: []}", "5 error: a: list its fields, each with an id"),
        ("  - {id: a, type: groups, fields: [{id: b, type: text}], groups: [{id: c, fields: []}]}",
         "5 error: a: list its fields, or under 'groups' its kinds, each with an id"),
        ("  - {id: a, type: group,\n     groups: []}", "6 error: a: only groups fields have groups"),
        ("  - {id: a, type: text,\n     fields: []}", "6 error: a: only group and groups fields have fields"),
        ("  - {id: a, type: text,\n     apis: []}", "6 error: a: only references fields have apis"),
        ("  - {id: a, type: reference, api: blog,\n     apis: [blog]}", "6 error: a: only references fields have apis"),
        ("  - {id: a, type: references, apis: [blog],\n     api: blog}",
         "6 error: a: has both 'api' and 'apis': keep one of them"),
        ("  - {id: a, type: references,\n     apis: []}", "6 error: a: apis is empty: list the APIs, or leave it out"),
        ("  - id: a\n    type: references\n    apis:\n      - blog\n      - blog", "9 error: a: 'blog' appears twice"),
        ("  - id: a\n    type: references\n    apis:\n      - blog\n      - site",
         "9 error: a: 'site' is an object API, and only entries of a list can be referenced"),
        ("  - id: a\n    type: group\n    fields:\n      - {id: b, type: text}\n      - {id: B, type: text}",
         "9 error: a: 'B' is taken: it is the field 'b' already (case is ignored)"),
        ("  - id: a\n    type: group\n    fields:\n      - {id: fieldId, type: text}",
         "8 error: a: 'fieldId' is taken: it is the member 'fieldId' that says the kind of a group already"),
        ("  - id: a\n    type: groups\n    groups:\n      - {id: b, fields: []}\n      - {id: b, fields: []}",
         "9 error: a: 'b' is taken: it is the kind 'b' already (case is ignored)"),
        ("  - id: a\n    type: group\n    fields:\n      - id: b\n        type: txt",
         "9 error: fields.0.fields.0.type: 'txt' is not one of text, "),
        ("  - id: a\n    type: groups\n    groups:\n      - id: b\n        feilds: []",
         "8 error: 'fields' of fields.0.groups.0 is missing"),
        ("  - id: a\n    type: group\n    fields:\n      - id: b\n        type: text\n        from: c",
         "10 error: a: 'b' is in a group, where values have the field's own id: remove 'from'"),
        ("  - id: a\n    type: group\n    fields:\n      - id: b\n        type: text\n        options: [x]",
         "10 error: b: only single_select and multiple_select fields have options"),
    ],
)  # fmt: skip
def test_what_is_wrong(tmp_path: Path, fields: str, says: str) -> None:
    _, problems = load(tmp_path, fields + "\n")
    assert any(one.startswith(says) for one in problems), problems


def test_groups_do_not_nest_without_end(tmp_path: Path) -> None:
    inner = "{id: x, type: text}"
    for _ in range(6):
        inner = f"{{id: g, type: group, fields: [{inner}]}}"
    _, problems = load(tmp_path, f"  - {inner}\n")
    assert problems == ["5 error: g: groups can be nested 5 deep at most"]
