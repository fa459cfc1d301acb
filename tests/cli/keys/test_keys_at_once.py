"""Commands of many people at once, each in a process of its own: what is printed holds."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.access.keys.access import AccessFile, AccessList, Keyring
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import MAIN, process, write_workspace
from tests.programs.copied_process import started
from tests.stores.object_stores import object_store

AT_ONCE = 12
ROUNDS = 2


@pytest.fixture(scope="module", params=["directory", pytest.param("any", marks=pytest.mark.slow)])
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with a workspace, in which every command of this file works."""
    folder = tmp_path_factory.mktemp("at-once")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        place = str(folder / "store")
        if request.param != "directory":
            pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
            server = stack.enter_context(object_store(request.param))
            for name, value in server.environment.items():
                patch.setenv(name, value)
            place = server.place()
        patch.setenv("CMS_STORE", place)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        site = write_workspace(folder / "site")
        ran = process("snapshot", "build", cwd=site)
        assert ran.status == 0, ran.err
        patch.chdir(site)
        yield place


def access(location: str) -> AccessList:
    found = AccessFile(open_store(location).workspace("site")).read()
    assert found is not None
    return found


def run_at_once(*commands: tuple[str, ...]) -> list[str]:
    """Run commands in processes of their own at the same time; return what each printed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        running = [started(MAIN, [str(Path.cwd()), *command], os.environ, errors) for command in commands]
        printed = [process.communicate()[0] for process in running]
        errors.seek(0)
        assert [process.returncode for process in running] == [0] * len(running), errors.read()
    return printed


def test_every_key_that_is_printed_exists(location: str) -> None:
    printed = run_at_once(*(("key", "create", f"Key {number}", "--yes") for number in range(AT_ONCE)))
    found = access(location)
    keyring, zone = Keyring({"site": found}), ZoneInfo("Asia/Tokyo")  # the workspace's, in which the keys begin today
    keys = [keyring.authorize(text.strip().encode(), "site", now_ms(), zone) for text in printed]
    assert [key.name for key in keys] == [f"Key {number}" for number in range(AT_ONCE)]
    assert {key.prefix for key in found.keys} >= {text[:11] for text in printed}


def test_a_key_that_is_disabled_beside_other_changes_stays_disabled(location: str) -> None:
    prefix = json.loads(run_at_once(("key", "create", "Beside", "--json"))[0])["prefix"]
    for number in range(ROUNDS):
        process("key", "enable", prefix)
        name = f"Beside {number}"
        outputs = run_at_once(
            ("key", "disable", prefix, "--json"),
            ("key", "edit", prefix, "--name", name, "--json"),
            ("key", "edit", prefix, "--rate-limit", str(60 + number), "--json"),
        )
        (key,) = (key for key in access(location).keys if key.prefix == prefix)
        assert (key.disabled, key.name, key.rate_limit) == (True, name, 60 + number)
        disabled, renamed, limited = map(json.loads, outputs)
        assert (disabled["state"], renamed["name"], limited["rateLimit"]) == ("disabled", name, 60 + number)
