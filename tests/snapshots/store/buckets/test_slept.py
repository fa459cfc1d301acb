"""A machine that slept in the middle of a request does not go on with what it was about to store."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

import obstore
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from snapshots import times
from snapshots.store.buckets import bucket_objects
from snapshots.store.locations import open_objects
from snapshots.store.objects import StoreUnreachable

DAY_MS = 86_400_000


@pytest.mark.parametrize(("slept", "tries"), [(0, 2), (DAY_MS, 1)])
def test_what_was_not_created_before_a_sleep_is_not_created_after_it(
    slept: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, begun, memory = obstore.put, times.now_ms(), MemoryStore()
    tried: list[str] = []
    instants = [begun]

    def lost_at_first(client: Any, key: str, *content: Any, **options: Any) -> Any:
        tried.append(key)
        if len(tried) == 1:
            instants.append(begun + slept)
            raise GenericError("no answer in time")
        return put(client, key, *content, **options)

    monkeypatch.setattr("obstore.store.S3Store", lambda _name, **_: memory)
    objects = open_objects("s3://bucket/place", {})
    objects.replace("document", b"{}", bucket_objects.ABSENT)  # so that it is known which conditions are kept
    monkeypatch.setattr(times, "now_ms", lambda: instants[-1])
    monkeypatch.setattr(obstore, "put", lost_at_first)
    if slept:
        with pytest.raises(StoreUnreachable):
            objects.create("manifest", b"{}")
    else:
        objects.create("manifest", b"{}")
    assert len(tried) == tries
    assert (objects.read("manifest") is None) == bool(slept)
