"""A disk without a free byte, and an audit log that cannot be written: rights are taken away all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.access.audit.log import AuditLog
from tests.programs.command_line import process
from tests.server.console.browsing import KEYS, OWNER, Browser, console, site_with_members
from tests.sites.served_site import Running, Site, eventually
from tests.stores.small_disk import fill, small_disk

pytestmark = pytest.mark.slow


def told(site: Site) -> list[str]:
    log = AuditLog(site.place.objects, site.workspace)
    return [one.sentence for month in log.months() for one in log.entries(month)]


def accepts(server: Running, key: str) -> bool:
    return server.get("/v1/acme/posts", headers={"X-API-KEY": key}).status == 200


def problems(server: Running) -> list[str]:
    return [str(problem) for workspace in server.get("/readyz").json["workspaces"] for problem in workspace["problems"]]


def test_on_a_full_disk_keys_end_and_people_sign_out(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64 << 20) as disk:
        site = site_with_members(disk)
        (first, text), (second, other) = site.key(), site.key()
        store = site.store.root
        with console(site, tmp_path / "log", cache=str(tmp_path / "cache")) as server:
            eventually(lambda: accepts(server, text) and accepts(server, other))
            browser, elsewhere = Browser(server), Browser(server)
            browser.sign_in(store, OWNER)
            elsewhere.sign_in(store, OWNER)
            fill(disk)

            refused = process("key", "create", "New", "--store", store)
            assert (refused.status, "the disk is full" in refused.err) == (1, True), refused.err
            refused = process("key", "edit", first.prefix, "--validity", "none", "--store", store)
            assert refused.status == 1, "a longer period gives rights"
            assert accepts(server, text)

            done = process("key", "disable", first.prefix, "--store", store)
            assert done.status == 0, done.err
            eventually(lambda: not accepts(server, text))
            assert browser.post(f"{KEYS}/{second.id}/delete", {"confirmed": "1"}).status == 303
            eventually(lambda: not accepts(server, other))
            assert told(site)[:2] == [
                f"Deleted the key “test” ({second.prefix}).",
                f"Disabled the key “test” ({first.prefix}).",
            ]
            kept = dict(browser.cookies)
            assert browser.post("/console/-/sign-out").status == 303
            browser.cookies = kept
            assert browser.get("/console/acme").status == 303, "the session has ended, not only its cookie"
            assert elsewhere.get("/console/acme").status == 200
            assert problems(server) == []


def test_a_log_that_cannot_be_written_keeps_no_right_alive(tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    (key, text), (narrowed, _) = site.key(), site.key()
    blocked = site.place.directory / "audit"
    assert not blocked.exists()
    blocked.touch()
    with console(site, tmp_path / "log") as server:
        eventually(lambda: accepts(server, text))
        refused = process("key", "enable", key.prefix, "--store", site.store.root)
        assert refused.status == 1
        done = process("key", "disable", key.prefix, "--store", site.store.root)
        assert done.status == 0
        assert "the audit log cannot be written" in done.err
        assert "Its line is added as soon as the log can be written again." in done.err
        narrow = ("key", "edit", narrowed.prefix, "--api", "posts", "--store", site.store.root)
        assert process(*narrow).status == 0
        wide = ("key", "edit", narrowed.prefix, "--all-apis", "--store", site.store.root)
        assert process(*wide).status == 1
        eventually(lambda: not accepts(server, text))
        eventually(lambda: any("audit log cannot be written" in problem for problem in problems(server)))
        blocked.unlink()
        eventually(lambda: len(told(site)) == 2)
        assert "for Posts" in told(site)[0] or "posts" in told(site)[0]
        assert told(site)[1] == f"Disabled the key “test” ({key.prefix})."
        eventually(lambda: problems(server) == [])
        assert process(*wide).status == 0
