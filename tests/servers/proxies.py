"""nginx and Caddy with the samples of ``deploy/``, in front of a server of a test: without TLS, at free ports."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.ports import free_port
from tests.sites.served_site import eventually

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx_before(directory: Path, *servers: int) -> Iterator[int]:
    """Run nginx in front of the servers at these ports; its own port."""
    port = free_port()
    sample = (DEPLOY / "nginx.conf").read_text()
    upstream = re.search(r"( *)server 127\.0\.0\.1:8787([^;]*);\n", sample)
    assert upstream is not None
    lines = "".join(f"{upstream[1]}server 127.0.0.1:{server}{upstream[2]};\n" for server in servers)
    assert sample.count(upstream[0]) == 2
    sample = sample.replace(upstream[0], lines)
    sample = sample.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port};")
    sample = re.sub(r" *ssl_certificate.*\n", "", sample)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in kinds)
    configuration = directory / "nginx.conf"
    configuration.write_text(
        f"error_log {directory}/nginx.log;\npid {directory}/nginx.pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{sample}}}\n"
    )
    with subprocess.Popen(["nginx", "-c", configuration, "-p", directory, "-g", "daemon off;"]) as proxy:
        try:
            eventually(lambda: listens(port))
            yield port
        finally:
            proxy.terminate()


@contextmanager
def caddy_before(directory: Path, *servers: int) -> Iterator[int]:
    """Run Caddy in front of the servers at these ports; its own port."""
    port = free_port()
    sample = (DEPLOY / "Caddyfile").read_text()
    assert sample.count("reverse_proxy 127.0.0.1:8787 ") == 2
    sample = sample.replace("127.0.0.1:8787", " ".join(f"127.0.0.1:{server}" for server in servers))
    sample = sample.replace("content.example {", f"http://127.0.0.1:{port}, http://x:{port} {{\n\tbind 127.0.0.1", 1)
    configuration = directory / "Caddyfile"
    configuration.write_text("{\n\tadmin off\n}\n" + sample)
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", configuration]
    environment = {
        **os.environ,
        "HOME": str(directory),
        "XDG_DATA_HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory),
    }
    with (
        (directory / "caddy.log").open("w") as log,
        subprocess.Popen(command, env=environment, stderr=log) as proxy,
    ):
        try:
            eventually(lambda: listens(port))
            yield port
        finally:
            proxy.terminate()
