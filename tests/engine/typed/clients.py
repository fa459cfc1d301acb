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
from urllib.parse import unquote

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
        ["BadRequest", 400, 'There is no parameter "limt". Did you mean "limit"?'],
        ["KeyRefused", 401, "This API key is not valid."],
        ["TooManyRequests", 429, "This API key may make 2 requests in 60 seconds. Try again in … seconds."],
        ["Unreachable", 0, ""],
    ],
    "many": ["milk-roll", "country-rye"],
    "one": ["Milk roll"],
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
    # A running server knows of a key within a second, and says so with the first of its two requests.
    eventually(lambda: server.running.get("/v1/komugi/_schema", headers={"X-API-KEY": limited}).status == 200)
    return Keys(limited, draft_key(server, "the-night-oven", "en"))


def draft_key(server: ExampleServer, entry: str, lang: str) -> str:
    """The key of an entry's draft in a language."""
    place = server.store.workspace("komugi")
    version, access = place.current(), AccessFile(place.directory).read()
    assert version is not None
    assert access is not None
    with closing(DataFiles(server.store.root)) as files:
        found = AllVersions(files, place, place.manifest(version.version), access.draft_secret).drafts()
    key = next(one.key for one in found if one.entry == entry and one.lang == lang)
    assert key is not None
    return key


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
    assert set(server.sent("x-api-key")) == {"the_key"}
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
        Scripted(message, {"Retry-After": "7"}, 429),
        Scripted(message, {"Retry-After": "0"}, 503),
        Scripted(message, {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}, 503),
        Scripted(message, {"RateLimit": '"key";r=0;t=9'}, 429),
        Scripted(message, {"Retry-After": "soon"}, 429),
    ]
    with scripted([*busy, page(3)]) as server:
        total, waits = act(server.url, "waits")
    assert total == 3
    assert len(server.requests) == 6
    assert [[wait[0], *wait[2:]] for wait in waits] == [
        [status, "later", f"{server.url}/v1/komugi/breads"] for status in (429, 503, 503, 429, 429)
    ]
    seconds = [wait[1] for wait in waits]
    assert (seconds[0], seconds[3]) == (7, 9)
    check_growing(seconds, [1, 2, 4])


def check_growing(seconds: list[float], places: list[int]) -> None:
    """Pauses that nobody told double each time, give or take a quarter, so that clients do not come back together."""
    assert all(0.75 * 0.5 * 2**place <= seconds[place] <= 1.25 * 0.5 * 2**place for place in places)


def check_blips(act: Act) -> None:
    """Errors that may pass, lost connections and answers that break off are no end of a call."""
    broken = Scripted({"contents": []}, stops="breaks inside")
    errors = [Scripted("", {}, 500), Scripted("<p>Bad gateway</p>", {}, 502), Scripted("", {}, 504)]
    script = [Scripted(status=None), *errors, broken, page(3)]
    with scripted(script) as server:
        total, waits = act(server.url, "waits")
    assert (total, [wait[0] for wait in waits]) == (3, [0, 500, 502, 504, 0])
    check_growing([wait[1] for wait in waits], [0, 1, 2, 3, 4])
    assert waits[2][2] == "HTTP 502 Bad Gateway"
    # What a client did wrong stays wrong.
    for status in (400, 401, 403, 404, 410, 501):
        with scripted([Scripted({"message": "no"}, {}, status)]) as server:
            assert act(server.url, "waits")[1:] == [status, "no"]
        assert len(server.requests) == 1


def check_patience(act: Act) -> None:
    """A call gives up after 10 seconds; one that reads many pages, or is pinned, after 120."""
    busy = Scripted({"message": "later"}, {"Retry-After": "15"}, 429)
    tired = Scripted({"message": "later"}, {"Retry-After": "130"}, 429)
    with scripted([busy]) as server:
        assert act(server.url, "list") == ["TooManyRequests", 429, "later"]
        assert len(server.requests) == 1
        assert act(server.url, "object") == ["TooManyRequests", 429, "later"]
    for task in ("all", "pinned", "entries", "pin"):
        with scripted([busy, page(1, 0, 1, **SNAPSHOT)]) as server:
            assert act(server.url, task) == ([PIN, 1, None] if task == "pin" else 1)
        with scripted([tired]) as server:
            assert act(server.url, task) == ["TooManyRequests", 429, "later"]


def check_time_limit(act: Act) -> None:
    """A try ends after ``timeout``, wherever the server stopped, and the connection is let go."""
    for stops in ("hangs", "hangs inside", "trickles"):
        stopped = Scripted({"contents": []}, stops=stops)
        with scripted([stopped]) as server:
            said = f"No answer from {server.url}/v1/komugi/breads within 0.2 s"
            assert act(server.url, "hurry") == ["Unreachable", 0, said]
            if stops != "trickles":
                eventually(lambda: server.left == 1)
        with scripted([stopped, page(3)]) as server:
            assert act(server.url, "hurry-on") == 3


def check_failures(act: Act) -> None:
    """Errors have the server's message where there is one, and the address that was asked for."""
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
            address = f"{server.url}/v1/komugi/breads?limit=3"
            assert act(server.url, "impatient") == [*expected, address]
        assert len(server.requests) == 1
    for text in ("<p>Welcome</p>", "3"):
        with scripted([Scripted(text)]) as server:
            found = act(server.url, "impatient")
        assert found[:2] == ["ContentError", 200]
        assert found[2].endswith("Check that this is the address of the delivery API.")
    with scripted([Scripted(status=None)]) as server:
        found = act(server.url, "impatient")
        assert (found[:2], found[3]) == (["Unreachable", 0], f"{server.url}/v1/komugi/breads?limit=3")
        assert found[2].startswith(f"No answer from {server.url}/v1/komugi/breads?limit=3: ")


def check_addresses_of_servers(act: Act) -> None:
    """The address may be the server's or the workspace's, behind a proxy or not; no other is taken for one."""
    for ending, asked in (
        ("", "/v1/komugi/breads"),
        ("/", "/v1/komugi/breads"),
        ("/v1", "/v1/komugi/breads"),
        ("/v1/komugi", "/v1/komugi/breads"),
        ("/v1/komugi/", "/v1/komugi/breads"),
        ("/cms", "/cms/v1/komugi/breads"),
        ("/a/cms//v1/komugi", "/a/cms/v1/komugi/breads"),
    ):
        with scripted([page(3)]) as server:
            assert act(server.url + ending, "list") == 3
        assert server.requests[0][0] == asked
    for wrong, said in (
        ("http://127.0.0.1:9/v1/acme", "url: it is the address of the workspace"),
        ("http://me:secret@127.0.0.1:9", "url: expected an address without a user name and a password."),
        ("cms", "url: expected an address such as https://cms.example.com, got"),
    ):
        found = act(wrong, "list")[2]
        assert found.startswith(said)
        assert "secret" not in found


def check_many(act: Act) -> None:
    """Entries of many IDs take a request for ten, all of one snapshot, and come in the order of their IDs."""
    contents = [{"id": f"n{number}", "name": "x"} for number in range(25)]
    answers = [
        Scripted(
            {"contents": contents[first : first + 10][::-1], "totalCount": 9, "offset": 0, "limit": 10},
            {name.replace("_", "-"): value for name, value in SNAPSHOT.items()},
        )
        for first in (0, 10, 20)
    ]
    with scripted(answers) as server:
        assert act(server.url, "many") == [f"n{number}" for number in range(25)]
    assert server.sent("x-snapshot") == [None, PIN, PIN]
    filters = [re.sub(".*filters=", "", unquote(target)).partition("&")[0] for target, _ in server.requests]
    assert filters[2] == "[or]".join(f"id[equals]n{number}" for number in range(20, 25))
    assert all("limit=" in target for target, _ in server.requests)


def check_redirects(act: Act) -> None:
    """A redirect is never followed: the key would go along to whoever it names, and is not for them."""
    for status in (301, 302, 303, 307, 308):
        with scripted([page(3)]) as other:
            target = f"{other.url}/v1/komugi/breads"
            with scripted([Scripted("", {"Location": target}, status)]) as server:
                kind, found, said = act(server.url, "waits")
            assert other.requests == []
        assert (kind, found, len(server.requests)) == ("ContentError", status, 1)
        assert said.startswith(f"The server redirects to {target}, where the key is not sent.")


CHECKS = (
    *(check_pages, check_pin, check_etag, check_waits, check_blips, check_patience, check_time_limit, check_failures),
    *(check_addresses_of_servers, check_many, check_redirects),
)
"""The checks of what a client sends; each is given what acts."""
