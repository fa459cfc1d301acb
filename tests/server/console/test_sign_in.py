"""Signing in as an adversary would like it to be: links, sessions, cookies, origins, addresses to return to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.access.sign_in.people import member
from engine.access.sign_in.sign_ins import DOCUMENT, LINK_MS
from snapshots.times import now_ms
from tests.server.console.browsing import (
    EDITOR,
    KEYS,
    MAINTAINER,
    OPERATOR,
    OWNER,
    Browser,
    console,
    members,
    path_of,
    sign_ins,
    site_with_members,
)
from tests.sites.served_site import Running, Site, eventually, serving

HOME = "/console/acme"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with console(site, tmp_path_factory.mktemp("log") / "log", workers=2) as running:
        yield running


@pytest.fixture
def browser(server: Running) -> Browser:
    return Browser(server)


def test_it_is_off_unless_switched_on(site: Site, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log") as server:
        eventually(lambda: server.get("/readyz").status == 200)
        for path in ("/console", "/console/-/sign-in", KEYS):
            assert server.get(path).message.startswith("There is nothing at this path")


def test_nothing_is_shown_to_who_is_not_signed_in(browser: Browser) -> None:
    for path in ("/console", HOME, KEYS, f"{KEYS}/new", f"{KEYS}/key_x/validity", "/console/nowhere"):
        answer = browser.get(path)
        assert (answer.status, answer.header("location")) == (303, "/console/-/sign-in"), path
        assert answer.body == b""
    assert "cms console" in browser.get("/console/-/sign-in").text


def test_a_link_signs_in_once_and_looking_at_it_does_not_use_it_up(site: Site, browser: Browser) -> None:
    token = sign_ins(site).new_link(member(OWNER), now_ms())
    scanner = Browser(browser.server)
    for _ in range(3):  # as programs do that look at mails
        assert OWNER in scanner.get(f"/console/-/link?token={token}").text
    assert scanner.cookies == {}
    assert browser.post("/console/-/link", {"token": token}).header("location") == "/console"
    assert "Olga" in browser.get(HOME).text
    again = Browser(browser.server)
    assert again.post("/console/-/link", {"token": token}).status == 410
    assert again.get(f"/console/-/link?token={token}").status == 410
    assert again.cookies == {}


def test_of_many_who_use_a_link_at_once_one_comes_in(site: Site, server: Running) -> None:
    token = sign_ins(site).new_link(member(OWNER), now_ms())
    browsers = [Browser(server) for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda one: one.post("/console/-/link", {"token": token}).status, browsers))
    assert sorted(found) == [303] + [410] * 11


def test_a_link_gets_too_old_and_guesses_are_none(site: Site, browser: Browser) -> None:
    old = sign_ins(site).new_link(member(OWNER), now_ms() - LINK_MS - 1000)
    for token in (old, "", "x", "A" * 43, "%00", "é"):
        assert browser.post("/console/-/link", {"token": token}).status == 410
    assert browser.cookies == {}


def test_the_session_is_new_whatever_the_browser_held_before(site: Site, browser: Browser) -> None:
    """Session fixation: neither a made-up session nor another's lives on after signing in."""
    browser.cookies["parquetry-session"] = "chosen-by-somebody-else"
    assert browser.get(HOME).status == 303
    browser.sign_in(site.store.root, OWNER)
    first = browser.cookies["parquetry-session"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", first)
    browser.sign_in(site.store.root, MAINTAINER)
    assert browser.cookies["parquetry-session"] != first
    earlier = Browser(browser.server, {"parquetry-session": first})
    assert earlier.get(HOME).status == 303


def test_what_the_store_holds_signs_nobody_in(site: Site, browser: Browser) -> None:
    browser.sign_in(site.store.root, OWNER)
    file = site.store.root / DOCUMENT
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert browser.cookies["parquetry-session"] not in text
    for found in re.findall(r'"hash": *"([0-9a-f]{64})"', text):
        assert Browser(browser.server, {"parquetry-session": found}).get(HOME).status == 303


def test_the_cookie_over_http_and_over_https(site: Site, browser: Browser) -> None:
    [cookie] = [one for one in browser.sign_in(site.store.root, OWNER).cookies if one.startswith("parquetry-session=")]
    attributes = set(cookie.split("; ")[1:])
    assert attributes == {"Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Lax"}
    secure = Browser(browser.server, headers={"X-Forwarded-Proto": "https"})
    cookies = secure.sign_in(site.store.root, OWNER).cookies
    [cookie] = [one for one in cookies if one.startswith("__Host-parquetry-session=")]
    assert {"Secure", "Path=/", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; ")[1:])
    assert "Domain" not in cookie
    assert secure.get(HOME).status == 200
    # A cookie that another host of the domain could have set counts for nothing there.
    plain = Browser(browser.server, {"parquetry-session": secure.cookies["__Host-parquetry-session"]}, secure.headers)
    assert plain.get(HOME).status == 303


def test_signing_out_here_and_everywhere(site: Site, server: Running) -> None:
    one, two, three, other = (Browser(server) for _ in range(4))
    for browser in (one, two, three):
        browser.sign_in(site.store.root, OWNER)
    other.sign_in(site.store.root, EDITOR)
    waiting = sign_ins(site).new_link(member(OWNER), now_ms())
    stolen = dict(one.cookies)
    answer = one.post("/console/-/sign-out")
    assert answer.header("location") == "/console/-/sign-in?done=signed-out"
    assert "You are signed out." in one.follow(answer).text
    assert set(one.cookies) == {"parquetry-known"}
    assert Browser(server, stolen).get(HOME).status == 303
    assert two.get(HOME).status == 200
    two.post("/console/-/sign-out", {"everywhere": "1"})
    assert three.get(HOME).status == 303
    assert other.get(HOME).status == 200
    assert one.post("/console/-/link", {"token": waiting}).status == 410


def test_every_worker_knows_a_session(site: Site, browser: Browser) -> None:
    browser.sign_in(site.store.root, OWNER)
    assert {browser.get(HOME).status for _ in range(30)} == {200}


CROSS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://{host}"},
    {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "", "Origin": "null"},
    {"Sec-Fetch-Site": "", "Origin": "http://{host}.evil.example"},
    {"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1"},
]


@pytest.mark.parametrize("headers", CROSS, ids=str)
def test_a_form_of_another_site_changes_nothing(site: Site, browser: Browser, headers: dict[str, str]) -> None:
    browser.sign_in(site.store.root, OWNER)
    sent = {name: value.format(host=browser.server.host) for name, value in headers.items()}
    before = site.access.read()
    answer = browser.post(
        f"{KEYS}/issue", {"id": "key_abcdefghijkl", "name": "x", "scope": "all", "validity": "90d"}, sent
    )
    assert answer.status == 403
    assert "Nothing was changed" in answer.text
    assert site.access.read() == before
    assert browser.post("/console/-/sign-out", (), sent).status == 403
    token = sign_ins(site).new_link(OPERATOR, now_ms())
    assert browser.post("/console/-/link", {"token": token}, sent).status == 403
    assert "Olga" in browser.get(HOME).text


def test_a_browser_that_does_not_tell_is_believed_by_its_origin(site: Site, browser: Browser) -> None:
    browser.sign_in(site.store.root, OWNER)
    own = {"Sec-Fetch-Site": "", "Origin": f"http://{browser.server.host}"}
    assert browser.post("/console/-/sign-out", (), own).status == 303


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/json", ""])
def test_only_forms_are_taken(site: Site, browser: Browser, kind: str) -> None:
    browser.sign_in(site.store.root, OWNER)
    assert browser.post("/console/-/sign-out", (), {"Content-Type": kind}).status == 415
    assert browser.get(HOME).status == 200


def test_forms_have_bounds(site: Site, browser: Browser) -> None:
    browser.sign_in(site.store.root, OWNER)
    assert browser.post(f"{KEYS}/issue", {"name": "x" * 70_000}).status == 413
    assert browser.post(f"{KEYS}/issue", [("a", "")] * 2001).status == 400


@pytest.mark.parametrize(
    "path",
    [HOME, KEYS, f"{KEYS}/new", "/console/acme/settings/audit-log", "/console/acme/none", "/console/-/sign-in"],
)
def test_no_other_site_can_frame_or_read_a_page(site: Site, browser: Browser, path: str) -> None:
    browser.sign_in(site.store.root, OWNER)
    answer = browser.get(path, {"Origin": "https://evil.example"})
    policy = dict(one.split(" ", 1) for one in (answer.header("content-security-policy") or "").split("; "))
    assert policy["frame-ancestors"] == policy["default-src"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("access-control-allow-origin") is None
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("referrer-policy") == "same-origin"


def test_after_signing_in_one_is_where_one_wanted_to_go(site: Site, browser: Browser) -> None:
    """The letter before a key expires leads to the form of its validity (contract 6.2)."""
    key, _ = site.key()
    browser.get(f"{KEYS}/{key.id}/validity")
    answer = browser.sign_in(site.store.root, MAINTAINER)
    assert answer.header("location") == f"{KEYS}/{key.id}/validity"
    assert browser.follow(answer).status == 200
    assert list(browser.cookies) == ["parquetry-session", "parquetry-known"]


@pytest.mark.parametrize(
    "wanted",
    [
        *("//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "evil.example"),
        *("acme/../../evil", "acme/%2e%2e", "acme?x=1", "acme//evil", "acme/x\r\nLocation: x", "-/sign-out", ""),
        *("acme/" + "x" * 101, "a/" * 20, "javascript:alert(1)", ".", ".."),
    ],
)
def test_nobody_is_led_elsewhere_after_signing_in(site: Site, browser: Browser, wanted: str) -> None:
    browser.cookies["parquetry-wanted"] = wanted.replace("\r\n", " ")
    answer = browser.sign_in(site.store.root, OWNER)
    location = answer.header("location") or ""
    assert location == "/console" or re.fullmatch(r"/console/[a-z0-9][a-z0-9-]*(/[\w.~-]+)*", location), location
    assert ".." not in location


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example/console",
        "/console//evil.example",
        "/console/%2F%2Fevil.example",
        "/console/..%2f..%2fetc",
        "/console/../v1/acme/posts",
        "/console/%2e%2e/",
        "/console/acme/../../x",
        "/console/\\evil.example",
        "/console/acme%00/settings",
        "/console/ACME",
        "/console/.console",
        "/console/-/files/../../settings.py",
        "/console/-/files/..%2f..%2frendering.py",
        "/console/-/files/frame.html",
    ],
)
def test_no_path_leads_out_of_the_console(site: Site, browser: Browser, target: str) -> None:
    browser.sign_in(site.store.root, OWNER)
    answer = browser.get(target)
    assert answer.status in (401, 404), answer.status
    assert answer.header("location") is None
    assert b"Traceback" not in answer.body


def test_a_proxy_with_a_prefix(site: Site, tmp_path: Path) -> None:
    """The proxy takes its prefix off; links, forms, files and redirections of the pages have it."""
    with console(site, tmp_path / "log", CMS_PUBLIC_URL="https://acme.example/content-api/") as server:
        browser = Browser(server, headers={"Host": "10.0.0.7:8787"})
        assert browser.get(KEYS).header("location") == "/content-api/console/-/sign-in"
        answer = browser.sign_in(site.store.root, OWNER)
        assert answer.header("location") == f"/content-api{KEYS}"
        assert all(cookie.startswith("__Host-") for cookie in answer.cookies)
        page = browser.get(KEYS).page
        addresses = [node.attributes.get(name) for name in ("href", "src", "action") for node in page.css(f"[{name}]")]
        assert len(addresses) > 10
        assert all(str(one).startswith(("/content-api/console", "#main")) for one in addresses), addresses
        for one in addresses:
            if "/files/" in str(one):
                assert browser.get(path_of(str(one)).removeprefix("/content-api")).status == 200
        # The proxy may name itself to the server, while browsers know the public address.
        public = {"Sec-Fetch-Site": "", "Origin": "https://acme.example"}
        assert browser.post("/console/-/sign-out", (), {**public, "Origin": "https://evil.example"}).status == 403
        assert browser.post("/console/-/sign-out", (), public).status == 303


def test_a_role_is_that_of_the_current_version(tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    with console(site, tmp_path / "log") as server:
        browser = Browser(server)
        browser.sign_in(site.store.root, MAINTAINER)
        assert browser.get(KEYS).status == 200
        members(site, f"members:\n  - {{name: Mika, email: {MAINTAINER}, role: editor}}\n")
        assert browser.get(KEYS).status == 403
        assert browser.post(f"{KEYS}/issue", {"id": "key_abcdefghijkl", "name": "x", "validity": "90d"}).status == 403
        assert site.access.read() is None
        assert "API keys" not in browser.get(HOME).text
        members(site, f"members:\n  - {{name: Olga, email: {OWNER}, role: owner}}\n")
        assert browser.get(HOME).status == 404
        members(site, f"members:\n  - {{name: Mika, email: {MAINTAINER.upper()}, role: owner}}\n")
        assert browser.get(KEYS).status == 200


def test_another_workspace_s_members_learn_nothing(tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    other = Site(tmp_path, "other")
    with (other.source / "workspace.yaml").open("a") as file:
        file.write("members:\n  - {name: Eve, email: eve@other.example, role: owner}\n")
    other.publish("secret")
    key, _ = other.key()
    with console(site, tmp_path / "log") as server:
        browser = Browser(server)
        browser.sign_in(site.store.root, OWNER)
        here = browser.get(f"/console/other/settings/api-keys/{key.id}/validity")
        nowhere = browser.get(f"/console/nowhere/settings/api-keys/{key.id}/validity")
        assert here.status == nowhere.status == 404
        assert here.body == nowhere.body
        # A key of another workspace is none of this one.
        assert browser.get(f"{KEYS}/{key.id}/validity").status == 404
        assert browser.post(f"{KEYS}/{key.id}/delete", {"confirmed": "1"}).status == 404
        assert other.access.read() is not None
        assert len(other.access.read().keys) == 1  # type: ignore[union-attr]
        assert browser.get("/console").header("location") == HOME
        operator = Browser(server)
        operator.sign_in(site.store.root, OPERATOR)
        assert {"acme", "other"} <= set(operator.get("/console").text.lower().split())
        stranger = Browser(server)
        stranger.sign_in(site.store.root, "nobody@acme.example")
        assert "No workspaces" in stranger.get("/console").text


def test_editors_see_no_keys(site: Site, browser: Browser) -> None:
    key, _ = site.key()
    browser.sign_in(site.store.root, EDITOR)
    assert "API keys" not in browser.get(HOME).text
    for path in (KEYS, f"{KEYS}/new", f"{KEYS}/{key.id}/validity", f"{KEYS}/{key.id}/delete"):
        answer = browser.get(path)
        assert answer.status == 403
        assert "Only owners and maintainers of Acme" in answer.text
        assert key.prefix.encode() not in answer.body
    for action in ("issue", f"{key.id}/save", f"{key.id}/state", f"{key.id}/delete"):
        assert browser.post(f"{KEYS}/{action}", {"confirmed": "1"}).status == 403


def test_no_token_is_logged(site: Site, browser: Browser) -> None:
    token = sign_ins(site).new_link(member(OWNER), now_ms())
    browser.get(f"/console/-/link?token={token}")
    browser.post("/console/-/link", {"token": token})
    eventually(lambda: "/console/-/link?token=***" in browser.server.log())
    log = browser.server.log()
    assert token not in log
    assert browser.cookies["parquetry-session"] not in log
