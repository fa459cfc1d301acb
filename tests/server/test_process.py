"""The server as a process: any bytes get an answer, signals end it gracefully, and its log tells what happened."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.command_line import CMS, DEFINITION, Cms, in_process, write_workspace
from tests.programs.copied_process import ROOT, started
from tests.sites.served_site import BEGUN, DEADLINE, SERVE, Answer, Running, Site, eventually, serving
from tests.sites.server_workers import answers, workers_of
from tests.sites.viewed_site import HEADERS, post


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("process"))
    site.publish("one")
    return site


@pytest.fixture(scope="module")
def key(site: Site) -> str:
    return site.key(validity="none")[1]


@pytest.fixture(scope="module")
def server(site: Site, key: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(site.store, tmp_path_factory.mktemp("log") / "log", key=key) as running:
        yield running
        assert running.process.poll() is None, "nothing here may end the server"


def exchange(server: Running, request: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes as they are: (status, head, body) of the first answer."""
    host, _, port = server.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as connection:
        connection.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            received = connection.recv(65536)
            assert received, f"no answer to {request[:80]!r}: {data!r}"
            data += received
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        while len(body) < length:
            received = connection.recv(65536)
            assert received
            body += received
    return int(head.split(b" ")[1]), head.lower(), body


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        (b"GET /v1/acme/posts HTTP/1.1", b"", 401),
        (b"GET /v1/acme/posts HTTP/1.0", b"", 401),
        (b"GET http://elsewhere/v1/acme/posts HTTP/1.1", b"", 401),
        (b"GET /v1/acme/posts HTTP/1.1", b"X-API-KEY: \xff\xfe\x80\r\n", 401),
        (b"GET /v1/acme/posts HTTP/1.1", b"X-API-KEY: \r\n", 401),
        (b"GET /v1/acme/posts HTTP/1.1", b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n", 401),
        (b"GET /v1/acme/posts HTTP/1.1", b"Upgrade: websocket\r\nConnection: Upgrade\r\n", 401),
        (b"GET /v1/acme/posts HTTP/1.1", b"Expect: 100-continue\r\nContent-Length: 5\r\n", 401),
        (b"GET /v1/\xff\xfe HTTP/1.1", b"", 400),
        (b"GET /v1/acme/po\x00sts HTTP/1.1", b"", 400),
        (b"GET /v1/acme/posts?\x01 HTTP/1.1", b"", 400),
        (b"GET  HTTP/1.1", b"", 400),
        (b"GET posts HTTP/1.1", b"", 400),
        (b"NONSENSE", b"", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", b"", 400),
        (b"OPTIONS * HTTP/1.1", b"", 404),
        (b"CONNECT elsewhere:443 HTTP/1.1", b"", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"", 414),
        (b"GET /v1/acme/posts?q=" + b"a" * 70_000 + b" HTTP/1.1", b"", 414),
        (b"GET /v1/acme/posts HTTP/1.1", b"X-API-KEY: " + b"a" * 70_000 + b"\r\n", 431),
        (b"GET /v1/acme/posts HTTP/1.1", b"A: b\r\n" * 40_000, 431),
        (b"GET /v1/acme/posts HTTP/1.1", b"A:\r\n" * 20_000, 431),
        (b"POST /v1/acme/posts HTTP/1.1", b"Content-Length: 3\r\n", 405),
        (b"DELETE /healthz HTTP/1.1", b"", 405),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else None,
)
def test_requests_that_never_get_content(server: Running, request_line: bytes, headers: bytes, status: int) -> None:
    found, head, body = exchange(server, request_line + b"\r\nHost: x\r\n" + headers + b"\r\n")
    assert found == status
    assert b"content-type: application/json" in head
    assert set(json.loads(body)) == {"message"}
    [request_id] = re.findall(rb"x-request-id: ([\w.-]+)", head)
    eventually(lambda: f" {status} " in log_line(server, request_id.decode()))


def log_line(server: Running, request_id: str) -> str:
    return next((line for line in server.log().splitlines() if line.endswith(request_id)), "")


PIECES = (
    b"/v1/ acme posts site post-1 _schema ? & = % . .. // ; # + , [and] [equals] limit filters q fields lang depth "
    b"draftKey orders offset include %00 %FF %C3%28 %ED%A0%80 %25 %2F %5Band%5D -1 1e9 null \xe3\x81\x82"
)


def test_any_bytes_get_json_and_never_a_500(server: Running, key: str) -> None:
    chance = random.Random(1)
    pieces = [*PIECES.split(b" "), bytes(range(33, 127))]
    for _ in range(400):
        target = b"".join(chance.choice(pieces) for _ in range(chance.randint(0, 12)))
        if chance.random() < 0.2:
            target += bytes(chance.randrange(33, 256) for _ in range(8))
        prefix = chance.choice([b"/v1/acme/posts", b"/v1/acme/posts/", b"/v1/acme/posts?", b"/v1/acme/site?", b"/"])
        draft_key = bytes(chance.choice(b"ab_\xff\x80 ~") for _ in range(chance.randint(0, 3)))
        headers = b"Host: x\r\nX-API-KEY: " + key.encode() + b"\r\nX-Draft-Key: " + draft_key + b"\r\n"
        method = chance.choice([b"GET", b"GET", b"HEAD", b"OPTIONS"])
        line = method + b" " + prefix + target + b" HTTP/1.1\r\n"
        status, head, body = _without_waiting_for_a_body(server, line + headers + b"\r\n", method)
        assert status in {200, 204, 400, 401, 403, 404, 405, 414}, (line, status, body)
        if body and b"content-type: text/html" not in head:  # as the page at / is
            assert b"content-type: application/json" in head, line
            assert status == 200 or set(json.loads(body)) == {"message"}, line


def _without_waiting_for_a_body(server: Running, request: bytes, method: bytes) -> tuple[int, bytes, bytes]:
    if method != b"HEAD":
        return exchange(server, request)
    host, _, port = server.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as connection:
        connection.sendall(request)
        data = connection.recv(65536)
        return int(data.split(b" ")[1]), data.lower(), b""


def test_one_connection_serves_many_requests(server: Running, key: str) -> None:
    host, _, port = server.host.partition(":")
    head = f"Host: x\r\nX-API-KEY: {key}\r\n"
    pipelined = (
        f"GET /v1/acme/posts HTTP/1.1\r\n{head}\r\n" * 20 + f"GET /healthz HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as connection:
        connection.sendall(pipelined.encode())
        data = b""
        while received := connection.recv(65536):
            data += received
    assert data.count(b"HTTP/1.1 200 OK") == 21
    assert data.count(b'"totalCount":3') == 20


@pytest.mark.parametrize("asked", [1, 3])
@pytest.mark.parametrize(
    ("refused", "connection", "statuses"),
    [
        (b"NONSENSE\r\n\r\n", "keep-alive", [400]),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", "keep-alive", [414]),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "close", []),
    ],
    ids=["nonsense", "too long", "after the last one"],
)
def test_what_is_refused_is_refused_after_what_was_asked_before_it(
    slow: Running, asked: int, refused: bytes, connection: str, statuses: list[int]
) -> None:
    host, _, port = slow.host.partition(":")
    key = slow.headers["X-API-KEY"]
    lists = "".join(
        f"GET /v1/acme/posts?limit={n} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {key}\r\n"
        f"Connection: {connection if n == asked else 'keep-alive'}\r\n\r\n"
        for n in range(1, asked + 1)
    )
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as opened:
        opened.sendall(lists.encode() + refused)
        data = b""
        while received := opened.recv(65536):
            data += received
    assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", data)] == [200] * asked + statuses
    assert [int(limit) for limit in re.findall(rb'"limit":(\d)', data)] == list(range(1, asked + 1))


@pytest.fixture(scope="module")
def slow(site: Site, key: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(site.store, tmp_path_factory.mktemp("slow") / "log", key=key, slow=0.1) as running:
        eventually(lambda: running.get("/readyz").status == 200)
        yield running
        assert "Traceback" not in running.log()


@pytest.mark.slow
@pytest.mark.parametrize(("grace", "finishes"), [("10", True), ("1", False)])
def test_requests_under_way_finish_before_the_end(
    site: Site, key: str, tmp_path: Path, grace: str, finishes: bool
) -> None:
    answers: list[Answer] = []
    with serving(site.store, tmp_path / "log", key=key, slow=3.0, shutdown_seconds=grace) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        asking = threading.Thread(target=lambda: answers.append(server.get("/v1/acme/posts")))
        asking.start()
        eventually(lambda: BEGUN in server.log())
        assert server.stop() == 0
        asking.join(DEADLINE)
        (answer,) = answers
        if finishes:
            assert answer.status == 200
            assert len(answer.json["contents"]) == 3
        else:
            assert (answer.status, answer.message) == (503, "The server is stopping.")
        with pytest.raises(OSError, match="refused"):
            server.get("/healthz")
        eventually(lambda: "stopped" in server.log())
        assert "Traceback" not in server.log()


@pytest.mark.slow
@pytest.mark.parametrize("grace", ["0", "1"])
def test_a_reader_that_stalls_while_the_server_ends_is_cut_off_without_a_traceback(tmp_path: Path, grace: str) -> None:
    site = Site(tmp_path, entries=20)
    site.publish("x" * 200_000)
    key = site.key()[1]
    with serving(site.store, tmp_path / "log", CMS_SHUTDOWN_SECONDS=grace) as server:
        eventually(lambda: "serving snapshot version" in server.log())
        host, _, port = server.host.partition(":")
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((host, int(port)))
            request = f"GET /v1/acme/posts?limit=20 HTTP/1.1\r\nHost: x\r\nX-API-KEY: {key}\r\n\r\n"
            connection.sendall(request.encode() * 4)  # the second waits until the first is read, which it never is
            eventually(lambda: "GET /v1/acme/posts" in server.log())
            time.sleep(0.5)
            assert server.stop() == 0
        log = server.log()
        assert "running task(s)" in log
        assert log.count(" GET /v1/acme/posts?limit=20 ") == 2, "each request that had begun has its line"
        assert "stopped" in log
        assert "Traceback" not in log
        assert "Exception" not in log


@pytest.mark.parametrize("workers", [1, 2])
def test_the_log(site: Site, key: str, tmp_path: Path, workers: int) -> None:
    with serving(site.store, tmp_path / "log", key=key, workers=workers, CMS_LOG_FORMAT="json") as server:
        assert server.get("/v1/acme/posts?limit=2&draftKey=geheim").status == 200
        assert server.get("/v1/acme/nothing", method="HEAD").status == 404
        assert server.stop() == 0
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert any(line.get("message", "").startswith("settings: store=") for line in lines)
    requests = [line for line in lines if "method" in line]
    if workers > 1:  # each writes when it comes to it
        requests.sort(key=lambda line: line["method"])
    assert [(r["method"], r["path"], r["status"], r["workspace"], r["key"]) for r in requests] == [
        ("GET", "/v1/acme/posts?limit=2&draftKey=***", 200, "acme", key[:11]),
        ("HEAD", "/v1/acme/nothing", 404, "acme", key[:11]),
    ]
    assert requests[0]["bytes"] > 100
    assert requests[1]["bytes"] == 0
    assert lines[-1]["message"] == "stopped"


def test_workers_end_with_their_supervisor(site: Site, key: str, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log", key=key, workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL

        def refused() -> bool:
            try:
                server.get("/healthz")
            except OSError:
                return True
            return False

        eventually(refused)


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("umask", [0o000, *(pytest.param(mask, marks=pytest.mark.slow) for mask in (0o022, 0o027))])
def test_others_may_read_nothing_that_is_made(cms: Cms, tmp_path: Path, umask: int) -> None:
    root = write_workspace(tmp_path / "site")
    (root / "workspace.yaml").write_text(f"{DEFINITION}domains: [site.example]\n")
    store, cache = tmp_path / "store", tmp_path / "cache"
    flags = {"store": str(store), "cache": str(cache), "port": 0, "workers": 2}
    with limited(umask), (tmp_path / "log").open("w") as log:
        assert cms("snapshot", "build", root, "--store", store).status == 0
        assert cms("key", "create", "app", "--workspace-id", "site", "--store", store).status == 0
        program = f"import os; os.umask({umask}){SERVE}"
        server = started(program, [json.dumps(flags)], os.environ, log, children=True)
    try:
        assert server.stdout is not None
        running = Running(server, server.stdout.readline().strip()[7:], tmp_path / "log")
        eventually(lambda: running.get("/readyz").status == 200)
        headers = {**HEADERS, "Origin": "https://site.example"}
        assert post(running, {"path": "/"}, headers, workspace="site").status == 204
        eventually((store / "site" / "views" / "views.duckdb").exists)
        eventually(lambda: running.get("/pv/site/counts?path=/").json["paths"]["/"] == 1)
        assert running.stop() == 0
    finally:
        server.kill()
        server.communicate()
    made = [*store.rglob("*"), *cache.rglob("*"), store, cache]
    assert {path.name for path in made} >= {"current", "access.json", "views.duckdb", "today.parquet", "manifest.json"}
    assert [str(path) for path in made if path.stat().st_mode & 0o007] == []
    assert (store / "site" / "access.json").stat().st_mode & 0o777 == 0o600
    group = {path for path in made if path.stat().st_mode & 0o020 and not path.is_symlink()}
    assert bool(group) == (umask == 0), "what the umask allows the group"


@contextlib.contextmanager
def limited(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the workers up in /proc")
def test_workers_that_die_all_at_once_are_back_within_seconds(site: Site, key: str, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log", key=key, workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        for stopped in (0.0, 1.3, 0.25):
            pids = workers_of(server)
            assert len(pids) == 2
            if stopped:  # so that each owes the supervisor an answer when it dies
                for pid in pids:
                    os.kill(pid, signal.SIGSTOP)
                time.sleep(stopped)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: answers(server))
            eventually(lambda before=pids: len(workers_of(server) - before) == 2)
        eventually(lambda: server.log().count("ended with status -9") == 6)
        assert server.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the workers up in /proc")
def test_a_worker_that_hangs_holds_up_no_other(site: Site, key: str, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log", key=key, workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        hanging, dying = sorted(workers_of(server))
        os.kill(hanging, signal.SIGSTOP)
        time.sleep(1.3)
        os.kill(dying, signal.SIGKILL)
        eventually(lambda: len(workers_of(server) - {hanging, dying}) == 1)
        os.kill(hanging, signal.SIGCONT)
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGTERM, 2), *(pytest.param(one, 6, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGTERM))],
)
def test_a_signal_while_it_starts_ends_it(site: Site, tmp_path: Path, number: signal.Signals, times: int) -> None:
    for at in range(times):
        command = ["serve", "--store", str(site.store.root), "--port", "0", "--cache", str(tmp_path / f"cache-{at}")]
        reading, writing = os.pipe()
        with os.fdopen(reading) as said:
            with os.fdopen(writing, "w") as errors:
                process = started(CMS[-1], command, os.environ, errors)
            try:
                while "listening on" not in (line := said.readline()):
                    assert process.poll() is None, line
                time.sleep(at * 0.03)
                process.send_signal(number)
                process.wait(DEADLINE)
            finally:
                process.kill()
                process.communicate()


@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_changes_nothing(site: Site, key: str, tmp_path: Path, workers: int) -> None:
    with serving(site.store, tmp_path / "log", key=key, workers=workers, new_group=True) as server:
        eventually(lambda: server.log().count("serving snapshot version") == workers)
        os.killpg(server.process.pid, signal.SIGHUP)  # as a terminal that is closed
        eventually(lambda: "SIGHUP changes nothing" in server.log())
        time.sleep(0.7)
        assert server.process.poll() is None
        assert server.get("/v1/acme/posts").status == 200
        assert "ended with status" not in server.log()
        assert server.stop() == 0


def test_a_port_in_use_is_an_error_that_says_so(site: Site, server: Running) -> None:
    flags = {"store": str(site.store.root), "port": int(server.host.partition(":")[2])}
    command = [sys.executable, "-c", SERVE, json.dumps(flags)]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert second.returncode == 1
    assert "ServerError: Cannot listen on 127.0.0.1 port" in second.stderr
    assert "--port" in second.stderr
