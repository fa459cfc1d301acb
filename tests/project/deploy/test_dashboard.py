"""``deploy/grafana.json``: each panel asks for what a server really tells, in questions that Prometheus takes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.server.background.webhooks.test_sender import add
from tests.servers.webhook_receiver import receiver
from tests.sites.served_site import eventually, serving
from tests.sites.viewed_site import post, site_with_domains

DASHBOARD: dict[str, Any] = json.loads((Path(__file__).parents[3] / "deploy/grafana.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
OF_PROMETHEUS = {"up"}
"""What Prometheus knows of a target by itself."""
LABELS_OF_PROMETHEUS = {"instance", "job", "le"}

_NAME = re.compile(r"\b(?:parquetry_[a-z_]+|up)\b(?=[{\[)])")
_MATCHED = re.compile(r"(\b(?:parquetry_[a-z_]+|up)\b)\{([^}]*)\}")


def questions() -> Iterator[tuple[str, str]]:
    """(where, PromQL) of everything that the dashboard asks."""
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names that ``/metrics`` gives of a server that was used, each with its labels."""
    folder = tmp_path_factory.mktemp("dashboard")
    site = site_with_domains(folder)
    _, key = site.key()
    with receiver(folder, tls=False) as hooked:
        add(site, hooked.url())
        settings = {"CMS_METRICS": "127.0.0.1:0", "CMS_WEBHOOK_ALLOW_LOOPBACK": "1"}
        with serving(site.store, folder / "log", key=key, **settings) as server:
            eventually(lambda: server.get("/v1/acme/posts").status == 200)
            site.publish("two")
            hooked.wait_for(1)
            address = re.search(r"metrics at (http://\S+)", server.log())
            assert address

            def scraped() -> dict[str, set[str]]:
                found: dict[str, set[str]] = {}
                for line in httpx2.get(address[1], timeout=60).text.splitlines():
                    if not line.startswith("#"):
                        name, _, labels = line.rpartition(" ")[0].partition("{")
                        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
                return found

            assert post(server, {"path": "/seen"}).status == 204
            eventually(
                lambda: {"parquetry_webhook_tries_total", "parquetry_view_counts_timestamp_seconds"} <= scraped().keys()
            )
            return scraped()


def test_every_name_is_one_that_the_server_tells(told: dict[str, set[str]]) -> None:
    asked = {name for _, expression in questions() for name in _NAME.findall(expression)}
    assert len(asked) > 15
    assert asked - OF_PROMETHEUS <= told.keys()
    variables = " ".join(one["query"]["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query")
    assert set(re.findall(r"parquetry_[a-z_]+", variables)) <= told.keys()


def test_every_label_is_one_that_the_name_has(told: dict[str, set[str]]) -> None:
    for where, expression in questions():
        named = set(_NAME.findall(expression))
        known = LABELS_OF_PROMETHEUS.union(*(told[name] for name in named - OF_PROMETHEUS))
        for name, matchers in _MATCHED.findall(expression):
            used = set(re.findall(r"(\w+)(?:=|!=)~?\"", matchers.replace('=~"', '="')))
            assert {"job", "instance"} <= used, f"{where} asks for all servers there are"
            assert used <= LABELS_OF_PROMETHEUS | told.get(name, set()), where
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            assert {label.strip() for label in grouped.split(",")} <= known, where


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool on this machine")
def test_prometheus_takes_every_question(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$__(rate_interval|range)", "5m", expression)}
        for number, (_, expression) in enumerate(questions())
    ]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_panel_has_a_place_of_its_own_and_says_what_it_shows() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in PANELS:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_it_asks_the_questions_of_the_night() -> None:
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert rows == ["Is it up?", "Is it current?", "Is it full?", "Is it slow?", "Is it us?"]
