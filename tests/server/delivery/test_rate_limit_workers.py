"""The rate limit of a server with several workers: exactly so many get through, in every window, killed or not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.servers.limited_requests import POSTS, flood, limited_key
from tests.sites.served_site import Site, eventually, serving
from tests.sites.server_workers import workers_of

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


def test_exactly_three_hundred_over_two_workers(site: Site, tmp_path: Path) -> None:
    """Thousands of requests at once, and a worker killed among them."""
    headers = limited_key(site, None)
    with serving(site.store, tmp_path / "log", workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        began = time.monotonic()
        first = flood([server], headers, 1600)
        assert first == {200: 300, 429: 1300}
        worker = min(workers_of(server))
        os.kill(worker, signal.SIGKILL)
        # A worker that dies while its supervisor waits for a sign of life is missed for half a minute.
        eventually(lambda: len(workers_of(server)) == 2 and worker not in workers_of(server))
        eventually(lambda: server.log().count("serving snapshot version") == 3)
        if time.monotonic() - began < 60:
            assert flood([server], headers, 320) == {429: 320}
    with serving(site.store, tmp_path / "log2") as server:
        if time.monotonic() - began < 60:
            assert server.get(POSTS, headers=headers).status == 429, "a restart forgets nothing"


WINDOWED = """
import json, sys
from engine.access.keys import rate_limit
rate_limit.WINDOW_MS = 1000
if __name__ == "__main__":
    from server.run import run_server
    from server.settings import read_settings
    run_server(read_settings(json.loads(sys.argv[1])), on_listening=lambda address: print(address, flush=True))
"""


def test_the_window_slides_over_two_workers(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows of a second: the limit in each, to a client that never stops asking."""
    script = tmp_path / "windowed.py"
    script.write_text(WINDOWED)
    monkeypatch.setattr("tests.sites.served_site.SCRIPT", [str(script)])
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    headers = limited_key(site, 50)
    granted: list[tuple[float, float]] = []
    with serving(site.store, tmp_path / "log", workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        stop = time.monotonic() + 2.25

        def ask() -> None:
            while (before := time.monotonic()) < stop:
                answer = server.get(POSTS, headers=headers)
                assert answer.headers["ratelimit-policy"] == '"key";q=50;w=1'
                if answer.status == 200:
                    granted.append((before, time.monotonic()))
                else:
                    assert answer.headers["retry-after"] == "1"

        threads = [Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    granted.sort()
    # The server counts in whole milliseconds of another clock, which may be slewed meanwhile.
    for start, _ in granted:
        assert sum(start <= before and after < start + 0.99 for before, after in granted) <= 50
    assert 2 * 50 < len(granted) <= 4 * 50
