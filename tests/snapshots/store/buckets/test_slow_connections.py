"""Documents over a slow connection: a large one, as a day's counts can be, takes as long as it takes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.store.locations import open_objects
from snapshots.store.objects import ABSENT
from tests.servers.tcp_proxy import TcpProxy, tcp_proxy
from tests.stores.object_stores import ObjectStore, object_store

A_SECOND = 2 << 20
SECONDS = 2.6
"""More than a store may say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store("any") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def proxy(server: ObjectStore) -> Iterator[TcpProxy]:
    with tcp_proxy(server.port) as between:
        yield between


@pytest.mark.slow
def test_a_large_document_takes_its_time(server: ObjectStore, proxy: TcpProxy) -> None:
    place = server.place()
    slow = open_objects(place.replace(f":{server.port}/", f":{proxy.port}/"))
    data = os.urandom(int(SECONDS * A_SECOND))
    slow.replace("acme/warm", b"up", ABSENT)
    proxy.bytes_a_second = A_SECOND
    requests = proxy.requests.total()
    began = time.monotonic()
    slow.replace("acme/today", data, ABSENT)
    assert time.monotonic() - began > SECONDS / 2, "the connection is not slow"
    found = slow.read("acme/today")
    assert found is not None
    assert found.data == data
    assert proxy.requests.total() == requests + 2, "nothing was asked twice"
