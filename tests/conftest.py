"""For all tests: a machine that is busy is no reason to fail, and one that waits is no reason to idle."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a third of the time tests wait for processes and deadlines of their own."""
    return (os.cpu_count() or 1) + 1
