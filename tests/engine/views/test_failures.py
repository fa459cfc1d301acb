"""Page views where something fails: what is dropped is told, and SIGKILL at any instant loses and doubles nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path

import duckdb
import pytest

from engine.views.collecting.spool import VIEWS
from engine.views.collecting.targets import day_of, jst_day
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.writer import ViewWriter
from snapshots.times import now_ms
from tests.server.test_metrics import scraped
from tests.sites.served_site import eventually, serving
from tests.sites.viewed_site import HEADERS, post, site_with_domains, total, wait_for_both_workers
from tests.stores.small_disk import small_disk


@pytest.mark.slow
def test_views_that_cannot_be_kept_are_204_and_told(tmp_path: Path) -> None:
    site = site_with_domains(tmp_path)
    views = site.place.directory / VIEWS
    with serving(site.store, tmp_path / "log", CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        eventually(lambda: "serving snapshot version" in server.log())
        assert post(server, {"path": "/a"}).status == 204
        eventually(lambda: total(server, "paths", "/a") == 1)
        # a file where the directory is to be: what no user, root included, can write into
        (views / "spool").rename(views / "spool-aside")
        for path in (views / "spool-aside").glob("*/open-*"):
            path.unlink()
        (views / "spool").write_bytes(b"")
        [kept] = (views / "spool-aside").iterdir()
        kept.rename(views / "elsewhere")
        assert post(server, {"path": "/b"}).status == 204
        eventually(lambda: server.get("/readyz").json["pageViews"]["dropped"] == 1)
        assert server.get("/readyz").json["pageViews"]["lastDropped"] is not None
        eventually(lambda: "page views are being dropped, 1 since the start" in server.log())
        (views / "spool").unlink()
        (views / "spool").mkdir()
        (views / "elsewhere").rename(views / "spool" / kept.name)
        assert post(server, {"path": "/b"}).status == 204  # the view that was dropped did not make this a duplicate
        eventually(lambda: total(server, "paths", "/b") == 1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of twelve megabytes."""
    with small_disk(tmp_path / "disk", 12 << 20) as mounted:
        yield mounted


@pytest.mark.slow
def test_a_full_disk_drops_views_says_so_and_counts_all_others(disk: Path, tmp_path: Path) -> None:
    site = site_with_domains(disk)
    settings = {"CMS_TRUSTED_PROXIES": "127.0.0.1", "CMS_CACHE": tmp_path / "cache", "CMS_METRICS": "127.0.0.1:0"}
    with serving(site.store, tmp_path / "log", workers=2, **settings) as server:
        wait_for_both_workers(server)

        def send(number: int) -> None:
            answers = [post(server, {"path": f"/{n}"}, visitor=f"10.0.{number}.{n}").status for n in range(150)]
            assert set(answers) == {204}

        def counted() -> int:
            asked = ["&".join(f"path=/{n + more}" for n in range(50)) for more in (0, 50, 100)]
            return sum(sum(server.get(f"/pv/acme/counts?{query}").json["paths"].values()) for query in asked)

        def dropped() -> int:
            return int(server.get("/readyz").json["pageViews"]["dropped"])

        send(1)
        filler, size = os.open(disk / "filler", os.O_CREAT | os.O_WRONLY), 1 << 16
        while size:
            try:
                os.write(filler, bytes(size))
            except OSError:
                size //= 2
        os.close(filler)
        send(2)
        send(3)
        assert dropped() > 0
        eventually(lambda: "page views are being dropped" in server.log())
        (disk / "filler").unlink()
        numbers = count(4)

        def counts_again() -> bool:
            send(next(numbers))  # for a second after the last failure, writing is not even tried
            return counted() > 150

        eventually(counts_again)
        sent = next(numbers) - 1
        eventually(lambda: counted() + dropped() == 150 * sent)
        assert dropped() > 1
        eventually(lambda: scraped(server)["parquetry_views_dropped_total"] == dropped())


class Visitors(threading.Thread):
    """Many visitors on one connection at a time, each view with a path or an entry ID of its own."""

    def __init__(self, host: str, number: int) -> None:
        super().__init__()
        self.host = host
        self.number = number
        self.stopping = threading.Event()
        self.sent: list[tuple[str, bool]] = []
        """Each path with whether it was acknowledged."""

    def run(self) -> None:
        chance = random.Random(self.number)
        connection: HTTPConnection | None = None
        while not self.stopping.is_set():
            path = f"/v/{self.number}/{len(self.sent)}"
            address = f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"
            body, key = {"path": path}, path
            if chance.random() < 0.5:
                key = body["entryId"] = path[3:].replace("/", "-")
            try:
                connection = connection or HTTPConnection(self.host, timeout=5)
                connection.request("POST", "/pv/acme", json.dumps(body), {**HEADERS, "X-Forwarded-For": address})
                response = connection.getresponse()
                response.read()
                self.sent.append((key, response.status == 204))
            except (OSError, HTTPException):
                self.sent.append((key, False))
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.02)
        if connection is not None:
            connection.close()


def wait_for_views(senders: list[Visitors], more_than: int) -> None:
    """Wait until so many views of the senders have been acknowledged."""
    eventually(lambda: sum(known for sender in senders for _, known in sender.sent) > more_than)


@pytest.mark.parametrize("kills", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_sigkill_at_any_instant_loses_and_doubles_nothing(tmp_path: Path, kills: int) -> None:
    """Each view has a key of its own: an acknowledged one counts exactly once, one whose answer never came at most."""
    site = site_with_domains(tmp_path)
    views = site.place.directory / VIEWS
    chance = random.Random(time.time_ns())
    sent: list[tuple[str, bool]] = []
    analyst = None
    for number in range(kills):
        with serving(
            site.store, tmp_path / "log", workers=2, CMS_TRUSTED_PROXIES="127.0.0.1", new_group=True
        ) as server:
            wait_for_both_workers(server)
            senders = [Visitors(server.host, 2 * number + n) for n in range(2)]
            for sender in senders:
                sender.start()
            if number % 3 == 1 and (views / FILE).exists():
                analyst = subprocess.Popen([sys.executable, "-c", ANALYST, str(views / FILE)])
            wait_for_views(senders, 20)
            time.sleep(chance.uniform(0, 1.5))
            os.killpg(server.process.pid, signal.SIGKILL)
            for sender in senders:
                sender.stopping.set()
                sender.join()
                sent += sender.sent
            if analyst is not None:
                analyst.kill()
                analyst.wait()
                analyst = None
    eventually(lambda: ViewWriter(views).round(now_ms(), time.monotonic(), wait=5, flush=True) is not None)
    acknowledged = {key for key, known in sent if known}
    unknown = {key for key, known in sent if not known}
    assert len(acknowledged) > 20 * kills
    with duckdb.connect(views / FILE, read_only=True) as connection:
        raw = Counter(dict(connection.execute("SELECT key, count(*) FROM page_views GROUP BY key").fetchall()))
        daily = dict(connection.execute("SELECT key, sum(views) FROM daily_counts GROUP BY key").fetchall())
        assert raw == daily
        days = connection.execute("SELECT DISTINCT day FROM daily_counts").fetchall()
        today = day_of(jst_day(now_ms()))
        assert {day for (day,) in days} <= {today, today - timedelta(days=1)}
    assert acknowledged <= set(raw) <= acknowledged | unknown
    assert set(raw.values()) == {1}
    counted = duckdb.sql(
        f"SELECT key, sum(views) FROM read_parquet('{views}/counts/*.parquet') GROUP BY key"
    ).fetchall()
    assert dict(counted) == raw
    assert not list((views / "spool").iterdir())
    print(f"{kills} kills survived, {len(acknowledged)} views acknowledged, {len(unknown)} without an answer")


ANALYST = """
import duckdb, sys, time
while True:
    try:
        connection = duckdb.connect(sys.argv[1], read_only=True)
        break
    except duckdb.IOException:
        time.sleep(0.01)
while True:
    rows = connection.execute("SELECT count(*) FROM page_views").fetchone()[0]
    assert rows == connection.execute("SELECT sum(views) FROM daily_counts").fetchone()[0]
    time.sleep(0.05)
"""
