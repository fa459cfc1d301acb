"""The rules of ``deploy/alerts.yml`` by Prometheus's own test: quiet while all is well, in time, over afterwards."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.states.rules import METRIC, alert_rules
from server.states.table import MEASURES, TABLE, Row

SERVER = {"job": "parquetry", "instance": "one:9464"}
LE = "parquetry_request_seconds_bucket"
DAY = 86_400

# For each measure, series as minutes go by: well, then wrong, then well again; with the minutes at which that shows.
WELL, WRONG, OVER = 20, 60, 200
COUNTED: dict[str, dict[str, str]] = {
    "ServerGone": {'up{job="parquetry",instance="one:9464"}': "1x40 0x40 1x200"},
    "Errors": {'parquetry_requests_total{status="500"}': "0x40 0+6x40 240x200"},
    "Overload": {
        'parquetry_requests_total{status="503"}': "0x40 0+2x40 80x200",
        'parquetry_requests_total{status="200"}': "0+98x280",
    },
    "Slow": {
        f'{LE}{{route="/",le="1"}}': "0+100x40 4000+98x40 8000+100x200",
        f'{LE}{{route="/",le="10"}}': "0+100x40 4000+100x40 8000+100x200",
        f'{LE}{{route="/",le="+Inf"}}': "0+100x40 4000+100x40 8000+100x200",
    },
    "ClientsOverTheirLimit": {'parquetry_requests_total{status="429"}': "0+5x40 200+12x40 680x200"},
    "ViewsDropped": {"parquetry_views_dropped_total": "0x40 0+1x40 40x200"},
    "OldContent": {'parquetry_current_activated_timestamp_seconds{workspace="acme"}': f"0x40 {-8 * DAY}x60 0x180"},
}


def labelled(series: str) -> str:
    name, _, labels = series.partition("{")
    own = ",".join(f'{key}="{value}"' for key, value in SERVER.items())
    return series if 'job="' in series else f"{name}{{{own}{',' + labels if labels else '}'}"


def case(alert: str, series: dict[str, str], minutes: list[tuple[int, bool]], labels: dict[str, str]) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": labelled(name), "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minute}m",
                "alertname": f"Parquetry{alert}",
                "exp_alerts": [{"exp_labels": labels}] if fires else [],
            }
            for minute, fires in minutes
        ],
    }


def of_row(row: Row) -> dict[str, Any]:
    workspace = "acme" if row.of == "workspace" else ""
    labels = {"what": row.what, **({"workspace": workspace} if workspace else {})}
    named = ",".join(f'{key}="{value}"' for key, value in labels.items())
    values = f"0x10 {row.after}x10 {row.after + 1}x10 0x10" if row.after else "0x21 0.001x10 0x10"
    told = {**SERVER, **labels, "severity": row.severity}
    return case(row.alert, {f"{METRIC}{{{named}}}": values}, [(5, False), (15, False), (27, True), (38, False)], told)


def of_measure(alert: str, severity: str) -> dict[str, Any]:
    labels: dict[str, str] = {"severity": severity, "instance": SERVER["instance"]}
    if alert in {"ServerGone", "ViewsDropped", "OldContent"}:
        labels |= SERVER
    if alert == "OldContent":
        labels["workspace"] = "acme"
    wrong = 101 if alert == "OldContent" else WRONG
    return case(alert, COUNTED[alert], [(WELL, False), (wrong, True), (OVER, False)], labels)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool on this machine (Debian: prometheus)")
def test_every_rule_fires_in_time_and_ends(tmp_path: Path) -> None:
    # Annotations are compared as well where they are there: what they say is held by the night.
    rules = re.sub(r"        annotations:\n          summary: .*\n", "", alert_rules())
    (tmp_path / "rules.yml").write_text(rules)
    assert COUNTED.keys() == {one.alert for one in MEASURES}
    cases = [*map(of_row, TABLE), *(of_measure(one.alert, one.severity) for one in MEASURES)]
    gone = case("ServerGone", {}, [(0, False), (3, True)], {"job": "parquetry", "severity": "critical"})
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [*cases, gone]}
    (tmp_path / "tests.yml").write_text(json.dumps(tests))
    done = subprocess.run(
        ["promtool", "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
