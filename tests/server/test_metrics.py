"""Metrics over real processes: what Prometheus would read while a server with two workers is used."""

from __future__ import annotations

import os
import platform
import re
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from server.metrics import DIRECTORY
from server.metrics_address import _Living, metrics_served
from server.route_names import route_of
from server.settings import InvalidSetting, read_settings
from server.states.clock_watch import steady_ms
from server.states.states import States
from server.states.table import TABLE
from snapshots.version import VERSION, commit
from tests.programs.copied_process import ROOT
from tests.project.test_docs import tables
from tests.server.background.keepers import keeper_of
from tests.sites.served_site import Running, Site, eventually, serving


@pytest.mark.parametrize(
    ("target", "route"),
    [
        ("/v1/site/blog?q=a/b/c", "/v1/{workspace}/{endpoint}"),
        ("/v1/site/_schema", "/v1/{workspace}/_schema"),
        ("/v1/site/_views/blog", "/v1/{workspace}/_views/{endpoint}"),
        ("/v1/site/_openapi", "/v1/{workspace}/_openapi"),
        ("/v1/site/_types/python?client=false", "/v1/{workspace}/_types/{language}"),
        ("/v1/site/blog/hello", "/v1/{workspace}/{endpoint}/{entryId}"),
        ("/v1/site/blog/hello/more", "other"),
        ("/pv/site/counts", "/pv/{workspace}/counts"),
        ("/readyz", "/readyz"),
        ("/wp-login.php", "other"),
    ],
)
def test_a_path_belongs_to_one_of_few_routes(target: str, route: str) -> None:
    assert route_of(target) == route


@pytest.mark.parametrize("address", ["9464", "127.0.0.1", "127.0.0.1:99999", ":9464", "127.0.0.1:x"])
def test_an_address_that_cannot_be_one_is_refused(address: str) -> None:
    with pytest.raises(InvalidSetting, match="CMS_METRICS"):
        read_settings({"store": "s"}, {"CMS_METRICS": address})


def scraped(server: Running) -> dict[str, float]:
    """Every sample by its name and labels."""
    found = re.search(r"metrics at (http://\S+)", server.log())
    assert found
    lines = httpx2.get(found[1], timeout=60).text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def processes(server: Running) -> set[int]:
    """The process IDs of those that tell of their memory."""
    told = (re.fullmatch(r'parquetry_resident_bytes{pid="([0-9]+)"}', name) for name in scraped(server))
    return {int(found[1]) for found in told if found is not None}


@pytest.mark.slow
def test_what_is_read_over_two_workers(tmp_path: Path) -> None:
    site = Site(tmp_path)
    version = site.publish("one")
    _, key = site.key(rate_limit=30)
    with serving(site.store, tmp_path / "log", key=key, workers=2, CMS_METRICS="127.0.0.1:0") as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        # The gauges are set once a second.
        eventually(lambda: 'parquetry_snapshot_built_timestamp_seconds{workspace="acme"}' in scraped(server))
        for _ in range(30):
            assert server.get("/v1/acme/posts").status == 200
        assert server.get("/v1/acme/posts").status == 429
        assert server.get("/v1/acme/posts", headers={"X-API-KEY": "pq_none"}).status == 401
        assert server.get("/nowhere").status == 404
        lists = 'parquetry_requests_total{route="/v1/{workspace}/{endpoint}",status='
        found = scraped(server)
        assert found[f'{lists}"200"}}'] == 30
        assert found[f'{lists}"429"}}'] == found[f'{lists}"401"}}'] == 1
        assert found['parquetry_requests_total{route="other",status="404"}'] == 1
        assert found['parquetry_request_seconds_count{route="/v1/{workspace}/{endpoint}"}'] == 32
        sources = [found.get(f'parquetry_answers_total{{source="{one}"}}', 0) for one in ("kept", "shared", "made")]
        assert sum(sources) == 30
        assert 1 <= sources[2] <= 2, "each worker makes it once"
        assert found["parquetry_query_seconds_count"] == sources[2]
        assert found[f'parquetry_current_version{{version="{version}",workspace="acme"}}'] == 1
        assert found['parquetry_snapshot_refused{workspace="acme"}'] == 0
        assert found['parquetry_view_spool_bytes{workspace="acme"}'] == 0
        assert found["parquetry_store_readable"] == 1
        assert found["parquetry_views_dropped_total"] == 0
        python = platform.python_version()
        assert found[f'parquetry_build_info{{commit="{commit()}",python="{python}",version="{VERSION}"}}'] == 1
        manifest = site.place.manifest(version)
        assert found['parquetry_snapshot_built_timestamp_seconds{workspace="acme"}'] == manifest.created_at / 1000

        # What cannot be served is told, and a worker that is gone leaves no gauge behind but its counts.
        keeper = keeper_of(server)
        eventually(lambda: len(processes(server)) == 3 and scraped(server)["parquetry_keeper_running"] == 1)
        newer = site.publish("two", activate=False)
        data = site.place.snapshots / newer / "en/posts/all.parquet"
        damaged = bytes(len(data.read_bytes()))
        data.unlink()  # it may be the same file in both versions
        data.write_bytes(damaged)
        site.activate(newer)
        eventually(lambda: scraped(server)['parquetry_snapshot_refused{workspace="acme"}'] == 1)
        pid = (processes(server) - {keeper}).pop()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(f'pid="{pid}"' in name for name in scraped(server)))
        assert scraped(server)[f'{lists}"200"}}'] == 30
        assert server.stop() == 0
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob(f"parquetry-metrics-*/*_{pid}.db"))


def test_two_who_ask_at_once_do_not_trip_over_a_process_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    file = tmp_path / f"gauge_livemax_{ended.pid}.db"
    file.touch()

    def removed_by_the_other(path: str) -> None:
        Path(path).unlink()
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "remove", removed_by_the_other)
    assert list(_Living(str(tmp_path), lambda: iter(()), mark_process_dead).collect()) == []
    assert not file.exists()


def test_without_an_address_nothing_is_counted(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    with serving(site.store, tmp_path / "log") as server:
        assert server.get("/metrics").status == 404
        assert "metrics at" not in server.log()


def test_the_operators_page_lists_every_metric(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    with serving(site.store, tmp_path / "log", CMS_METRICS="127.0.0.1:0") as server:
        assert server.get("/v1/acme/posts").status == 401
        assert server.get("/readyz").json["program"] == {"version": VERSION, "commit": commit()}
        found = {
            re.sub(r"\{.*|_(bucket|sum|count|created)$", "", re.sub(r"\{.*", "", name)) for name in scraped(server)
        }
        now = scraped(server)
    told = {name for name, *_ in tables("operators.md", "metric", "labels", "meaning")}
    assert found <= told
    # What an alert needs is there while all is well, too.
    for row in TABLE:
        of = "acme" if row.of == "workspace" else ""
        assert now[f'parquetry_trouble_seconds{{what="{row.what}",workspace="{of}"}}'] >= 0
    source = "".join(
        (ROOT / "server" / name).read_text() for name in ("metrics.py", "metrics_address.py", "states/rules.py")
    )
    for name in told:
        assert name.removeprefix("parquetry_").removesuffix("_total") in source, name


def test_a_process_that_has_just_begun_to_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY, "not yet")
    store = Site(tmp_path).store
    with metrics_served("127.0.0.1:0", store, States("server", steady_ms)) as metrics:
        metrics.begin()
        begun = Path(os.environ[DIRECTORY]) / f"counter_{os.getpid()}.db"
        begun.touch()  # as it is for a moment, before it is filled
        filling = threading.Timer(0.2, lambda: begun.write_bytes(struct.pack("i", 8) + bytes(100)))
        filling.start()
        answer = httpx2.get(f"http://{metrics.address}/metrics", timeout=60)
        filling.join()
    assert answer.status_code == 200
    assert "parquetry_store_readable 1" in answer.text
