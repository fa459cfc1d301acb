"""A real provider of OpenID Connect, run by node on the loopback interface, and a person's way through its pages."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx2 as httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.programs.node_packages import node_modules
from tests.servers.ports import free_port
from tests.sites.served_site import DEADLINE

HERE = Path(__file__).parent
OLDEST_NODE = 20
SECRET = "s3cret~with+signs%/="


@dataclass(frozen=True)
class RealProvider:
    """A running provider. Whoever signs in as ``olga`` has the address olga@acme.example."""

    issuer: str
    redirect_uri: str
    settings: dict[str, str]
    """Those of a server that people sign in to there."""


def sign_in_there(address: str, login: str, redirect_uri: str) -> str:
    """Go through the provider's pages from the address to which the console led: the address that they lead to."""
    with httpx.Client(timeout=DEADLINE) as client:
        answer = client.get(address)
        for _ in range(12):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["location"])
                if target.startswith(redirect_uri):
                    return target
                answer = client.get(target)
                continue
            assert answer.status_code == 200, answer.text
            form = LexborHTMLParser(answer.content).css_first("form")
            assert form is not None, answer.text
            fields = {str(one.attributes["name"]): one.attributes.get("value") or "" for one in form.css("input")}
            given = {name: login if name in ("login", "password") else value for name, value in fields.items()}
            answer = client.post(urljoin(str(answer.url), form.attributes["action"] or ""), data=given)
    raise AssertionError(f"the provider leads nowhere: {answer.url}")


@contextmanager
def real_provider(
    folder: Path,
    redirect_uri: str,
    *,
    port: int | None = None,
    auth_method: str = "client_secret_post",
    algorithm: str = "RS256",
    claims_outside_the_id_token: bool = True,
) -> Iterator[RealProvider]:
    """Run a provider with new keys."""
    modules = node_modules(HERE / "package.json")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node {version} is older than the {OLDEST_NODE} that oidc-provider needs")
    folder.mkdir(exist_ok=True)
    (folder / "node_modules").unlink(missing_ok=True)
    (folder / "node_modules").symlink_to(modules)
    shutil.copy(HERE / "provider.mjs", folder)
    issuer = f"http://127.0.0.1:{port or free_port()}"
    said = {
        "issuer": issuer,
        "clientId": "console",
        "clientSecret": SECRET,
        "redirectUri": redirect_uri,
        "authMethod": auth_method,
        "algorithm": algorithm,
        "claimsOutsideTheIdToken": claims_outside_the_id_token,
    }
    command = ["node", "provider.mjs", json.dumps(said)]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n", (folder / "log").read_text()
        settings = {"CMS_OIDC_ISSUER": issuer, "CMS_OIDC_CLIENT_ID": "console", "CMS_OIDC_CLIENT_SECRET": SECRET}
        yield RealProvider(issuer, redirect_uri, settings)
    finally:
        process.terminate()
        process.communicate()
