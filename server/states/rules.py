"""Rules for Prometheus and the operators' table, printed from the table of what is followed.

``python -m server.states.rules`` prints ``deploy/alerts.yml``, and with ``--table`` the rows of ``docs/operators.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from server.states.table import MEASURES, TABLE, Measure, Row

METRIC: Final = "parquetry_trouble_seconds"
"""The metric that all rows share: for how long something has been wrong, 0 while it is well."""

_HEAD: Final = """\
# Alerts for Prometheus on the metrics of CMS_METRICS; docs/operators.md says for each what to do.
# Printed by `python -m server.states.rules`, from the table that /readyz and the metrics follow, too.
#
#   rule_files: [/etc/prometheus/parquetry-alerts.yml]
#   scrape_configs: [{job_name: parquetry, static_configs: [{targets: ["127.0.0.1:9464"]}]}]

groups:
  - name: parquetry
    rules:
"""


def alert_rules() -> str:
    """Return the rules file."""
    rules = [*(_of_measure(one) for one in MEASURES), *(_of_row(row) for row in TABLE)]
    return _HEAD + "\n".join(rules)


def condition(row: Row) -> str:
    """Return the condition of a row's alert, in PromQL."""
    return f'{METRIC}{{what="{row.what}"}} > {row.after}'


def documented_rows() -> Iterator[str]:
    """Return the lines of the table in ``docs/operators.md``."""
    for one in (*MEASURES, *TABLE):
        what = f"`{one.what}`" if isinstance(one, Row) else ""
        yield f"| {_words(one.alert)} | {what} | {one.wrong} | {_duration(one.after)} | {one.severity} | {one.todo} |"


def _of_measure(one: Measure) -> str:
    waits = f"        for: {_prometheus(one.after)}\n" if one.after else ""
    return _rule(one.alert, one.expr, waits, one.severity, one.summary)


def _of_row(row: Row) -> str:
    whose = "{{ $labels.workspace }} on {{ $labels.instance }}" if row.of == "workspace" else "{{ $labels.instance }}"
    lasts = "" if row.told_for is not None or not row.after else ", for {{ $value | humanizeDuration }}"
    return _rule(row.alert, condition(row), "", row.severity, f"{whose}: {row.wrong}{lasts}.")


def _rule(alert: str, expr: str, waits: str, severity: str, summary: str) -> str:
    quoted = "'" + summary.replace("'", "''") + "'"
    return (
        f"      - alert: Parquetry{alert}\n"
        f"        expr: {expr}\n"
        f"{waits}"
        f"        labels: {{severity: {severity}}}\n"
        f"        annotations:\n"
        f"          summary: {quoted}\n"
    )


def _prometheus(seconds: int) -> str:
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _duration(seconds: int) -> str:
    if not seconds:
        return "at once"
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _words(alert: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in alert).strip()


if __name__ == "__main__":
    sys.stdout.write("".join(f"{row}\n" for row in documented_rows()) if "--table" in sys.argv else alert_rules())
