"""Clients in a folder of their own, made for the bundled example, and what they have to do alike."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from engine.access.keys.access import AccessFile, issue_key
from engine.read.all_versions.all_versions import AllVersions
from engine.read.reader.data_files import DataFiles
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from snapshots.times import now_ms
from tests.engine.typed.scripted_server import Scripted, page, scripted
from tests.sites.example_server import ExampleServer
from tests.sites.served_site import Site, eventually, serving

USES = Path(__file__).parent / "uses"
SNAPSHOT = {"X_Snapshot": "20260101T000000000Z-0badcafe", "X_Snapshot_At": "2026-01-01T00:00:05.000Z"}
PIN = "20260101T000000000Z-0badcafe@2026-01-01T00:00:05.000Z"
MISSING = 'There is no "pizza" in "breads" published in "en" now.'
TITLE = Field("title", "Title", FieldType.TEXT)
ACME = Workspace(
    "acme",
    "acme",
    ("en",),
    apis=(
        Api("api_posts0000001", "Posts", "posts", ApiKind.LIST, False, (TITLE,)),
        Api("api_site00000001", "Site", "site", ApiKind.OBJECT, False, (TITLE,)),
    ),
)
"""The workspace of ``tests.sites.served_site.Site``."""
RESULTS = {
    "page": [
        {"id": "melon-bread", "name": "Melon bread", "price": 240},
        {"id": "sesame-ring", "name": "Sesame ring", "price": 210},
    ],
    "same": 5,
    "names": ["Country rye", "Sesame ring", "Walnut bâtard"],
    "rye": "hana",
    "baker": "Hana Morita",
    "langs": {"current": "ja", "available": ["en", "ja"]},
    "name": "メロンパン",
    "fallback": ["Sesame ring"],
    "seats": 8,
    "deep": "object",
    "draft": "The night oven, revisited",
    "pins": [True, 5],
    "gone": 410,
    "apis": ["bakers", "breads", "journal", "shop", "stockists"],
    "views": {"country-rye": {"total": 0, "recent": 0}, "pizza": {"total": 0, "recent": 0}},
    "failures": [
        ["NotFound", 404, MISSING],
        ["BadRequest", 400, 'limit: expected an integer from 1 to 100, got "200".'],
        ["KeyRefused", 401, "This API key is not valid."],
        ["TooManyRequests", 429, "This API key may make 2 requests in 60 seconds. Try again in … seconds."],
        ["Unreachable", 0, ""],
    ],
}
"""What ``results`` of the uses in either language finds."""


@dataclass(frozen=True)
class Keys:
    limited: str
    """May make one more request this minute."""
    draft: str
    """Previews the unpublished changes of an entry of the journal."""


def more_keys(server: ExampleServer) -> Keys:
    place = server.store.workspace("komugi")
    file = AccessFile(place.directory)
    _, limited = issue_key(file, name="limited", now=now_ms(), zone=UTC, scope=None, validity="none", rate_limit=2)
    version = place.current()
    access = file.read()
    assert version is not None
    assert access is not None
    with closing(DataFiles(server.store.root)) as files:
        found = AllVersions(files, place, place.manifest(version.version), access.draft_secret).drafts()
    draft = next(one.key for one in found if one.entry == "the-night-oven" and one.lang == "en")
    assert draft is not None
    # A running server knows of a key within a second, and says so with the first of its two requests.
    eventually(lambda: server.running.get("/v1/komugi/_schema", headers={"X-API-KEY": limited}).status == 200)
    return Keys(limited, draft)


def results(printed: str) -> Any:
    """What a use printed, to be compared with ``RESULTS``: how long to wait depends on when it asked."""
    return json.loads(re.sub("again in [0-9]+ seconds", "again in … seconds", printed))


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; fails with all it said when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def folder_server(folder: Path) -> Iterator[str]:
    """Serve the files of a folder: the address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as listening:
        thread = Thread(target=listening.serve_forever, args=[0.02])
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
            thread.join()


Act = Callable[[str, str], Any]
"""(address of a server, task) → what the use ``transport`` prints, read."""


@contextmanager
def acting(*command: str | Path, cwd: Path) -> Iterator[Act]:
    """Start the use ``transport``: what has it act, one task after another."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        lines, asked = process.stdout, process.stdin
        assert lines is not None

        def act(url: str, task: str) -> Any:
            asked.write(f"{url} {task}\n")
            asked.flush()
            return json.loads(lines.readline())

        yield act
        asked.close()
        assert (lines.read(), process.wait(60)) == ("", 0)


def check_pages(act: Act) -> None:
    """All pages after the first are asked for at the first one's snapshot and instant."""
    with scripted(
        [page(250, 0, 100, **SNAPSHOT), page(250, 100, 100, **SNAPSHOT), page(250, 200, 50, **SNAPSHOT)]
    ) as server:
        assert act(server.url, "pages") == [f"n{number}" for number in range(250)]
    assert server.sent("x-snapshot") == [None, PIN, PIN]
    assert [target for target, _ in server.requests] == [
        f"/v1/komugi/breads?fields=name&limit=100&offset={offset}" for offset in (0, 100, 200)
    ]
    assert set(server.sent("x-api-key")) == {"the key"}
    with scripted([page(150, 0, 100, **SNAPSHOT), page(150, 100, 0)]) as server:  # no page comes to an end by itself
        assert len(act(server.url, "pages")) == 100


def check_publishing_between(command: list[str | Path], folder: Path, site: Site) -> None:
    """Entries that are read while others are published are all of the version that the first page was of.

    The command stops after the first entry until it gets a line, and prints the titles of all, and a title of now.
    """
    site.publish("old")
    _, key = site.key()
    with serving(site.store, site.source.parent / "log", key=key) as running:
        eventually(lambda: running.get("/readyz").status == 200)
        process = subprocess.Popen(
            [*command, f"http://{running.host}", key],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        version = site.publish("new")
        eventually(lambda: running.get("/v1/acme/site").headers["x-snapshot"] == version)
        printed, _ = process.communicate("go on\n", timeout=60)
    assert json.loads(printed) == [["old"] * 250, "new"]


def check_pin(act: Act) -> None:
    schema = Scripted({"workspace": "komugi", "apis": []}, {name.replace("_", "-"): v for name, v in SNAPSHOT.items()})
    with scripted([schema, page(7)]) as server:
        assert act(server.url, "pin") == [PIN, 7, None]
    assert server.sent("x-snapshot") == [None, PIN]


def check_etag(act: Act) -> None:
    """An answer that was kept is not sent again, and nobody can change what is kept. A 304 has the newer headers."""
    change = {"X-Next-Change": "2026-01-02T00:00:00.000Z", "X-Content-Tags": "komugi komugi:breads"}
    with scripted([page(2, 0, 2, ETag='"one"'), Scripted("", {"ETag": '"one"', **change}, 304)]) as server:
        expected = [False, 2, "2026-01-02T00:00:00.000Z", ["komugi", "komugi:breads"]]
        assert act(server.url, "etag") == expected
    assert server.sent("if-none-match") == [None, '"one"']


def check_waits(act: Act) -> None:
    """429 and 503 are waited out as told, in seconds, as a date, or by ``RateLimit``, and then asked again."""
    message = {"message": "later"}
    busy = [
        Scripted(message, {"Retry-After": "1"}, 429),
        Scripted(message, {"Retry-After": "0"}, 503),
        Scripted(message, {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}, 503),
        Scripted(message, {"RateLimit": '"key";r=0;t=1'}, 429),
        Scripted(message, {"Retry-After": "soon"}, 429),
    ]
    with scripted([*busy, page(3)]) as server:
        assert act(server.url, "list") == 3
    assert len(server.requests) == 6


def check_failures(act: Act) -> None:
    """What will not pass soon is an error at once, with the server's message where there is one."""
    cases = [
        (Scripted({"message": "used up"}, {"Retry-After": "50"}, 429), ["TooManyRequests", 429, "used up"]),
        (Scripted({"message": "starting"}, {"Retry-After": "50"}, 503), ["Unavailable", 503, "starting"]),
        (Scripted({"message": "pruned"}, {}, 410), ["SnapshotGone", 410, "pruned"]),
        (Scripted("<p>Bad gateway</p>", {}, 502), ["ContentError", 502, "HTTP 502 Bad Gateway"]),
        (Scripted({"error": 3}, {}, 500), ["ContentError", 500, "HTTP 500 Internal Server Error"]),
        (Scripted("[]", {}, 400), ["BadRequest", 400, "HTTP 400 Bad Request"]),
    ]
    for answer, expected in cases:
        with scripted([answer]) as server:
            assert act(server.url, "impatient") == expected
        assert len(server.requests) == 1
    for text in ("<p>Welcome</p>", "3"):
        with scripted([Scripted(text)]) as server:
            found = act(server.url, "impatient")
        assert found[:2] == ["ContentError", 200]
        assert found[2].endswith("Check that this is the address of the delivery API.")
    with scripted([Scripted(status=None)]) as server:
        assert act(server.url, "impatient")[:2] == ["Unreachable", 0]
