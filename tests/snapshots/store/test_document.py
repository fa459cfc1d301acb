"""A document of a directory and of a bucket: changed exactly once, read by value, damaged, too new, announced."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.document import KEPT_WRITES, DamagedDocument, Document, JsonCodec
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY, Expected, Objects, StoreUnreachable
from tests.stores.object_stores import ObjectStore, object_store
from tests.stores.store_proxy import store_proxy

ROOT = Path(__file__).parents[3]
KEY = "acme/notes.json"
WRITERS, EACH = 3, 12

Notes = tuple[str, ...]


class Stored(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    notes: Notes
    writes: tuple[str, ...] = ()


def loaded(stored: Stored) -> Notes:
    if len(set(stored.notes)) < len(stored.notes):
        raise ValueError("a note stands there twice.")
    return stored.notes


CODEC = JsonCodec(
    Stored, loaded, lambda notes: Stored(0, notes), repair="Remove it.", newest=2, without_writes=1, for_people=True
)
ALWAYS = JsonCodec(Stored, loaded, lambda notes: Stored(0, notes), newest=2)
NEWEST_LAST = JsonCodec(Stored, loaded, lambda notes: Stored(0, notes), newest=2, newest_last=True)


def document(objects: Objects, codec: JsonCodec[Notes] = CODEC) -> Document[Notes]:
    return Document(objects, KEY, codec, ())


def add(to: Document[Notes], note: str) -> int:
    """Add a note and return the number of those before it."""
    return to.edit(lambda notes, _: ((*notes, note), len(notes)))


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    with object_store("any") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture(params=["directory", "bucket"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "directory" else request.getfixturevalue("bucket").place()


@pytest.fixture
def objects(location: str) -> Objects:
    return open_objects(location)


def stored(objects: Objects) -> bytes:
    found = objects.read(KEY)
    assert found is not None
    return found.data


def test_a_document_is_what_its_changes_made_of_it(objects: Objects) -> None:
    notes, other = document(objects), document(objects)
    assert notes.read() == other.read() == ()
    assert [add(notes, "one"), add(other, "two"), add(notes, "three")] == [0, 1, 2]
    assert notes.read() == other.read() == ("one", "two", "three")
    objects.delete([KEY])
    assert notes.read() == ()
    assert add(notes, "four") == 0


def test_a_change_that_changes_nothing_writes_nothing(objects: Objects) -> None:
    told: list[str] = []
    notes: Document[Notes] = Document(objects, KEY, ALWAYS, (), announce=lambda: told.append("now"))
    assert notes.edit(lambda found, _: (found, "nothing")) == "nothing"
    assert objects.read(KEY) is None
    add(notes, "one")
    before, heard = stored(objects), len(told)
    assert notes.edit(lambda found, _: (tuple(sorted(found)), "the same")) == "the same"
    with pytest.raises(ZeroDivisionError):
        notes.edit(lambda found, _: (found[: 1 // 0], None))
    assert (stored(objects), len(told)) == (before, heard)


def test_a_document_that_has_not_changed_is_not_understood_again(objects: Objects) -> None:
    notes = document(objects)
    add(notes, "one")
    assert notes.read() is notes.read()
    add(document(objects), "two")
    assert notes.read() == ("one", "two")


@pytest.mark.undisturbed
def test_readers_are_told_before_and_after_a_change(objects: Objects) -> None:
    seen: list[Notes] = []
    told: Document[Notes] = Document(objects, KEY, ALWAYS, (), announce=lambda: seen.append(document(objects).read()))
    add(told, "one")
    assert seen == [(), ("one",)]


WORKER = """
import sys
from snapshots.store.locations import open_objects
from tests.snapshots.store.test_document import EACH, add, document
notes = document(open_objects(sys.argv[1]))
for number in range(EACH):
    note = f"{sys.argv[2]}-{number}"
    print(note, add(notes, note), flush=True)
"""


def added_at_once(location: str) -> dict[str, int]:
    """Have several processes add notes; return what each was told of its notes."""
    command = [sys.executable, "-c", WORKER, location]
    workers = [
        subprocess.Popen([*command, str(number)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for number in range(WRITERS)
    ]
    lines = [line.split() for worker in workers for line in worker.communicate(timeout=120)[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0] * WRITERS
    return {note: int(before) for note, before in lines}


def check_all_there_once(objects: Objects, told: dict[str, int]) -> None:
    notes = document(objects).read()
    assert sorted(notes) == sorted(f"{worker}-{number}" for worker in range(WRITERS) for number in range(EACH))
    assert {note: notes.index(note) for note in notes} == told, "each is told of the try that was stored"


def test_processes_that_change_it_at_once_all_do_so_once(location: str, objects: Objects) -> None:
    check_all_there_once(objects, added_at_once(location))


@pytest.mark.slow
def test_no_change_is_lost_or_made_twice_where_answers_are_lost(bucket: ObjectStore) -> None:
    place = bucket.place()
    with store_proxy(bucket.port, drop=0.3) as proxy:
        told = added_at_once(place.replace(f":{bucket.port}/", f":{proxy.port}/"))
    assert proxy.dropped
    check_all_there_once(open_objects(place), told)


@pytest.mark.undisturbed
@pytest.mark.parametrize("codec", [ALWAYS, NEWEST_LAST], ids=["newest first", "newest last"])
@pytest.mark.parametrize("others", [0, 1, KEPT_WRITES - 1])
def test_a_change_is_recognised_below_those_of_others(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, codec: JsonCodec[Notes], others: int
) -> None:
    replace, lost = objects.replace, []

    def unanswered(key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        tag = replace(key, data, expected, private=private)
        if not lost:
            lost.append(tag)
            for number in range(others):
                add(document(objects, codec), f"other {number}")
            raise StoreUnreachable("no answer")
        return tag

    for number in range(KEPT_WRITES):
        add(document(objects, codec), f"before {number}")
    monkeypatch.setattr(objects, "replace", unanswered)
    assert add(document(objects, codec), "mine") == KEPT_WRITES
    assert document(objects).read()[KEPT_WRITES:] == ("mine", *(f"other {number}" for number in range(others)))
    assert len(json.loads(stored(objects))["writes"]) == KEPT_WRITES


@pytest.mark.parametrize("codec", [ALWAYS, NEWEST_LAST], ids=["newest first", "newest last"])
def test_write_ids_are_kept_in_one_order(objects: Objects, codec: JsonCodec[Notes]) -> None:
    """Programs that put them in different orders would drop each other's newest ones."""
    notes, ids = document(objects, codec), []
    for number in range(KEPT_WRITES + 2):
        ids.append(notes.edit(lambda found, write, number=number: ((*found, f"{number}"), write)))
    kept = ids[-KEPT_WRITES:]
    assert json.loads(stored(objects))["writes"] == (kept if codec is NEWEST_LAST else kept[::-1])


def test_the_format_without_write_ids_is_for_stores_that_lose_no_answers(objects: Objects) -> None:
    add(document(objects), "one")
    found = json.loads(stored(objects))
    writes = found.pop("writes", [])
    assert (found, len(writes)) == ({"format": 1 + objects.loses_answers, "notes": ["one"]}, objects.loses_answers)
    add(document(objects, ALWAYS), "two")
    found = json.loads(stored(objects))
    assert (found["format"], len(found["writes"])) == (2, 1 + objects.loses_answers)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"{}", "missing required field"),
        (b"null", "Expected `object`"),
        (b"\xff\xfe", "."),
        (b'{"format": 1, "notes": ["one"', "truncated"),
        (b'{"notes": [], "more": ' + b'{"a":' * 100_000, "recursion"),
        (b'{"format": 1, "notes": ["one"], "more": 1}', "unknown field"),
        (b'{"format": "1", "notes": ["one"]}', "Expected `int`"),
        (b'{"format": 1, "notes": ["one", "one"]}', r"a note stands there twice\. Remove it\.$"),
        (b'{"format": 3, "notes": {}, "more": 1}', r"format 3 is newer than this program reads \(2\)\. Upgrade"),
    ],
)
def test_a_document_that_is_not_understood_is_refused_by_name_and_left(
    objects: Objects, data: bytes, reason: str
) -> None:
    notes = document(objects)
    add(notes, "good")
    objects.replace(KEY, data, ANY)
    for attempt in (notes.read, notes.read, lambda: add(notes, "more")):
        with pytest.raises(DamagedDocument, match=reason) as refusal:
            attempt()
        assert str(refusal.value).startswith(f"{objects.location}/{KEY}")
    assert stored(objects) == data
    objects.replace(KEY, CODEC.encode(("mended",)), ANY)
    assert notes.read() == ("mended",)


@pytest.mark.parametrize("data", [b"{", b'{"format": 1, "notes": ["one", "one"]}'])
def test_a_change_may_mend_a_damaged_document(objects: Objects, data: bytes) -> None:
    objects.replace(KEY, data, ANY)
    notes = document(objects)
    assert notes.edit(lambda found, _: ((*found, "new"), found), mends=True) == ()
    assert notes.read() == ("new",)
    objects.replace(KEY, data, ANY)
    expendable: Document[Notes] = Document(objects, KEY, CODEC, (), expendable=True)
    assert expendable.read() == ()
    assert add(expendable, "again") == 0
    assert notes.read() == ("again",)


def test_a_private_document_is_its_owner_s_alone(tmp_path: Path) -> None:
    private: Document[Notes] = Document(DirectoryObjects(tmp_path), KEY, CODEC, (), private=True)
    add(private, "one")
    add(private, "two")
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600
