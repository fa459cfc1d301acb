"""An ID that is there but not published takes the same steps as one that is not there, so that no clock tells them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.read.query.answers.bind import NotFound
from engine.read.query.answers.view_counts import parse_views_query, views_document
from engine.read.reader.reader import Reader, open_reader
from engine.views.counting.counts import Counts
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from tests.generated.asked import asked
from tests.stores.snapshot_builder import ms, write_snapshot

POSTS = Api("api_Posts", "Posts", "posts", ApiKind.LIST, True, (Field("title", "Title", FieldType.TEXT),))
WORKSPACE = Workspace("acme", "Acme", ("en", "ja"), apis=(POSTS,))
NOW = ms("2026-06-15T12:00:00Z")
PUBLISHED = {
    ("posts", "en"): [
        *({"id": f"live-{number}", "title": "Live"} for number in range(300)),
        *({"id": f"later-{number}", "title": "Later", "live_from": NOW + 1} for number in range(20)),
        *({"id": f"ended-{number}", "title": "Ended", "live_until": NOW} for number in range(20)),
    ],
    ("posts", "ja"): [{"id": "only-ja", "title": "Later", "live_from": NOW + 1}],
}
UNPUBLISHED = [f"{kind}-{number}" for kind in ("later", "ended", "draft") for number in range(20)] + ["only-ja"]
DRAFTS = {("posts", "en"): [{"id": f"draft-{number}", "title": "Draft", "draft_key": "key"} for number in range(20)]}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    place: Path = tmp_path_factory.mktemp("snapshot")
    opened = open_reader(place, write_snapshot(place, WORKSPACE, PUBLISHED, DRAFTS), place / "cache")
    yield opened
    opened.close()


def steps(reader: Reader, entry_id: str, query: str) -> list[tuple[str, str]]:
    """Return the calls while an entry that is not delivered is asked for."""

    def ask() -> None:
        with pytest.raises(NotFound):
            asked(reader, f"{POSTS.endpoint}/{entry_id}?{query}", NOW, secret=b"secret")

    return calls(ask)


def steps_of_views(reader: Reader, entry_id: str) -> list[tuple[str, str]]:
    """Return the calls while the views of an entry are asked for that is not delivered and has none."""

    def ask() -> None:
        query = parse_views_query(f"ids={entry_id}".encode())
        body = views_document(reader, POSTS, query, NOW, NOW, Counts())
        assert body == b'{"days":30,"views":{"%b":{"total":0,"recent":0}}}' % entry_id.encode()

    return calls(ask)


def calls(do: Callable[[], object]) -> list[tuple[str, str]]:
    """Return every function called, of Python and of C, while ``do`` is called, but for those by which threads wake
    each other: whether the one that watches over statements waits at that instant is up to the system."""
    called: list[tuple[str, str]] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_filename == threading.__file__:
            return
        if event == "call":
            called.append((frame.f_code.co_filename, frame.f_code.co_qualname))
        elif event == "c_call":
            called.append(("", getattr(argument, "__qualname__", repr(argument))))

    before = sys.getprofile()
    gc.disable()  # or what it happens to free here would call its finalizers
    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(before)
        gc.enable()
    return called


@pytest.mark.parametrize(
    "query", ["", "lang=ja", "lang=ja&lang_fallback=true", "include=_langs", "draftKey=wrong", "lang=ja&draftKey=wrong"]
)
def test_an_unpublished_entry_takes_the_steps_of_a_missing_one(reader: Reader, query: str) -> None:
    steps(reader, "warmed-up", query)
    missing = {tuple(steps(reader, f"missing-{number}", query)) for number in range(20)}
    assert len(missing) == 1
    assert {tuple(steps(reader, entry_id, query)) for entry_id in UNPUBLISHED} == missing


def test_the_views_of_an_unpublished_entry_take_the_steps_of_a_missing_one(reader: Reader) -> None:
    steps_of_views(reader, "warmed-up")
    missing = {tuple(steps_of_views(reader, f"missing-{number}")) for number in range(20)}
    assert len(missing) == 1
    assert {tuple(steps_of_views(reader, entry_id)) for entry_id in UNPUBLISHED} == missing
