"""An ID that is there but not published takes the same steps as one that is not there, so that no clock tells them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.query.answers.answer import NotFound, answer_entry
from engine.reader.reader import Reader, open_reader
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
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
DRAFTS = {("posts", "en"): [{"id": f"draft-{number}", "title": "Draft", "draft_key": "key"} for number in range(20)]}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    place: Path = tmp_path_factory.mktemp("snapshot")
    opened = open_reader(place, write_snapshot(place, WORKSPACE, PUBLISHED, DRAFTS), place / "cache")
    yield opened
    opened.close()


def steps(reader: Reader, entry_id: str, query: str) -> list[tuple[str, str]]:
    """Return every function called, of Python and of C, while an entry that is not delivered is asked for."""
    called: list[tuple[str, str]] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            called.append((frame.f_code.co_filename, frame.f_code.co_qualname))
        elif event == "c_call":
            called.append(("", getattr(argument, "__qualname__", repr(argument))))

    before = sys.getprofile()
    gc.disable()  # or what it happens to free here would call its finalizers
    sys.setprofile(note)
    try:
        answer_entry(reader, POSTS, entry_id, None, query.encode(), None, NOW, b"secret")
    except NotFound:
        return called
    finally:
        sys.setprofile(before)
        gc.enable()
    raise AssertionError(f"{entry_id} is delivered")


@pytest.mark.parametrize(
    "query", ["", "lang=ja", "lang=ja&lang_fallback=true", "include=_langs", "draftKey=wrong", "lang=ja&draftKey=wrong"]
)
def test_an_unpublished_entry_takes_the_steps_of_a_missing_one(reader: Reader, query: str) -> None:
    numbers = range(20)
    there = [f"{kind}-{number}" for kind in ("later", "ended", "draft") for number in numbers] + ["only-ja"]
    steps(reader, "warmed-up", query)
    missing = {tuple(steps(reader, f"missing-{number}", query)) for number in numbers}
    assert len(missing) == 1
    assert {tuple(steps(reader, entry_id, query)) for entry_id in there} == missing
