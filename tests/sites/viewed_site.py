"""A site that counts page views, as ``served_site`` serves it, and the views and counts it is asked for."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path

from tests.sites.served_site import DEADLINE, Answer, Running, Site, eventually

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
HEADERS = {"Content-Type": "text/plain;charset=UTF-8", "Origin": "https://acme.example", "User-Agent": CHROME}
DOMAINS = "domains: [acme.example, '*.acme.example']\n"


def site_with_domains(directory: Path) -> Site:
    site = Site(directory)
    with (site.source / "workspace.yaml").open("a") as file:
        file.write(DOMAINS)
    (site.source / "content" / "posts").mkdir()
    (site.source / "content" / "posts" / "unseen.draft.md").write_text("---\ntitle: x\ncreatedAt: 2026-01-01\n---\n")
    site.publish("one")
    return site


def wait_for_both_workers(server: Running) -> None:
    eventually(lambda: server.log().count("serving snapshot version") == 2)


def post(
    server: Running,
    body: object,
    headers: dict[str, str] | None = None,
    visitor: str = "198.51.100.1",
    workspace: str = "acme",
) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection(server.host, timeout=DEADLINE)
    try:
        sent = {k: v for k, v in {**HEADERS, "X-Forwarded-For": visitor, **(headers or {})}.items() if v}
        connection.request("POST", f"/pv/{workspace}", data, sent)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def total(server: Running, kind: str, key: str) -> int:
    answer = server.get(f"/pv/acme/counts?{'path' if kind == 'paths' else 'entryId'}={key}")
    return int(answer.json[kind][key])
