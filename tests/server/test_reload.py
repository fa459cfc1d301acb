"""A reload: the installed program takes over from the one that runs, and no request is lost, whatever goes wrong."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.programs.installed_program import InstalledProgram
from tests.servers.proxies import caddy_before, nginx_before
from tests.sites.halting import has_ended
from tests.sites.reloaded_server import VERSIONS, ReloadedServer, reloads, serving_installed, viewed_site
from tests.sites.served_site import DEADLINE, Site, eventually
from tests.sites.steady_load import Load
from tests.stores.small_disk import fill, small_disk

BEGIN = "from __future__ import annotations\n"
"""What is in the file that a server process imports first of all, and where more can follow."""
CRASHES = ("server/run.py", BEGIN, f'{BEGIN}raise RuntimeError("this version is broken")\n')
HANGS = ("server/run.py", BEGIN, f"{BEGIN}import time\ntime.sleep(600)\n")

SERVE_HANDED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "parquetry.socket"}
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return viewed_site(tmp_path_factory.mktemp("reloaded"))


@pytest.fixture(scope="module")
def key(site: Site) -> str:
    return site.key(validity="none")[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> InstalledProgram:
    return InstalledProgram(tmp_path_factory.mktemp("program"))


@pytest.fixture
def program(made: InstalledProgram) -> InstalledProgram:
    made.install(VERSIONS[0])
    return made


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Where a service manager listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(DEADLINE)
        yield listener


def told(manager: socket.socket) -> dict[str, str]:
    """The next message to the service manager."""
    return dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def reloaded(server: ReloadedServer) -> None:
    before = server.reloads()
    server.reload()
    eventually(lambda: server.reloads() > before)


@pytest.mark.slow
def test_the_installed_program_takes_over_on_the_same_socket(
    site: Site, key: str, program: InstalledProgram, manager: socket.socket, tmp_path: Path
) -> None:
    """The socket is one that a service manager holds, which outlives the server too."""
    notify = manager.getsockname()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        before, files = [sys.executable, "-c", SERVE_HANDED, str(listener.fileno())], (listener.fileno(),)
        with serving_installed(
            program, site, tmp_path / "log", before=before, files=files,
            NOTIFY_SOCKET=notify, CMS_METRICS="127.0.0.1:0",
        ) as server:  # fmt: skip
            assert server.port == listener.getsockname()[1]
            assert told(manager) == {"READY": "1", "STATUS": f"Version {VERSIONS[0]} answers requests."}
            program.install(VERSIONS[1])
            assert server.version() == VERSIONS[0], "what is installed changes nothing by itself"
            kept = HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
            kept.connect()
            kept.auto_open = 0  # all answers come on this connection, the last one too

            def is_the_last() -> bool:
                kept.request("GET", "/v1/acme/posts", headers={"X-API-KEY": key})
                answer = kept.getresponse()
                assert (answer.status, bool(answer.read())) == (200, True)
                return answer.getheader("Connection") == "close"

            assert not is_the_last()
            server.reload()
            eventually(is_the_last, within=2 * DEADLINE)  # asked all the while: one that idles is closed
            reloading = told(manager)
            assert reloading["RELOADING"] == "1"
            assert int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
            assert told(manager) == {"READY": "1", "STATUS": f"Version {VERSIONS[1]} answers requests."}
            eventually(lambda: server.version() == VERSIONS[1])
            eventually(lambda: "stopped" in server.log())
            found = re.search(r"metrics at http://127\.0\.0\.1:([0-9]+)", server.log())
            assert found is not None
            metrics = HTTPConnection("127.0.0.1", int(found[1]), timeout=DEADLINE)
            metrics.request("GET", "/metrics")
            text = metrics.getresponse().read().decode()
            assert re.search(
                rf'^parquetry_build_info{{.*version="{re.escape(VERSIONS[1])}"}} 1\.0$', text, re.MULTILINE
            )
            assert server.get("/console/sign-in")[0] in (200, 303)
            eventually(lambda: server.state()["keeper"]["running"])
            assert "reload" not in server.troubles()
            program.install(VERSIONS[0])
            reloaded(server)
            eventually(lambda: server.version() == VERSIONS[0])
            server.process.terminate()
            assert server.process.wait(60) == 0
            assert [told(manager).keys() for _ in range(3)] == [
                {"RELOADING": 0, "MONOTONIC_USEC": 0, "STATUS": 0}.keys(),
                {"READY": 0, "STATUS": 0}.keys(),
                {"STOPPING": 0, "STATUS": 0}.keys(),
            ]
        assert "Traceback" not in server.log()
        with socket.create_connection(listener.getsockname(), timeout=DEADLINE):
            pass  # it waits, where nobody answers
        with serving_installed(program, site, tmp_path / "log-2", before=before, files=files) as server:
            assert server.port == listener.getsockname()[1]
            assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "seconds", "said"),
    [
        ("crashes", CRASHES, "600", "it ended with status 1 before it was ready"),
        ("hangs", HANGS, "1", "it was not ready within 1 s"),
    ],
)
def test_a_program_that_does_not_get_ready_replaces_nobody(
    site: Site,
    key: str,
    program: InstalledProgram,
    manager: socket.socket,
    tmp_path: Path,
    name: str,
    change: tuple[str, str, str],
    seconds: str,
    said: str,
) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname(), "CMS_RELOAD_SECONDS": seconds, "CMS_METRICS": "127.0.0.1:0"}
    with serving_installed(program, site, tmp_path / "log", **variables) as server:
        found = re.search(r"metrics at http://127\.0\.0\.1:([0-9]+)", server.log())
        assert found is not None
        answering = children(server.process.pid)
        program.install(name, change)
        server.reload()
        assert [sorted(told(manager)) for _ in range(2)][1] == ["MONOTONIC_USEC", "RELOADING", "STATUS"]
        failed = told(manager)
        assert failed["READY"] == "1"
        assert failed["STATUS"].startswith(f"The last reload failed: {said}")
        assert f"the reload failed, and the processes of before go on: the new program cannot take over, {said}" in (
            server.log()
        )
        eventually(lambda: "reload" in server.troubles())
        assert server.state()["ready"]
        assert server.troubles()["reload"] == "The last reload failed; the log says why. The processes of before go on."
        metrics = HTTPConnection("127.0.0.1", int(found[1]), timeout=DEADLINE)
        metrics.request("GET", "/metrics")
        measured = re.search(
            r'parquetry_trouble_seconds{what="reload",workspace=""} (.+)', metrics.getresponse().read().decode()
        )
        assert measured is not None
        assert float(measured[1]) > 0
        assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200
        eventually(lambda: children(server.process.pid) == answering)
        if name == "crashes":
            program.install(VERSIONS[1])
            what_it_cannot_serve_is_not_taken_over(server, site, key)
            eventually(lambda: server.version() == VERSIONS[1])
            eventually(lambda: "reload" not in server.troubles())


def what_it_cannot_serve_is_not_taken_over(server: ReloadedServer, site: Site, key: str) -> None:
    before, failed = len(server.log()), server.failed_reloads()
    access = site.place.directory / "access.json"
    kept = access.read_bytes()
    access.write_bytes(b"{")
    server.reload()
    eventually(lambda: server.failed_reloads() == failed + 1)
    eventually(lambda: "This process cannot serve acme, which others do:" in server.log()[before:])
    assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200
    access.write_bytes(kept)
    reloaded(server)
    assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200
    assert "Traceback" not in server.log()[before:]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_no_request_is_lost(site: Site, key: str, program: InstalledProgram, tmp_path: Path, workers: int) -> None:
    with serving_installed(program, site, tmp_path / "log", workers=workers) as server:
        load = Load(server.port, key, 2000, has_console=True)
        asyncio.run(load.run(8, lambda: reloads(server, program, load, 3)))
        assert load.failures == []
        assert load.answered == load.begun >= 2000
        assert load.last > 0
        eventually(lambda: server.version() == VERSIONS[1])  # the one of before may accept for a moment
    assert "Traceback" not in server.log()


@pytest.mark.slow
@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_no_request_is_lost_behind_a_proxy_where_two_servers_are_restarted_in_turn(
    site: Site, key: str, program: InstalledProgram, tmp_path: Path, proxy: str
) -> None:
    if shutil.which(proxy) is None:
        pytest.skip(f"needs {proxy} on this machine")
    in_front: Callable[..., AbstractContextManager[int]] = nginx_before if proxy == "nginx" else caddy_before
    with (
        serving_installed(program, site, tmp_path / "one") as one,
        serving_installed(program, site, tmp_path / "two") as two,
        in_front(tmp_path, one.port, two.port) as port,
    ):
        load = Load(port, key, 800)

        async def restart() -> None:
            for number, server in enumerate((one, two, one)):
                await asyncio.to_thread(server.restart, tmp_path / f"again-{number}")

        asyncio.run(load.run(8, restart))
    # Caddy 2.6 sends a page view to the other server without its body, which the guide says.
    lost = [one for one in load.failures if proxy == "nginx" or "POST /pv/" not in str(one)]
    assert lost == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the processes up in /proc")
def test_whatever_happens_during_a_reload_somebody_answers(
    site: Site, key: str, program: InstalledProgram, tmp_path: Path
) -> None:
    with serving_installed(program, site, tmp_path / "log", workers=2) as server:

        def answers() -> bool:
            return server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200

        for _ in range(10):
            server.reload()
            time.sleep(0.01)
        eventually(lambda: server.reloads() >= 1)
        assert answers()
        eventually(lambda: len(children(server.process.pid)) == 1)
        assert server.reloads() <= 3, "what is asked for meanwhile is done once"
        [leader] = children(server.process.pid)
        before = server.reloads()
        server.reload()
        eventually(lambda: len(children(server.process.pid)) == 2)
        worker = max(children(leader))
        os.kill(worker, signal.SIGKILL)  # one that answers, or the keeper
        eventually(lambda: server.reloads() > before)
        assert answers()
        eventually(lambda: len(children(server.process.pid)) == 1)
        [leader] = children(server.process.pid)
        os.kill(leader, signal.SIGKILL)
        eventually(lambda: has_ended(leader))
        assert answers(), "what comes meanwhile waits on the socket"
        eventually(lambda: "another server process is started" in server.log())
        eventually(lambda: "answers again" in server.log())
        [again] = children(server.process.pid)
        server.reload()
        eventually(lambda: len(children(server.process.pid)) == 2)
        everyone = children(server.process.pid)
        server.process.terminate()
        assert server.process.wait(60) == 0
        assert again in everyone
        assert all(has_ended(one) for one in everyone)
    assert "Traceback" not in server.log()


@pytest.mark.slow
def test_on_a_full_disk_somebody_answers_before_and_after_a_reload(
    site: Site, key: str, program: InstalledProgram, tmp_path: Path
) -> None:
    # A socket's path has to be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as short, small_disk(Path(short) / "disk", 64 << 20) as disk:
        places = {"TMPDIR": str(disk), "CMS_CACHE": str(disk / "cache")}
        with serving_installed(program, site, tmp_path / "log", **places) as server:
            filler = fill(disk)
            server.reload()
            eventually(lambda: server.reloads() + server.failed_reloads() >= 1)
            for _ in range(20):
                assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200
            filler.unlink()
            reloaded(server)
            assert server.get("/v1/acme/posts", {"X-API-KEY": key})[0] == 200
