"""``cms redirects``: what it prints is read by nginx itself where there is one, and by naive readers of each form."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx2
import pytest

from snapshots.build.build import build
from snapshots.store.store import Store
from tests.programs.command_line import Cms, in_process
from tests.servers.ports import free_port
from tests.sites.imported import write_files
from tests.sites.served_site import eventually

POSTS = """\
uid: api_posts
endpoint: posts
kind: list
multilingual: true
page_url: {page_url}
fields:
  - {{id: next, type: reference, api: posts}}
"""


def entry(aliases: str = "", **values: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in values.items())
    return f"createdAt: 2026-01-01\n{lines}" + (f"aliases: {aliases}\n" if aliases else "")


FILES = {
    "workspace.yaml": "id: w\nlanguages: [en, de]\n",
    "content/posts/new.yaml": entry("[old, older, /very/old.html, '/old shop/ä:b*c$1']"),
    "content/posts/new.de.yaml": entry("[/sehr/alt/]"),
    "content/posts/only.de.yaml": entry("einst"),
    "content/posts/other.yaml": entry("[/en/posts/new/]"),  # the page of another
    "content/posts/draft.yaml": entry("secret", status="draft"),
    "content/posts/late.yaml": entry("soon", status="scheduled", publishStart="2999-01-01"),
}
EXPECTED = {
    "/en/posts/old/": "/en/posts/new/",
    "/de/posts/old/": "/de/posts/new/",
    "/en/posts/older/": "/en/posts/new/",
    "/de/posts/older/": "/de/posts/new/",
    "/de/posts/einst/": "/de/posts/only/",
    "/en/posts/soon/": "/en/posts/late/",
    "/very/old.html": "/en/posts/new/",
    "/old shop/ä:b*c$1": "/en/posts/new/",
    "/sehr/alt/": "/de/posts/new/",
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def workspace(root: Path, page_url: str = "/{lang}/posts/{id}/", **files: str) -> Path:
    return write_files(root, {**FILES, "apis/posts.yaml": POSTS.format(page_url=page_url), **files})


def of_json(text: str) -> dict[str, str]:
    return {unquote(row["from"]): row["to"] for row in json.loads(text)}


def of_netlify(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        path, address, status = line.split(" ")
        assert status == "301"
        assert re.search(r"[:*]|%[^0-9A-F]", path) is None
        found[unquote(path)] = address
    return found


def of_nginx(text: str) -> dict[str, str]:
    line = re.compile(r'location = "([^"\\]+)" \{ return 301 "([^"\\]+)\$is_args\$args"; \}')
    matches = [line.fullmatch(one) for one in text.splitlines()]
    return {match[1]: match[2] for match in matches if match is not None and match[1] in EXPECTED}


@pytest.mark.parametrize(("form", "read"), [("json", of_json), ("netlify", of_netlify), ("nginx", of_nginx)])
def test_every_form_has_the_redirects(tmp_path: Path, cms: Cms, form: str, read: Callable[[str], Any]) -> None:
    ran = cms("redirects", workspace(tmp_path), "--format", form)
    assert ran.status == 0
    assert read(ran.out) == EXPECTED
    assert "/en/posts/new/, of 'other' in posts, is the page of an entry: no redirect." in ran.err
    assert "secret" not in ran.out + ran.err
    assert cms("redirects", tmp_path, "--format", form).out == ran.out  # nothing to compile


@contextmanager
def nginx(directory: Path, redirects: str) -> Iterator[str]:
    """nginx itself, with the printed lines in a server block; its address."""
    port = free_port()
    (directory / "redirects.conf").write_text(redirects)
    (directory / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;\n"
        "events {}\nhttp { access_log off;\n"
        + "".join(
            f"  {name}_temp_path {directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        + f"  server {{ listen 127.0.0.1:{port}; absolute_redirect off; include {directory}/redirects.conf;\n"
        "    location / { return 200 page; } } }\n"
    )
    command = [shutil.which("nginx") or "nginx", "-e", f"{directory}/error.log", "-c", f"{directory}/nginx.conf"]
    process = subprocess.Popen([*command, "-p", str(directory)])
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, (directory / "error.log").read_text()
        try:
            return httpx2.get(f"{address}/here").status_code == 200
        except httpx2.TransportError:
            return False

    try:
        eventually(answers)
        yield address
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx on this machine")
def test_nginx_leads_from_old_pages_to_new_ones(tmp_path: Path, cms: Cms) -> None:
    printed = cms("redirects", workspace(tmp_path / "w"), "--format", "nginx").out
    with nginx(tmp_path, printed) as address:
        for path, target in EXPECTED.items():
            other = path.rstrip("/") if path.endswith("/") else path
            for asked in (quote(path), quote(other), quote(path) + "?a=1&b=2"):
                answer = httpx2.get(address + asked)
                query = asked.partition("?")[1] + asked.partition("?")[2]
                assert (answer.status_code, answer.headers["location"]) == (301, target + query)
        for path in ("/en/posts/new/", "/en/posts/secret/", "/en/posts/old/more", "/very/old.html/"):
            assert httpx2.get(address + path).status_code == 200


def test_addresses_with_a_host_and_without_a_language(tmp_path: Path, cms: Cms) -> None:
    root = workspace(tmp_path, "https://site.example/p/{id}?x=1")
    printed = of_json(cms("redirects", root).out)
    assert printed["/p/old"] == "https://site.example/p/new?x=1"
    nginx_lines = cms("redirects", root, "--format", "nginx").out
    assert 'location = "/p/old" { return 301 "https://site.example/p/new?x=1"; }' in nginx_lines


def test_without_pages_there_is_nothing_to_print(tmp_path: Path, cms: Cms) -> None:
    root = workspace(tmp_path, **{"apis/posts.yaml": POSTS.format(page_url="~")})
    ran = cms("redirects", root)
    assert (ran.status, json.loads(ran.out)) == (0, [])
    assert "posts has aliases and no 'page_url'" in ran.err


def test_a_workspace_with_errors_prints_none(tmp_path: Path, cms: Cms) -> None:
    ran = cms("redirects", workspace(tmp_path, **{"content/posts/x.yaml": "createdAt: no\n"}))
    assert (ran.status, ran.out) == (1, "")
    assert "`cms check` lists them" in ran.err


def test_printing_leaves_the_next_build_right(tmp_path: Path, cms: Cms) -> None:
    root = workspace(tmp_path / "w", **{"content/posts/x.yaml": entry(next="old")})
    cms("redirects", root)
    store = Store(tmp_path / "s", root / ".cms/cache")
    assert [p.kind for p in build(root, store, now=0).problems.kept] == ["old-id"]


def test_the_api_knows_new_ids_only(tmp_path: Path, cms: Cms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace(tmp_path, **{"content/posts/x.yaml": entry(next="old")}))
    assert cms("snapshot", "build").status == 0
    assert cms("query", "posts/x?depth=0&fields=next").json == {"id": "x", "next": "new"}
    assert cms("query", "posts/x?fields=next").json["next"]["id"] == "new"
    assert cms("query", "posts/old").status == 1
    for asked, found in (("old", []), ("new", ["x"])):
        answer = cms("query", f"posts?filters=next[equals]{asked}&fields=id").json
        assert [one["id"] for one in answer["contents"]] == found
    for written in ("{a: b}", "[[x]]", "[{a: b}, 5, ~, '', 'x y']", "''", "!!str earlier"):
        (tmp_path / "content/posts/odd.yaml").write_text(f"createdAt: 2026-01-01\naliases: {written}\n")
        assert cms("check").status == 0
