"""The naive evaluator meets every contract case too, so that what it is held against has been checked by hand."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.contract.answers import (
    test_drafts,
    test_entries_and_objects,
    test_fields,
    test_languages,
    test_references,
    test_schema,
)
from tests.contract.cases import Case, exact, hold_all
from tests.contract.filters import test_operators, test_syntax, test_values
from tests.contract.lists import test_list, test_orders, test_paging, test_search
from tests.model.model import Model

WORKSPACE = Path(__file__).with_name("workspace")
NOW = 1_781_524_800_000  # 2026-06-15T12:00:00Z
NARROW = {"api_Articles0001", "api_Authors00001", "api_Site00000001"}
RENDERED = {
    "Laws of *nature*.": "<p>Laws of <em>nature</em>.</p>\n",
    "自然の法則": "<p>自然の法則</p>\n",
    "": None,
}
"""The Markdown bodies of the workspace as HTML."""

MODULES = (
    test_drafts,
    test_entries_and_objects,
    test_fields,
    test_operators,
    test_syntax,
    test_values,
    test_languages,
    test_list,
    test_orders,
    test_paging,
    test_references,
    test_schema,
    test_search,
)
CASES = [
    case
    for module in MODULES
    for table in vars(module).values()
    if isinstance(table, list)
    for case in table
    if isinstance(case, Case) and case.key in ("all", "narrow")
]


def yaml_values(text: str) -> dict[str, Any]:
    """A mapping whose scalars are all text, as written."""
    return yaml.load(text, yaml.BaseLoader) or {}  # noqa: S506 - it builds nothing but text


def typed(kind: str, value: Any) -> Any:
    """A text of a YAML file as its field's type."""
    if kind == "number" and isinstance(value, str):
        return float(value)
    if kind == "boolean" and isinstance(value, str):
        return value == "true"
    if kind == "image" and isinstance(value, dict):
        return {name: int(part) if part.isdigit() else part for name, part in value.items()}
    return value


def versions_of(file: Path) -> list[dict[str, Any]]:
    """The documents of one content file, with the keys its name gives."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        return [{"api": file.stem, "lang": "en", "draft": False, **json.loads(line)} for line in text.splitlines()]
    name = re.fullmatch(r"(.+?)(?:\.(en|ja|pt-BR))?(\.draft)?\.\w+", file.name)
    assert name is not None
    alone = file.parent.name == "content"
    given = {"api": name[1] if alone else file.parent.name, "lang": name[2] or "en", "draft": name[3] is not None}
    given["id"] = given["api"] if alone or file.parent.name == "imprint" else name[1]
    if file.suffix == ".json":
        return [{**given, **json.loads(text)}]
    if file.suffix == ".md":
        front, body = text.removeprefix("---\n").split("---\n", 1)
        return [{**given, **yaml_values(front), "note": RENDERED[body.strip()]}]
    return [{**given, **yaml_values(text)}]


@cache
def model() -> Model:
    """The contract workspace, read naively."""
    workspace = yaml_values((WORKSPACE / "workspace.yaml").read_text(encoding="utf-8"))
    apis = [yaml_values(file.read_text(encoding="utf-8")) for file in sorted((WORKSPACE / "apis").iterdir())]
    for api in apis:
        api["multilingual"] = api.get("multilingual") == "true"
        for field in api["fields"]:
            field["required"] = field.get("required") == "true"
    versions = [v for file in sorted((WORKSPACE / "content").rglob("*.*")) for v in versions_of(file)]
    types = {(api["endpoint"], f["id"]): f["type"] for api in apis for f in api["fields"]}
    for version in versions:
        for key in version:
            version[key] = typed(types.get((version["api"], key), ""), version[key])
    return Model({**workspace, "apis": apis}, versions)


def test_there_are_hundreds_of_cases() -> None:
    assert len(CASES) > 400
    assert len({case.name for case in CASES}) > 400


def agree(case: Case) -> None:
    path, _, query = case.target.partition("?")
    scope = None if case.key == "all" else NARROW
    status, body = model().answer(f"/v1/acme/{path}", query, dict(case.headers), scope, NOW)
    assert status == case.status
    if status == 200:
        assert exact(body) == exact(case.body)


def test_the_naive_evaluator_agrees() -> None:
    hold_all(CASES, agree)
