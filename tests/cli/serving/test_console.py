"""``cms console``: a link that a running server takes, once."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from engine.access.sign_in.people import member
from engine.access.sign_in.sign_ins import DOCUMENT
from snapshots.times import now_ms
from tests.programs.command_line import Cms, in_process
from tests.server.console.browsing import EDITOR, sign_ins, site_with_members


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_PUBLIC_URL", raising=False)
    return in_process(monkeypatch, capsys)


def token_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["token"][0]


def test_a_link_for_oneself_and_one_for_a_member(cms: Cms, tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    printed = cms("console", "--store", site.store.root)
    assert printed.status == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:8787/console/-/link\?token=[\w-]{43}\n", printed.out)
    found = sign_ins(site).link(token_of(printed.out.strip()), now_ms())
    assert found is not None
    assert found.person.is_operator
    document = cms(
        "console", "--as", EDITOR.upper(), "--store", site.store.root, "--public-url", "https://x.example/p/", "--json"
    ).json
    assert document["url"].startswith("https://x.example/p/console/-/link?token=")
    assert document["as"] == EDITOR
    found = sign_ins(site).link(token_of(document["url"]), now_ms())
    assert found is not None
    assert found.person == member(EDITOR)


def test_nobody_else_gets_one(cms: Cms, tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    refused = cms("console", "--as", "eve@acme.example", "--store", site.store.root)
    assert refused.status == 1
    assert "has a member with the address eve@acme.example" in refused.err
    assert not (site.store.root / DOCUMENT).exists()


def test_a_store_without_a_workspace(cms: Cms, tmp_path: Path) -> None:
    refused = cms("console", "--store", tmp_path / "empty", "--json")
    assert refused.status == 1
    assert "has no workspace to sign in to" in refused.json["error"]
    assert not (tmp_path / "empty").exists()
