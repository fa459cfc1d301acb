"""The bundled example workspace behind a real server process, for those who read it with clients of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from engine.access.keys.access import AccessFile, issue_key
from server.reference.workspace_document import workspace_document
from snapshots.build.build import build
from snapshots.model import Workspace
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.sites.served_site import Running, eventually, serving

EXAMPLE = Path(__file__).parents[2] / "cli" / "creating" / "example"


@dataclass(frozen=True)
class ExampleServer:
    running: Running
    key: str
    workspace: Workspace
    store: Store

    @property
    def url(self) -> str:
        return f"http://{self.running.host}"

    def get(self, target: str) -> Any:
        """The JSON at what follows the workspace in a URL."""
        answer = self.running.get(f"/v1/komugi/{target}")
        assert answer.status == 200, answer.body
        return answer.json

    def document(self) -> dict[str, Any]:
        """The OpenAPI document of the workspace."""
        return workspace_document(self.workspace, self.url)


@contextmanager
def example_server(directory: Path, example: Path = EXAMPLE, **settings: object) -> Iterator[ExampleServer]:
    """Build the example, issue a key without a limit, and serve it. ``settings`` are those of ``serving``."""
    # Away from the checkout, whose commits would date the entries.
    source = shutil.copytree(example, directory / "komugi")
    store = open_store(directory / "store")
    version = build(source, store, now=now_ms()).version
    place = store.workspace("komugi")
    _, key = issue_key(
        AccessFile(place.directory),
        name="clients",
        now=now_ms(),
        zone=UTC,
        scope=None,
        validity="none",
        rate_limit=1_000_000,
    )
    with serving(store, directory / "log", key=key, **settings) as running:
        eventually(lambda: running.get("/readyz").status == 200)
        yield ExampleServer(running, key, place.manifest(version).workspace, store)
