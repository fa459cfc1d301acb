"""The folders of ``examples/`` beside their packages: built, and run, as whoever copies them would.

npm's packages are kept in the temporary directory between runs.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

from snapshots.store.durable import locked
from tests.programs import node_packages
from tests.servers.ports import free_port
from tests.sites.served_site import eventually

EXAMPLES = Path(__file__).parents[3] / "examples"
MINUTES = 10 * 60
QUIET = {"ASTRO_TELEMETRY_DISABLED": "1", "NEXT_TELEMETRY_DISABLED": "1", "NUXT_TELEMETRY_DISABLED": "1", "CI": "1"}
BUILT = {
    "astro": ["node", "dist/server/entry.mjs"],
    "nuxt": ["node", ".output/server/index.mjs"],
    "sveltekit": ["node", "build"],
}
"""What runs a site that was built; without npm between, a signal reaches it."""
DEVELOPED = {
    "astro": ["node", "node_modules/astro/astro.js", "dev"],
    "nuxt": ["node", "node_modules/nuxt/bin/nuxt.mjs", "dev", "--no-fork"],
    "sveltekit": ["node", "node_modules/vite/bin/vite.js", "dev"],
}
"""What runs the development server of a site."""


@contextmanager
def project(name: str, url: str, key: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """The example beside its packages, which Next.js wants inside the project; and the environment to run it in."""
    source = EXAMPLES / name
    folder = node_packages.node_modules(source / "package.json").parent
    with locked(folder / "project.lock", seconds=math.inf):
        for old in folder.iterdir():
            if old.is_symlink():  # Nuxt leaves one
                old.unlink()
            elif old.is_dir() and old.name != "node_modules":
                shutil.rmtree(old)
        tracked = shutil.ignore_patterns("node_modules", ".*", "dist", "build")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=tracked)
        kept = {variable: value for variable, value in os.environ.items() if not variable.startswith("CMS_")}
        yield folder, {**kept, **QUIET, "CMS_URL": url, "CMS_KEY": key}


def build(folder: Path, environment: Mapping[str, str]) -> str:
    """Build a site with the checks of its types: what was printed."""
    done = subprocess.run(
        ["npm", "run", "build"],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def program(command: list[str], folder: Path, environment: Mapping[str, str], name: str = "program") -> Iterator[Path]:
    """A program that runs in a folder; gives its log."""
    log = folder / f"{name}.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=file, stderr=file)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def built_site(name: str, folder: Path, environment: Mapping[str, str], port: int) -> Iterator[str]:
    """A site that was built, behind its own server: its address."""
    address = f"http://127.0.0.1:{port}"
    with program(BUILT[name], folder, {**environment, "HOST": "127.0.0.1", "PORT": str(port), "ORIGIN": address}):
        yield once_up(address)


@contextmanager
def developed_site(name: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The development server of a site: its address."""
    port = free_port()
    with program([*DEVELOPED[name], "--host", "127.0.0.1", "--port", str(port)], folder, environment):
        yield once_up(f"http://127.0.0.1:{port}")


def once_up(address: str) -> str:
    """Wait until a site answers: its address."""
    with httpx.Client(base_url=address, timeout=60) as browser:
        eventually(lambda: is_up(browser), within=120)
    return address


def is_up(browser: httpx.Client) -> bool:
    try:
        return browser.get("/").status_code == 200
    except httpx.TransportError:
        return False
