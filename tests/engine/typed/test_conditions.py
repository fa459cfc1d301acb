"""The types of conditions, in both languages: they take what the server accepts, field by field, and nothing else."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from engine.read.query.filters import OPERATORS
from engine.typed.clients import python_client, typescript_client
from server.settings import Settings
from snapshots.definitions.workspace import load_workspace
from snapshots.model import META_DATES, FieldType, ValueKind, Workspace
from snapshots.problems import Problems
from tests.engine.typed import clients
from tests.engine.typed.test_typescript_client import TSC
from tests.programs import node_packages
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

pytestmark = pytest.mark.slow

INSTANT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MORE = {
    "single_select": "options: [loaf, roll]",
    "multiple_select": "options: [loaf, roll]",
    "reference": "api: posts",
    "references": "api: posts",
    "group": "fields: [{id: size, name: Size, type: number}]",
    "groups": "fields: [{id: size, name: Size, type: number}]",
}
Value = str | float | bool | datetime | None
Case = tuple[str, str, Value]
"""A field, an operator and a value; without one, the condition has none."""


def field_of(kind: FieldType) -> str:
    return f"a_{kind.value}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A workspace with a field of each type, and a select that takes any text."""
    site = Site(tmp_path_factory.mktemp("conditions"))
    fields = [f"  - {{id: {field_of(kind)}, name: A, type: {kind}, {MORE.get(kind, '')}}}" for kind in FieldType]
    fields.append("  - {id: free, name: Free, type: single_select}")
    head = "uid: api_things000001\nname: Things\nendpoint: things\nkind: list\nfields:\n"
    (site.source / "apis" / "things.yaml").write_text(head + "\n".join(fields) + "\n")
    site.publish("one")
    return site


@pytest.fixture(scope="module")
def workspace(site: Site) -> Workspace:
    definitions = load_workspace(site.source, Problems())
    assert definitions is not None
    return definitions.workspace


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[TestClient]:
    with TestClient(quiet_app(Settings(store=str(site.store.root))), raise_server_exceptions=False) as client:
        client.headers = {"X-API-KEY": site.key()[1], "Prefer": "handling=strict"}
        eventually(lambda: client.get("/v1/acme/_schema").status_code == 200)
        yield client


def values_for(kind: ValueKind, operator: str) -> list[Value]:
    """Values of a field's own kind, and such as no text of that kind is."""
    if operator.endswith("exists"):
        return [None, "x"]
    match kind:
        case ValueKind.NUMBER:
            return [3, -0.5, "lof", True, None]
        case ValueKind.BOOLEAN:
            return [True, "lof", 3, None]
        case ValueKind.INSTANT:
            return [INSTANT, "2026-01-02T03:04:05Z", 3, True, None]
        case ValueKind.OPTION:
            return ["loaf", "lof"]
    # A text may be empty where it is compared as a whole, which a condition says with "".
    return ["abc", *([] if "equals" in operator else [None])]


def cases() -> list[Case]:
    kinds = {"id": ValueKind.TEXT, **dict.fromkeys(META_DATES, ValueKind.INSTANT), "free": ValueKind.TEXT}
    kinds |= {field_of(kind): kind.facts.kind for kind in FieldType}
    return [
        (field, operator, value)
        for field, kind in kinds.items()
        for operator in OPERATORS
        for value in values_for(kind, operator)
    ]


def in_python(case: Case) -> str:
    field, operator, value = case
    parts = [json.dumps(field), json.dumps(operator), *([] if value is None else [repr(value)])]
    return f"({', '.join(parts)})".replace("datetime.datetime", "datetime").replace("datetime.timezone.utc", "UTC")


def in_typescript(case: Case) -> str:
    field, operator, value = case
    text = f'new Date("{value.isoformat()}")' if isinstance(value, datetime) else json.dumps(value)
    return f"[{', '.join([json.dumps(field), json.dumps(operator), *([] if value is None else [text])])}]"


@pytest.fixture(scope="module")
def folder(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conditions")
    (folder / "node_modules").symlink_to(node_packages.node_modules())
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "things.py").write_text(python_client(workspace))
    (folder / "things.ts").write_text(typescript_client(workspace))
    return folder


@pytest.fixture(scope="module")
def accepted(server: TestClient, folder: Path) -> dict[Case, bool]:
    """Every case, and whether the server accepts it, asked for as the client for Python writes it."""
    every = cases()
    program = [
        "import json",
        "from datetime import UTC, datetime",
        "from things import search",
        f"print(json.dumps([search({{'filters': one}}) for one in [{', '.join(map(in_python, every))}]]))",
    ]
    queries = json.loads(clients.run(sys.executable, "-c", "\n".join(program), cwd=folder))
    found = {}
    for case, query in zip(every, queries, strict=True):
        answer = server.get(f"/v1/acme/things?{query}")
        assert answer.status_code in (200, 400)
        assert answer.status_code == 400 or answer.headers["preference-applied"] == "handling=strict"
        found[case] = answer.status_code == 200
    texts = [f"console.log(search({{ filters: {in_typescript(case)} }}));\n" for case in every]
    (folder / "texts.ts").write_text('import { search } from "./things.js";\n' + "".join(texts))
    types = [*TSC, "things.ts", "texts.ts"]
    clients.run(folder / "node_modules" / ".bin" / "tsc", *types, cwd=folder)
    written = clients.run("node", "texts.js", cwd=folder).splitlines()
    # Both languages say the same; instants in forms of their own.
    same = [
        (unquote(one).replace("+00:00", ".000Z"), unquote(other)) for one, other in zip(queries, written, strict=True)
    ]
    assert [one for one, _ in same] == [other for _, other in same]
    assert 20 < sum(found.values()) < len(found) - 20
    return found


def test_typescript(accepted: dict[Case, bool], folder: Path) -> None:
    lines = ['import type { Client } from "./things.js";', "export function asked(content: Client) {"]
    for case, is_accepted in accepted.items():
        lines += [*([] if is_accepted else ["  // @ts-expect-error"])]
        lines += [f'  void content.list("things", {{ filters: {in_typescript(case)} }});']
    lines += ["  // @ts-expect-error", '  void content.list("things", { filters: ["nothing", "exists"] });', "}"]
    (folder / "conditions.ts").write_text("\n".join(lines))
    clients.run(folder / "node_modules" / ".bin" / "tsc", *TSC, "conditions.ts", cwd=folder)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_python(accepted: dict[Case, bool], folder: Path, checker: str) -> None:
    lines = ["# pyright: strict, reportUnnecessaryTypeIgnoreComment=error", "from datetime import UTC, datetime"]
    lines += ["from things import Client", "def asked(content: Client, when: datetime = datetime.now(UTC)) -> None:"]
    for case, is_accepted in accepted.items():
        if case[2] is True and case[0] == field_of(FieldType.NUMBER):
            continue  # to Python, a boolean is a number
        ending = "" if is_accepted else "  # type: ignore"
        lines += [f"    content.things.list(filters={in_python(case)}){ending}"]
    lines += ['    content.things.list(filters=("nothing", "exists"))  # type: ignore']
    (folder / "conditions.py").write_text("\n".join(lines) + "\n")
    if checker == "mypy":
        command: list[str | Path] = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull]
    else:
        command = [folder / "node_modules" / ".bin" / "pyright", "--pythonpath", sys.executable]
    clients.run(*command, "conditions.py", cwd=folder)


COMPLETIONS = {
    'content.list("")': ["posts", "things"],
    'content.list("things", { filters: ["a_single_select", "equals", ""] })': ["loaf", "roll"],
    'content.list("things", { filters: { or: [["a_single_select", "equals", ""]] } })': ["loaf", "roll"],
    'content.list("things", { filters: ["a_number", ""] })': [*OPERATORS],
    'content.list("things", { filters: ["", "exists"] })': ["id", *META_DATES, *map(field_of, FieldType), "free"],
    'content.list("things", { fields: [""] })': [*META_DATES, *map(field_of, FieldType), "free"],
    'content.list("things", { lang: "" })': ["en"],
}
"""What an editor offers between the quotes; options are those of all fields, as TypeScript tells tuples apart last."""
EDITOR = """
import ts from "typescript";
import { existsSync, readFileSync } from "node:fs";
const read = (name) => (existsSync(name) ? readFileSync(name, "utf8") : undefined);
const service = ts.createLanguageService({
  getScriptFileNames: () => ["offered.ts"], getScriptVersion: () => "1", readFile: read, fileExists: existsSync,
  getScriptSnapshot: (name) => read(name) === undefined ? undefined : ts.ScriptSnapshot.fromString(read(name)),
  getCurrentDirectory: () => process.cwd(), getDefaultLibFileName: ts.getDefaultLibFilePath,
  getCompilationSettings: () => ({ strict: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext }),
});
const text = read("offered.ts");
const places = [...text.matchAll(/""/g)].map(({ index }) => index + 1);
const found = places.map((place) => service.getCompletionsAtPosition("offered.ts", place, {}));
console.log(JSON.stringify(found.map((one) => one?.entries.map((entry) => entry.name).sort())));
"""


def test_an_editor_completes_them(folder: Path) -> None:
    lines = ['import { Client } from "./things.js";', "declare const content: Client;", *COMPLETIONS]
    (folder / "offered.ts").write_text("\n".join(lines))
    (folder / "editor.js").write_text(EDITOR)
    offered = json.loads(clients.run("node", "editor.js", cwd=folder))
    assert offered == [sorted(names) for names in COMPLETIONS.values()]
