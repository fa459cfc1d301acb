"""Clients that others would make: generated from the documents or typed by ``cms types``, compiled, then run.

What npm installs is kept in the temporary directory between runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.typed.python import python_types
from engine.typed.typescript import typescript_types
from snapshots.model import Api, ApiKind, Field, FieldType, Group, ReferenceTarget, Workspace
from tests.programs import node_packages
from tests.project.test_docs import blocks
from tests.sites.example_server import ExampleServer, example_server

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "clients"
TSC = ["--strict", "--noUnusedLocals", "--noUnusedParameters", "--exactOptionalPropertyTypes", "--skipLibCheck"]
TSC += ["--target", "es2022", "--module", "nodenext"]
TYPED = {
    "query": "fields=name,price,baker&orders=-price,name&filters=price[less_than]300[or]name[contains]"
    "a%20%5Bor%5D%20b%20%26%20c[or]vegan[equals]true[or]photo[exists]&limit=2&lang_fallback=false",
    "ids": ["country-rye", "walnut-batard"],
    "nothing": 0,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("clients")) as server:
        yield server


@pytest.fixture(scope="module")
def node_modules() -> Path:
    return node_packages.node_modules()


def run(*command: str | Path, cwd: Path, warnings: int = 0) -> str:
    """What a command prints; fails with all it said when it fails, or warns of something else than expected."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("WARNING") == warnings, done.stderr
    return done.stdout


def literal(kind: str, value: object, number: int) -> str:
    return f"export const answer{number}: {kind} = {json.dumps(value, ensure_ascii=False)};\n"


def answers(server: ExampleServer) -> Iterator[tuple[str, int, Any]]:
    """(endpoint, depth, answer) of all there is, at each depth, in both languages."""
    for depth in (0, 1, 2):
        for endpoint in ("bakers", "breads", "journal", "stockists", "shop"):
            yield endpoint, depth, server.get(f"{endpoint}?depth={depth}")
        yield "breads", depth, server.get(f"breads?depth={depth}&lang=ja&lang_fallback=true&include=_langs")


def hard_workspace() -> Workspace:
    """Names that mean something to the languages, quotes in what people wrote, and APIs without fields."""
    fields = (
        Field("class", 'A "class" */ \\', FieldType.TEXT, required=True, description='Ends */ with """ \\\n and "'),
        Field("import", "Import\nof more", FieldType.REFERENCE, target="api_two"),
        Field("choice", "Choice", FieldType.SINGLE_SELECT, options=('a "b"', "c | d", "é\\n", "`${x}`")),
        Field("many", "Many", FieldType.MULTIPLE_SELECT, options=("None", "x]")),
        Field("lost", "Lost", FieldType.REFERENCES),
        Field(
            "any",
            "Any",
            FieldType.REFERENCES,
            targets=(ReferenceTarget("list-of", "api_one"), ReferenceTarget("3-things", "api_three")),
        ),
        Field("free", "Free", FieldType.JSON, required=True),
        Field("file", "File", FieldType.FILE),
    )
    kinds = (Group("class", 'A "class" */ \\', fields), Group("none", "None", ()))
    groups = (
        Field("nested", "Nested", FieldType.GROUP, fields=(Field("class", "Class", FieldType.GROUP, fields=fields),)),
        Field("nested_class", "Nested class", FieldType.GROUPS, required=True, fields=fields[:1]),
        Field("kinds", "Kinds", FieldType.GROUPS, groups=kinds),
    )
    return Workspace(
        "hard",
        "Hard",
        ("en", "pt-BR"),
        apis=(
            Api(
                "api_one",
                'One """ \\',
                "list-of",
                ApiKind.LIST,
                True,
                (*fields, *groups),
                description='Ends */ with """ \\\n and "',
            ),
            Api(
                "api_two",
                "Two",
                "Image",
                ApiKind.OBJECT,
                False,
                (Field("back", "Back", FieldType.REFERENCES, target="api_one"),),
            ),
            Api("api_three", "Three", "3-things", ApiKind.LIST, False, ()),
            Api("api_four", "Four", "Three-List", ApiKind.LIST, False, ()),
        ),
    )


def test_typescript(server: ExampleServer, node_modules: Path, tmp_path: Path) -> None:
    """openapi-typescript's output and ours compile, hold every answer, and clients made with them get theirs."""
    (tmp_path / "node_modules").symlink_to(node_modules)
    for name in ("package.json", "generated.ts", "typed.ts"):
        shutil.copy(HERE / name, tmp_path)
    for name, document in (("komugi", server.document()), ("service", server.running.get("/openapi.json").json)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        tool = node_modules / ".bin" / "openapi-typescript"
        run(tool, f"{name}.json", "--output", f"{name}-openapi.ts", cwd=tmp_path)
    (tmp_path / "komugi.ts").write_text(typescript_types(server.workspace))
    held = ['import type { ListOf, Lists, Objects } from "./komugi.js";\n']
    held.append('import type { components } from "./komugi-openapi.js";\n')
    for number, (endpoint, depth, value) in enumerate(answers(server)):
        kind = f'Objects<{depth}>["shop"]' if endpoint == "shop" else f'ListOf<Lists<{depth}>["{endpoint}"]>'
        ending = {0: "Depth0", 1: "", 2: "Depth2"}[depth] + ("" if endpoint == "shop" else "List")
        held.append(literal(f'{kind} & components["schemas"]["{endpoint.title()}{ending}"]', value, number))
    (tmp_path / "held.ts").write_text("".join(held))
    (tmp_path / "hard.ts").write_text(typescript_types(hard_workspace()))
    (tmp_path / "empty.ts").write_text(typescript_types(Workspace("empty", "Empty", ("en",))))
    files = ("generated.ts", "typed.ts", "held.ts", "hard.ts", "empty.ts")
    run(node_modules / ".bin" / "tsc", *TSC, *files, cwd=tmp_path)
    generated = json.loads(run("node", "generated.js", server.url, server.key, cwd=tmp_path))
    assert generated == {
        "names": ["Country rye", "Walnut bâtard"],
        "kind": "sweet",
        "baker": "Daniel Okafor",
        "missing": [404, 'There is no "pizza" in "breads" published in "en" now.'],
        "refused": [
            400,
            "fields: given more than once, and only the last would count. Give it once, with commas: "
            "fields=name,price, for example.",
        ],
        "views": ["melon-bread", "milk-roll"],
        "shop": {"id": "shop", "title": "Komugi, bread from a wood-fired oven", "seats": 8},
    }
    typed = json.loads(run("node", "typed.js", server.url, server.key, cwd=tmp_path))
    assert typed == {**TYPED, "baker": "Hana Morita", "deep": "country-rye"}


def test_another_generated_client(server: ExampleServer, node_modules: Path, tmp_path: Path) -> None:
    """That of @hey-api/openapi-ts sends lists as the document says, without being told in any other way."""
    (tmp_path / "node_modules").symlink_to(node_modules)
    for name in ("package.json", "sdk.ts", "openapi-ts.config.mjs"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "komugi.json").write_text(json.dumps(server.document()))
    run(node_modules / ".bin" / "openapi-ts", cwd=tmp_path)
    options = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"]
    run(node_modules / ".bin" / "tsc", *options, "sdk.ts", cwd=tmp_path)
    assert json.loads(run("node", "sdk.js", server.url, server.key, cwd=tmp_path)) == {
        "names": ["Country rye", "Walnut bâtard"],
        "available": ["en", "ja"],
        "missing": 'There is no "pizza" in "breads" published in "en" now.',
        "views": ["melon-bread", "milk-roll"],
        "shop": {"id": "shop", "title": "Komugi, bread from a wood-fired oven", "seats": 8},
    }


def test_python_types(server: ExampleServer, tmp_path: Path) -> None:
    """Our types pass mypy's strict mode, hold every answer, and a client made with them gets its own."""
    (tmp_path / "komugi.py").write_text(python_types(server.workspace))
    shutil.copy(HERE / "typed.py", tmp_path)
    held = ["from komugi import *\n"]
    for number, (endpoint, depth, value) in enumerate(answers(server)):
        name = endpoint.title() + {0: "Depth0", 1: "", 2: "Depth2"}[depth]
        kind = name if endpoint == "shop" else f"ListOf[{name}]"
        held.append(f"answer{number}: {kind} = {value!r}\n")
    (tmp_path / "held.py").write_text("".join(held))
    (tmp_path / "hard.py").write_text(python_types(hard_workspace()))
    (tmp_path / "empty.py").write_text(python_types(Workspace("empty", "Empty", ("en",))))
    files = ("typed.py", "held.py", "hard.py", "empty.py")
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *files, cwd=tmp_path)
    run(sys.executable, "-W", "error", "-c", "import hard, empty", cwd=tmp_path)
    typed = json.loads(run(sys.executable, "typed.py", server.url, server.key, cwd=tmp_path))
    assert typed == {**TYPED, "baker": "Hana Morita", "deep": "country-rye"}


def test_a_generated_python_client(server: ExampleServer, tmp_path: Path) -> None:
    """openapi-python-client understands the documents, and its clients get answers. It repeats the parameter of a list
    whatever the document says, which the hook that the page for developers shows puts right."""
    for name, document in (("komugi", server.document()), ("service", server.running.get("/openapi.json").json)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        (tmp_path / f"{name}.yaml").write_text(f"package_name_override: {name}_client\npost_hooks: []\n")
        command = ["-m", "openapi_python_client", "generate", "--meta", "none", "--config", f"{name}.yaml"]
        command += ["--path", f"{name}.json", "--output-path", f"{name}_client"]
        # The one thing it cannot make is a request with a body of text, which is for browsers.
        run(sys.executable, *command, cwd=tmp_path, warnings=1)
    script = """
import json, sys
from joined_lists import join
from komugi_client import AuthenticatedClient
from komugi_client.api.content import get_breads, list_breads
from komugi_client.models import Breads, BreadsList
from komugi_client.models.list_breads_fields_item import ListBreadsFieldsItem as Field
from komugi_client.models.list_breads_orders_item import ListBreadsOrdersItem as Order
from service_client import AuthenticatedClient as ServiceClient
from service_client.api.content import get_schema
url, key = sys.argv[1:]
strictly = {"auth_header_name": "X-API-KEY", "prefix": "", "headers": {"Prefer": "handling=strict"}}
client = AuthenticatedClient(url, key, **strictly, httpx_args={"event_hooks": {"request": [join]}})
asked = {"orders": [Order("vegan"), Order("-price")], "fields": [Field("name"), Field("price")], "limit": 2}
found = list_breads.sync(client=client, filters="vegan[equals]true", **asked)
refused = list_breads.sync_detailed(client=AuthenticatedClient(url, key, **strictly), **asked)
bread = get_breads.sync("melon-bread", client=client)
missing = get_breads.sync_detailed("pizza", client=client)
service = ServiceClient(url, key, auth_header_name="X-API-KEY", prefix="")
schema = get_schema.sync("komugi", client=service)
assert isinstance(bread, Breads)
print(json.dumps([[one.name for one in found.contents], bread.baker.name, missing.status_code,
    missing.parsed.message, refused.status_code, [api.endpoint for api in schema.apis]]))
"""
    (tmp_path / "use.py").write_text(script)
    [shown] = [one for one in blocks("app-developers.md") if one.settings.get("title") == "joined_lists.py"]
    (tmp_path / "joined_lists.py").write_text(shown.text)
    names, baker, status, message, refused, endpoints = json.loads(
        run(sys.executable, "use.py", server.url, server.key, cwd=tmp_path)
    )
    assert names == ["Country rye", "Walnut bâtard"]
    assert (baker, status, refused) == ("Daniel Okafor", 404, 400)
    assert message
    assert endpoints == ["bakers", "breads", "journal", "shop", "stockists"]
