"""``/dev/events``: what a real ``cms dev`` tells programs of this machine, and whom it tells nothing."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from server.dev.changes import MOST_CHANGES
from server.dev.events import MOST_STREAMS
from tests.programs.command_line import BLOG, entry, write_workspace
from tests.server.dev.session import Session, running
from tests.sites.served_site import DEADLINE, eventually

HERE = "http://localhost:3000"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory = tmp_path_factory.mktemp("events")
    with running(write_workspace(directory / "site"), directory / "output") as started:
        yield started


class Listener:
    """An open stream of events."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response

    def next(self) -> tuple[str, dict[str, Any]]:
        """The next event: its name and what it says."""
        name = ""
        while line := self.response.readline().decode().rstrip("\n"):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                assert self.response.readline() == b"\n"
                return name, json.loads(value)
        raise AssertionError("the stream has ended")


@contextmanager
def listening(session: Session, **headers: str) -> Iterator[Listener]:
    connection = HTTPConnection(session.host, timeout=DEADLINE)
    try:
        connection.request("GET", "/dev/events", headers=headers)
        response = connection.getresponse()
        assert response.status == 200
        assert response.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        yield Listener(response)
    finally:
        connection.close()


def served(session: Session) -> str | None:
    return session.get("/v1/site/blog?limit=1", **{"X-API-KEY": session.key()}).headers["x-snapshot"]


def test_each_build_that_became_current_is_told_with_what_changed(session: Session) -> None:
    with listening(session) as first, listening(session, Origin=HERE) as second:
        name, hello = first.next()
        assert (name, hello) == (
            "hello",
            {"workspace": "site", "version": served(session), "definitions": False, "changes": []},
        )
        assert second.next() == (name, hello)

        session.save("content/blog/one.de.md", entry("Ein"))
        session.save("content/blog/two.draft.md", entry("Two, again"))
        session.save("content/blog/three.md", entry("Three"))
        session.save("content/blog/three.md", entry("Three", "rating: many\n"))  # is refused, and nothing is told
        (session.root / "content/blog/three.md").unlink()
        told = [second.next() for _ in range(4)]
        assert [first.next() for _ in range(4)] == told
        assert {name for name, _ in told} == {"change"}
        assert [change["changes"] for _, change in told] == [
            [{"api": "blog", "id": "one", "lang": "de"}],
            [{"api": "blog", "id": "two", "lang": "en"}],
            [{"api": "blog", "id": "three", "lang": "en"}],
            [{"api": "blog", "id": "three", "lang": "en"}],
        ]
        assert not any(change["definitions"] for _, change in told)
        assert told[-1][1]["version"] == served(session)

        session.save("apis/blog.yaml", BLOG.replace("name: Rating", "name: Stars"))
        name, change = first.next()
        assert (name, change["definitions"], change["changes"]) == ("change", True, [])


def test_what_is_told_has_a_bound(session: Session) -> None:
    with listening(session) as listener:
        listener.next()
        added = "".join(f'{{"id": "n{number:03}", "createdAt": "2026-01-01"}}\n' for number in range(MOST_CHANGES + 50))
        session.save("content/authors/many.jsonl", added)
        _, change = listener.next()
        assert change["changes"] == [
            {"api": "authors", "id": f"n{number:03}", "lang": "en"} for number in range(MOST_CHANGES)
        ]


def test_pages_of_this_machine_may_read_it_and_no_others(session: Session) -> None:
    for origin in (HERE, "https://127.0.0.1", "http://[::1]:5173"):
        with listening(session, Origin=origin) as listener:
            assert listener.response.getheader("Access-Control-Allow-Origin") == origin
            assert listener.response.getheader("Vary") == "Origin"
            assert listener.next()[0] == "hello"
    for origin in ("https://evil.example", "http://localhost.evil.example", "http://localhost:3000.evil", "null", ""):
        refused = session.get("/dev/events", Origin=origin)
        assert refused.status == 403
        assert "access-control-allow-origin" not in refused.headers
    assert session.get("/dev/events", Host="evil.example").status == 403
    assert session.get("/dev/events", "POST").status == 405


def test_streams_have_a_bound_and_those_that_end_make_room(session: Session) -> None:
    with ExitStack() as streams:

        def full() -> bool:
            """Open streams until one is refused."""
            try:
                streams.enter_context(listening(session)).next()
            except AssertionError:
                return True
            return False

        eventually(lambda: any(full() for _ in range(MOST_STREAMS + 1)))
        refused = session.get("/dev/events")
        assert refused.status == 503
        assert "Too many programs" in refused.json["message"]

    def told() -> bool:
        with suppress(AssertionError), listening(session) as listener:
            return listener.next()[0] == "hello"
        return False

    eventually(told)


def test_a_session_ends_with_whoever_listens(tmp_path: Path) -> None:
    with running(write_workspace(tmp_path / "site"), tmp_path / "output") as session, listening(session) as listener:
        listener.next()
        session.process.send_signal(signal.SIGTERM)
        # The end of a whole answer: a stream that was cut off raises IncompleteRead.
        assert listener.response.read() == b""
        assert session.process.wait(DEADLINE) == 0
        assert not re.search("Traceback|Cancel|graceful", session.text())
