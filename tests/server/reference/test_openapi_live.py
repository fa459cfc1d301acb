"""The OpenAPI documents held against the running server by schemathesis: every operation, valid and invalid requests.

``PARQUETRY_EXAMPLES`` multiplies the number of requests, and lets them differ from run to run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generated.budget import TIMES
from tests.sites.example_server import ExampleServer, example_server

pytestmark = pytest.mark.slow

ALL_BUT_ONE = """
# A view is answered with 204 whatever it is (contract 4.13).
[[operations]]
include-operation-id = "recordView"
checks.negative_data_rejection.enabled = false
"""
ANY_WORKSPACE = (
    """
parameters = { "path.workspace" = "komugi", "path.endpoint" = "breads", "header.X-Snapshot" = "POINT" }
# Which fields and languages there are, the general document cannot know: what it calls valid may be 400.
checks.positive_data_acceptance.enabled = false

# One operation stands for lists and objects: of its parameters, those for the other kind have no effect (decision 4).
[[operations]]
include-operation-id = "getContents"
checks.negative_data_rejection.enabled = false
"""
    + ALL_BUT_ONE
)
ONE_WORKSPACE = 'parameters = { "path.entryId" = "melon-bread", "query.filters" = "id[exists]" }\n' + ALL_BUT_ONE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("openapi")) as server:
        yield server


def schemathesis(directory: Path, server: ExampleServer, document: object, settings: str, *options: str) -> None:
    """Run all checks of schemathesis that the settings leave on; fails with its report."""
    (directory / "openapi.json").write_text(json.dumps(document))
    told = server.running.get("/v1/komugi/_schema", headers={"X-API-KEY": server.key}).headers
    point = f"{told['x-snapshot']}@{told['x-snapshot-at']}"
    (directory / "schemathesis.toml").write_text(settings.replace("POINT", point))
    # What is found out about Unicode in some seconds is found out once.
    unicode = directory.parent / "unicode_data"
    unicode.mkdir(exist_ok=True)
    (directory / ".hypothesis").mkdir()
    (directory / ".hypothesis" / "unicode_data").symlink_to(unicode)
    amount = ["--generation-deterministic"] if TIMES == 1 else []
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run", "openapi.json"),
            *("--url", server.url, "--max-examples", str(2 * TIMES), "--no-color", "--continue-on-failure"),
            *("--warnings", "off", *amount, *options),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120 * TIMES,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_the_definition_of_any_workspace_with_a_key(server: ExampleServer, tmp_path: Path) -> None:
    document = server.running.get("/openapi.json").json
    # The phase `coverage`, the longest, finds the same in the other document.
    phases = "examples,fuzzing,stateful" if TIMES == 1 else "examples,coverage,fuzzing,stateful"
    key = f"X-API-KEY: {server.key}"
    schemathesis(tmp_path, server, document, ANY_WORKSPACE, "--header", key, "--phases", phases)


def test_the_definition_of_any_workspace_without_a_key(server: ExampleServer, tmp_path: Path) -> None:
    document = server.running.get("/openapi.json").json
    schemathesis(tmp_path, server, document, ANY_WORKSPACE, "--phases", "fuzzing")


def test_the_definition_of_a_workspace_with_a_key(server: ExampleServer, tmp_path: Path) -> None:
    """Here every request that the document calls valid must be answered, and every other refused: by strict reading
    also a field that is none."""
    document = server.document()
    shown = ("/v1/komugi/breads", "/v1/komugi/breads/{entryId}", "/v1/komugi/shop")
    document["paths"] = {path: item for path, item in document["paths"].items() if path in shown}
    for item in document["paths"].values():  # which versions there are, no document can know
        item["get"]["parameters"].remove({"$ref": "#/components/parameters/X-Snapshot"})
        item["get"]["parameters"].remove({"$ref": "#/components/parameters/Prefer"})
    headers = ("--header", f"X-API-KEY: {server.key}", "--header", "Prefer: handling=strict")
    schemathesis(tmp_path, server, document, ONE_WORKSPACE, *headers)


def test_a_document_that_is_wrong_is_noticed(server: ExampleServer, tmp_path: Path) -> None:
    document = server.document()
    document["paths"] = {"/v1/komugi/_schema": document["paths"]["/v1/komugi/_schema"]}
    document["components"]["schemas"]["Schema"]["properties"]["apis"]["maxItems"] = 1
    with pytest.raises(AssertionError, match=r"ST\d+ Response violates schema"):
        schemathesis(tmp_path, server, document, "", "--header", f"X-API-KEY: {server.key}", "--phases", "fuzzing")
