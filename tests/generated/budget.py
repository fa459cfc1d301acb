"""How much is tried at random: a little in every run, ten times that or more in tests that take minutes."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

TIMES = int(os.environ.get("PARQUETRY_EXAMPLES", "1"))
"""Every random test makes so many times its examples; at 1 they are the same in every run."""

RANDOM = settings(deadline=None, derandomize=TIMES == 1, suppress_health_check=list(HealthCheck), print_blob=True)
