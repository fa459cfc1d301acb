"""For all tests: a machine that is busy is no reason to fail, and one that waits is no reason to idle."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import runpy
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that have to be free for the tests' files to be kept in memory; a whole run takes a tenth of it at a time."""
CONFLICTS = TESTS / "conflicts"
LONGEST = (
    "test_slow_readers.py",
    "test_weeks.py",
    "test_bucket_machines.py",
    "test_recipes.py",
    "test_guides.py",
    "test_night.py",
    "test_process.py",
    "test_reload.py",
    "test_real_generators.py",
    "test_readers.py",
    "test_objects.py",
    "test_browser.py",
    "test_activation.py",
    "test_model_agreement.py",
    "test_dev.py",
    "test_endpoints.py",
    "test_pages_in_a_browser.py",
    "test_materialise.py",
    "test_sender.py",
    "test_bucket.py",
    "test_failures.py",
    "test_full_disk.py",
    "test_overload.py",
    "test_openapi_clients.py",
)
"""What takes longest, first of all: begun last, it would be waited for while other cores idle."""


def pytest_configure() -> None:
    # Thousands of tests are collected, and nothing that is thrown away in rings: half a second of each process.
    gc.disable()
    # The hundreds of processes that tests start read what they import compiled, whatever the environment says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # What a developer's shell says of a store of theirs is not what a test means.
    for name in [name for name in os.environ if name.startswith("CMS_")]:
        del os.environ[name]
    # Nor is the size of their terminal, which a library may note in the environment of one process and not of another.
    os.environ |= {"COLUMNS": "80", "LINES": "24"}
    # Here and in all processes that tests start, each edit of a document has to be made a second time.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CONFLICTS), os.environ.get("PYTHONPATH")]))
    os.environ["EDITS"] = "beaten"
    runpy.run_path(str(CONFLICTS / "sitecustomize.py"))
    # A shell that starts the tests in the background has them ignore what a test sends to stop a program.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test cuts the power: what makes a file durable is checked by the calls that are made, and costs nothing here.
    if is_roomy(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

    from hypothesis import HealthCheck, settings

    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")


def is_roomy(memory: Path) -> bool:
    """Whether files may be written and run there, and both the file system and the memory have room for them."""
    if not os.access(memory, os.W_OK | os.X_OK):
        return False
    system = os.statvfs(memory)
    if system.f_flag & os.ST_NOEXEC:
        return False
    available = Path("/proc/meminfo").read_text(encoding="ascii").split("MemAvailable:")[1].split()[0]
    return min(system.f_bavail * system.f_frsize, int(available) << 10) > ROOM


def pytest_collection(session: pytest.Session) -> None:
    """Import all modules of tests before they are collected, each worker beginning elsewhere.

    In a fresh clone nothing is compiled yet. Workers that import the same modules in the same order would all compile
    each of them at the same time; this way one of them compiles it, and the others read that.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    asked = [Path(name.partition("::")[0]).resolve() for name in session.config.args]
    modules = sorted({module for path in asked for module in (path.rglob("test_*.py") if path.is_dir() else [path])})
    first = len(modules) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for module in [*modules[first:], *modules[:first]]:
        with suppress(Exception, pytest.skip.Exception):  # it is told when the module is collected
            importlib.import_module(".".join(module.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the longest files out to the workers, each of which is given the next part of the list to begin with."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    others = [item for item in items if item.path.name not in LONGEST]
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        names = LONGEST[worker::workers]
        part = sorted((item for item in items if item.path.name in names), key=lambda item: names.index(item.path.name))
        room = (len(items) - len(ordered)) // (workers - worker) - len(part)
        ordered += [*part, *others[: max(room, 0)]]
        del others[: max(room, 0)]
    items[:] = [*ordered, *others]


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # What libraries look for at the end of the process is there again; pytest looks twice before for what leaked.
    atexit.register(gc.unfreeze)


@pytest.fixture(autouse=True)
def edits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every edit meets a conflict first, but where a test counts what an edit costs that meets none."""
    if request.node.get_closest_marker("undisturbed") is not None:
        monkeypatch.delenv("EDITS")


def pytest_xdist_auto_num_workers() -> int:
    """Three more than there are cores: half of the time tests wait for processes and deadlines of their own."""
    return (os.cpu_count() or 1) + 3
