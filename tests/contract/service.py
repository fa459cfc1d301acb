"""A real server over a real store: the workspaces are built, keys issued, and requests go over a socket."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import uvicorn

from engine.access.drafts.keys import derived_draft_key
from engine.access.keys.access import AccessFile, disable_key, issue_key
from server.http.protocol import DeliveryProtocol
from server.settings import Settings
from snapshots.build.build import build
from snapshots.store.store import Store, open_store
from snapshots.times import parse_datetime
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import eventually

ZONE = ZoneInfo("Asia/Tokyo")
NOW = parse_datetime("2026-06-15T12:00:00Z", ZONE)
"""The instant the cases are answered at, unless a case sets the clock."""
DAY = 86_400_000
WORKSPACE = Path(__file__).with_name("workspace")
NARROW = frozenset({"api_Articles0001", "api_Authors00001", "api_Site00000001"})


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for found, value in self.headers if found.lower() == name]
        assert len(values) < 2, (name, values)
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Service:
    """The running service. ``now`` is its clock, which tests may set."""

    store: Store
    port: int
    keys: dict[str, str]
    """Name → key: all, narrow, foreign, disabled, expired, early, none (absent)."""
    now: int = NOW

    def request(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def get(self, target: str, *, key: str = "all", headers: Mapping[str, str] | None = None) -> Answer:
        """GET with the API key of that name."""
        sent = {"X-API-KEY": self.keys[key]} if key in self.keys else {}
        return self.request("GET", target, {**sent, **(headers or {})})

    def draft_key(self, endpoint: str, entry_id: str, lang: str) -> str:
        """The derived draft key of a version of the workspace acme."""
        workspace = self.store.workspace("acme")
        current = workspace.current()
        access = AccessFile(workspace.directory).read()
        assert current is not None
        assert access is not None
        api = workspace.manifest(current.version).workspace.api(endpoint)
        assert api is not None
        return derived_draft_key(access.draft_secret, "acme", api.uid, entry_id, lang)


def issue_keys(store: Store) -> dict[str, str]:
    """Keys of every kind the checks tell apart."""
    acme = AccessFile(store.workspace("acme").directory)
    other = AccessFile(store.workspace("other").directory)

    def issue(
        file: AccessFile, name: str, *, scope: frozenset[str] | None = None, now: int = NOW, validity: str = "none"
    ) -> str:
        return issue_key(file, name=name, scope=scope, now=now, zone=ZONE, validity=validity, rate_limit=1_000_000)[1]

    keys = {
        "all": issue(acme, "all"),
        "narrow": issue(acme, "narrow", scope=NARROW),
        "foreign": issue(other, "foreign"),
        "disabled": issue(acme, "disabled"),
        "expired": issue(acme, "expired", now=NOW - 400 * DAY, validity="1y"),
        "disabled and expired": issue(acme, "both", now=NOW - 400 * DAY, validity="1y"),
        "early": issue(acme, "early", now=NOW + 30 * DAY),
        "expired foreign": issue(other, "old", now=NOW - 400 * DAY, validity="1y"),
        "unknown": "pq_AbCdEfGh_abcdefghijklmnopqrstuvwx_012345",
    }
    for name in ("disabled", "disabled and expired"):
        disable_key(acme, keys[name][:11])
    return keys


def make_store(directory: Path) -> Store:
    """The contract workspace ``acme`` and a second one, ``other``, built into one store."""
    store = open_store(directory / "store")
    acme = directory / "acme"
    shutil.copytree(WORKSPACE, acme)
    other = directory / "other"
    (other / "apis").mkdir(parents=True)
    (other / "workspace.yaml").write_text("id: other\nlanguages: [en]\n")
    shutil.copy(WORKSPACE / "apis" / "empty.yaml", other / "apis" / "empty.yaml")
    for root in (acme, other):
        build(root, store, now=NOW)
    return store


@contextmanager
def running(directory: Path) -> Iterator[Service]:
    """Build, issue keys, serve on a free port, and stop at the end."""
    store = make_store(directory)
    service = Service(store, 0, issue_keys(store))
    app = quiet_app(Settings(store=str(store.root)), clock=lambda: service.now)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service.port = listener.getsockname()[1]
        config = uvicorn.Config(app, http=DeliveryProtocol, ws="none", lifespan="on", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(0.01)
            eventually(lambda: all(found["version"] for found in service.get("/readyz").json()["workspaces"]))
            yield service
        finally:
            server.should_exit = True
            thread.join()
