"""Requests lost while a server is reloaded: upgraded and put back again and again, under requests of every kind.

    python -m benchmarks.reloads [--requests 100000] [--reloads 20] [--workers 2] [--in-front nothing|nginx|caddy]

Two versions of the program are installed in turns, one over the other, and SIGHUP makes the server change to it. The
clients keep their connections and send reads, page views, some with slow bodies, and requests for pages of the console;
none of them asks a second time. What is printed is how many requests were sent and how many failed, with the first
failures. The proxies run with the samples in ``deploy/`` (but for TLS and addresses), and have to be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from tests.programs.installed_program import InstalledProgram
from tests.servers.proxies import caddy_before, nginx_before
from tests.sites.reloaded_server import VERSIONS, reloads, serving_installed, viewed_site
from tests.sites.steady_load import Load

CONNECTIONS = 16
PROXIES = {"nginx": nginx_before, "caddy": caddy_before}


def main() -> None:
    """Run once, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--reloads", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--in-front", choices=["nothing", *PROXIES], default="nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        site = viewed_site(directory)
        key = site.key()[1]
        program = InstalledProgram(directory / "program")
        for version in reversed(VERSIONS):
            program.install(version)
        with serving_installed(program, site, directory / "log", workers=options.workers) as server:
            proxy = PROXIES.get(options.in_front)
            with nullcontext(server.port) if proxy is None else proxy(directory, server.port) as port:
                load = Load(port, key, options.requests, has_console=True)
                began = time.monotonic()
                asyncio.run(load.run(CONNECTIONS, lambda: reloads(server, program, load, options.reloads)))
                seconds = time.monotonic() - began
            log = server.log()
        print(
            f"{options.in_front} in front, {options.workers} workers: {load.begun:,} requests in {seconds:.0f} s, "
            f"{log.count('reloaded: version')} reloads, {load.last:,} answers were the last on their connection, "
            f"{len(load.failures)} failed"
        )
        for failure in load.failures[:20]:
            print(f"  {failure}")


if __name__ == "__main__":
    main()
