"""A field type is a row of a table: definitions, builds, filters, orders, types and descriptions take a new one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sites.imported import write_files

WITH_SLUG = r"""
import importlib.util, json, sys

specification = importlib.util.find_spec("snapshots.model")
source = specification.loader.get_source("snapshots.model")
begins = "class FieldType(StrEnum):"
source = source.replace(begins, begins + "\n    SLUG = 'slug'\n    MOMENT = 'moment'\n", 1)
source = source.replace(
    "    FieldType.TEXTAREA:",
    "    FieldType.SLUG: FieldFacts(ValueKind.TEXT, is_sortable=True),\n"
    "    FieldType.MOMENT: FieldFacts(ValueKind.INSTANT, is_sortable=True),\n"
    "    FieldType.TEXTAREA:",
)
model = importlib.util.module_from_spec(specification)
sys.modules["snapshots.model"] = model
exec(compile(source, specification.origin, "exec"), model.__dict__)
from cli.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["cms", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    print("\0", end="", flush=True)
"""
"""A program in which two rows more are in the table of ``snapshots/model.py``; it runs commands of ``cms``."""

WORKSPACE = {
    "workspace.yaml": "id: acme\nname: Acme\nlanguages: [en]\n",
    "apis/posts.yaml": (
        "uid: api_posts\nname: Posts\nendpoint: posts\nkind: list\nfields:\n"
        "  - {id: slug, name: Slug, type: slug}\n  - {id: opens, name: Opens, type: moment}\n"
    ),
    "content/posts/a.yaml": "status: published\nslug: one\nopens: 2026-01-01T00:00:00Z\n",
    "content/posts/b.yaml": "status: published\nslug: two\nopens: 2026-02-01T00:00:00Z\n",
    "content/posts/c.yaml": "status: published\n",
}


def cms(directory: Path, *commands: list[str]) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", WITH_SLUG, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split("\0")[:-1]


@pytest.mark.slow
def test_new_rows_are_field_types_with_all_operators_of_their_kinds(tmp_path: Path) -> None:
    write_files(tmp_path, WORKSPACE)
    expected = {
        "slug[equals]one": ["a"],
        "slug[not_equals]one": ["b", "c"],
        "slug[exists]": ["a", "b"],
        "slug[not_exists]": ["c"],
        "opens[greater_than]2026-01-15T00:00:00Z": ["b"],
        "opens[less_than]2026-01-15T00:00:00Z": ["a"],
        "opens[exists]": ["a", "b"],
    }
    queries = [["query", f"posts?filters={one}"] for one in expected]
    ordering = ["query", "posts?orders=-slug&fields=slug&limit=1"]
    described = [["openapi"], ["types", "typescript"], ordering, ["query", "_schema"]]
    _, *answers = cms(tmp_path, ["snapshot", "build"], *queries, *described)
    found = [sorted(one["id"] for one in json.loads(answer)["contents"]) for answer in answers[: len(expected)]]
    assert dict(zip(expected, found, strict=True)) == expected
    openapi, types, ordered, schema = answers[len(expected) :]
    assert {"slug", "opens"} <= set(json.loads(openapi)["components"]["schemas"]["Posts"]["properties"])
    assert "slug: string | null" in types
    assert json.loads(ordered)["contents"] == [{"id": "b", "slug": "two"}]
    assert '"type":"moment"' in schema.replace(" ", "")
