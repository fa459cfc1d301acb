"""A night: a server that may not read everything, a Prometheus that watches it by the sample rules, and failures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server.states.rules import METRIC, alert_rules
from server.states.table import MEASURES, TABLE
from tests.programs.copied_process import started_from_nothing
from tests.servers.ports import free_port
from tests.sites.served_site import Running, eventually

ROWS = {row.alert: row.what for row in TABLE}
FOR_SECONDS = 5
"""Seconds for which what happens at an instant is told: ten minutes otherwise."""

# Root without the rights to read and write what is others': a user like any other.
SERVER = f"""
import ctypes, json, os, select, struct, sys
from msgspec.structs import replace
from server import lookout
from server.delivery import delivery
from server.run import run_server
from server.settings import read_settings
from server.states import machine, table
libc = ctypes.CDLL(None, use_errno=True)
for right in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    libc.prctl(24, right, 0, 0, 0)
header = struct.pack("Ii", 0x20080522, 0)
data = ctypes.create_string_buffer(24)
if libc.capget(header, data) == 0:
    words = list(struct.unpack("6I", data.raw))
    words[0], words[1], words[2] = (word & ~0b1110 for word in words[:3])
    libc.capset(header, struct.pack("6I", *words))
lookout.STORE_LOOK_MS, lookout.BUILD_MS = 500, 1_000
settings = json.loads(sys.argv[1])
answer_to = delivery.answer_to
def answer_or_fail(plan, source):
    if os.path.exists(sys.argv[2] + ".slow"):
        select.select([], [], [], 1.2)  # time.sleep fails where the clock is a false one
    return 1 / 0 if os.path.exists(sys.argv[2] + ".broken") else answer_to(plan, source)
delivery.answer_to = answer_or_fail
lookout.memory_is_short = lambda: machine.memory_is_short(machine.Path(sys.argv[2]))
for what, row in table.ROWS.items():
    told_for = None if row.told_for is None else {FOR_SECONDS}
    table.ROWS[what] = replace(row, after=min(row.after, 1), told_for=told_for)
run_server(read_settings(settings), on_listening=lambda address: print(address, flush=True))
"""

DEADLINE = 240.0
"""Seconds after which nothing is waited for any more: a night has many processes, on a machine that may be busy."""


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    eventually(holds, within=DEADLINE)


needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or sys.platform != "linux",
    reason="needs prometheus on this machine (Debian: prometheus)",
)


@dataclass
class Night:
    """A server, and what watches it."""

    server: Running
    prometheus: Running

    def alerts(self) -> dict[str, dict[str, Any]]:
        """What fires now, by name."""
        found = self.prometheus.get("/api/v1/alerts").json["data"]["alerts"]
        return {one["labels"]["alertname"].removeprefix("Parquetry"): one for one in found if one["state"] == "firing"}

    def troubles(self) -> dict[str, dict[str, Any]]:
        """What ``/readyz`` names, by name."""
        return {one["what"]: one for one in self.server.get("/readyz").json["troubles"]}


def nothing() -> None:
    """What is wrong from the start, and what mends by itself."""


@dataclass(frozen=True)
class Failure:
    """One failure: how it is caused and mended, and how it is told."""

    name: str
    alert: str
    log: str
    """A regular expression that the log has to match from then on."""
    cause: Callable[[], object]
    mend: Callable[[], object]

    def play(self, night: Night) -> None:
        """Cause it, see it told in all places, mend it, and see it over."""
        what = ROWS.get(self.alert)
        said = 0 if self.cause is nothing else len(night.server.log())
        told: dict[str, Any] = {}
        self.cause()

        def is_told() -> bool:
            alert = night.alerts().get(self.alert)
            told.update(alert=alert, readyz=what is None or night.troubles().get(what))
            return bool(told["alert"] and told["readyz"])

        wait_until(is_told)
        assert "{{" not in told["alert"]["annotations"]["summary"]
        wait_until(lambda: re.search(self.log, night.server.log()[said:]))
        if what is not None:
            wait_until(lambda: re.search(rf"\b{self.alert}: ", night.server.log()[said:]))
        self.mend()
        wait_until(lambda: self.alert not in night.alerts() and (what is None or what not in night.troubles()))
        if what is not None:
            wait_until(lambda: re.search(rf"\b{self.alert} is over", night.server.log()[said:]))


def hurried() -> str:
    """The sample rules with shorter times, so that no night lasts until the morning."""
    rules = re.sub(rf"({METRIC}.* >) [1-9][0-9]*$", r"\1 1", alert_rules(), flags=re.MULTILINE)
    rules = re.sub(r"\n +for: .*", "", rules)
    return re.sub(r"\[(5|10)m\]", "[10s]", rules)


@contextmanager
def watched(server: Running, metrics_port: int, folder: Path) -> Iterator[Night]:
    """Run Prometheus over a server's metrics."""
    folder.mkdir()
    (folder / "rules.yml").write_text(hurried())
    port = free_port()
    job = {"job_name": "parquetry", "static_configs": [{"targets": [f"127.0.0.1:{metrics_port}"]}]}
    often = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
    configuration = {"global": often, "rule_files": ["rules.yml"], "scrape_configs": [job]}
    (folder / "prometheus.yml").write_text(json.dumps(configuration))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                "--config.file=prometheus.yml",
                f"--web.listen-address=127.0.0.1:{port}",
                "--storage.tsdb.path=data",
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
            text=True,
        )
    try:
        night = Night(server, Running(process, f"127.0.0.1:{port}", folder / "log"))

        def reached() -> bool:
            try:
                up = night.prometheus.get("/api/v1/query?query=up==1").json["data"]["result"]
                return bool(up) and "ServerGone" not in night.alerts()
            except (OSError, ValueError):  # it is starting
                return False

        wait_until(reached)
        yield night
    finally:
        process.kill()
        process.wait()


@contextmanager
def night_over(store: str, folder: Path, *, key: str, **settings: Any) -> Iterator[Night]:
    """Serve a store and watch that. ``settings`` are flags, or variables where in capitals."""
    port = free_port()
    (folder / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 900 kB\n")
    flags = {"store": store, "port": 0, **{name: one for name, one in settings.items() if name.islower()}}
    given = {name: str(one) for name, one in settings.items() if name.isupper()}
    environment = {**os.environ, "CMS_METRICS": f"127.0.0.1:{port}", **given}
    log_file = folder / "server.log"
    with log_file.open("w") as log:
        process = started_from_nothing(["-c", SERVER, json.dumps(flags), str(folder / "meminfo")], environment, log)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, log_file.read_text()
        server = Running(process, address[7:], log_file, {"X-API-KEY": key})
        with watched(server, port, folder / "prometheus") as night:
            yield night
    finally:
        process.kill()
        process.communicate()


ALL_ALERTS = {row.alert for row in TABLE} | {one.alert for one in MEASURES}
