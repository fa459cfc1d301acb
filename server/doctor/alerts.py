"""Whether a Prometheus reads the metrics, and has the rules of this release."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from server.doctor.finding import Case, Finding
from server.states.rules import alert_rules

SUBJECT: Final = "alerts"
USUAL: Final = "http://127.0.0.1:9090"
"""Where a Prometheus on this machine listens."""
_SECONDS: Final = 5.0
_WHY: Final = "Nobody is told when something is wrong."


def look(case: Case) -> Iterator[Finding]:
    """Ask Prometheus which rules it has, and whether it reads this server's metrics."""
    import httpx2  # noqa: PLC0415 - 0.05 s, for one look

    if case.settings.metrics is None:
        yield Finding(
            SUBJECT, False, "The server has no metrics.", _WHY, "export CMS_METRICS=127.0.0.1:9464    # and restart it"
        )
        return
    address = (case.prometheus or USUAL).rstrip("/")
    try:
        with httpx2.Client(base_url=address, timeout=_SECONDS) as client:
            groups = client.get("/api/v1/rules").raise_for_status().json()["data"]["groups"]
            targets = client.get("/api/v1/targets").raise_for_status().json()["data"]["activeTargets"]
            loaded = {str(rule["name"]) for group in groups for rule in group["rules"]}
            read = [one for one in targets if _is_ours(one, case.settings.metrics)]
            health = [str(one.get("health")) for one in read]
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError, AttributeError) as error:
        yield Finding(
            SUBJECT,
            case.prometheus is not None,
            f"Prometheus cannot be asked at {address}: {error or type(error).__name__}.",
            "Whether the alerts are loaded is not known.",
            "cms doctor --prometheus URL",
        )
        return
    missing = sorted(set(re.findall(r"^ +- alert: (\w+)$", alert_rules(), re.MULTILINE)) - loaded)
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield Finding(
            SUBJECT,
            True,
            f"Prometheus does not have the alert {missing[0]}{others}.",
            _WHY,
            f"{sys.executable} -m server.states.rules > /etc/prometheus/parquetry-alerts.yml && "
            "systemctl reload prometheus",
        )
    if "up" not in health:
        yield Finding(
            SUBJECT,
            True,
            f"Prometheus does not read the metrics at {case.settings.metrics}."
            if not read
            else f"Prometheus cannot read the metrics at {case.settings.metrics}: {read[0].get('lastError', '')}.",
            _WHY,
            f"curl -s http://{case.settings.metrics}/metrics | head -1    # then scrape_configs in prometheus.yml",
        )


def _is_ours(target: Any, metrics: str) -> bool:
    """Whether a target is the server's: by its port, as Prometheus may know the machine by another name."""
    return str(target["scrapeUrl"]).partition("/metrics")[0].endswith(f":{metrics.rpartition(':')[2]}")
