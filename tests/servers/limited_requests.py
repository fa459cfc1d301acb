"""Keys with a rate limit, many requests at once, and what ``/readyz`` says of the counts."""

from __future__ import annotations

from collections import Counter
from http.client import HTTPConnection
from threading import Thread

from tests.sites.served_site import DEADLINE, Running, Site

POSTS = "/v1/acme/posts"


def limited_key(site: Site, limit: int | None) -> dict[str, str]:
    """A new key's header; ``None`` leaves the limit to the workspace."""
    return {"X-API-KEY": site.key(rate_limit=limit)[1]}


def rate_limit_problems(servers: list[Running]) -> list[list[str]]:
    return [server.get("/readyz").json["rateLimit"]["problems"] for server in servers]


def flood(servers: list[Running], headers: dict[str, str], requests: int, connections: int = 16) -> Counter[int]:
    """Ask over many connections at once: how often each status came."""
    statuses: Counter[int] = Counter()

    def ask(server: Running) -> None:
        connection = HTTPConnection(server.host, timeout=DEADLINE)
        for _ in range(requests // connections):
            connection.request("GET", POSTS, headers=headers)
            response = connection.getresponse()
            response.read()
            statuses[response.status] += 1
        connection.close()

    threads = [Thread(target=ask, args=(servers[number % len(servers)],)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses
