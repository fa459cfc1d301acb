"""Edits of keys while servers run: in force on every worker."""

from __future__ import annotations

from pathlib import Path

from engine.access.keys import access
from tests.sites.served_site import Site, eventually, serving


def test_edits_are_in_force_on_every_worker(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    key, text = site.key(rate_limit=100_000)
    with serving(site.store, tmp_path / "log", key=text, workers=3) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 3)
        eventually(lambda: {server.get("/v1/acme/posts").status for _ in range(20)} == {200})
        for change, status in ((access.disable_key, 401), (access.enable_key, 200), (access.delete_key, 401)):
            change(site.access, key.prefix)
            eventually(lambda status=status: {server.get("/v1/acme/posts").status for _ in range(40)} == {status})
