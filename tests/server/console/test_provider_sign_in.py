"""Signing in at a provider as an adversary would like it to be: other browsers, replays, other hosts."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from engine.access.sign_in.oidc.attempt import ATTEMPT_MS, new_attempt
from server.console.process.waiting_requests import MOST_OF_VISITOR
from server.console.provider_sign_in import MOST_AT_ONCE
from snapshots.times import now_ms
from tests.server.console.browsing import (
    KEYS,
    MAINTAINER,
    OWNER,
    Answer,
    Browser,
    console,
    members,
    site_with_members,
)
from tests.servers.openid_connect.hostile_provider import CLIENT, SECRET, HostileProvider, Reply, hostile_provider
from tests.sites.served_site import Running, Site, eventually

SIGN_IN = "/console/-/sign-in"
PROVIDER = "/console/-/provider"
CALLBACK = f"{PROVIDER}/callback"
HOME = "/console/acme"
ATTEMPT, SESSION, WANTED = "parquetry-provider", "parquetry-session", "parquetry-wanted"


def settings(hostile: HostileProvider) -> dict[str, str]:
    return {
        "CMS_PUBLIC_URL": "http://acme.example",
        "CMS_OIDC_ISSUER": hostile.issuer,
        "CMS_OIDC_CLIENT_ID": CLIENT,
        "CMS_OIDC_CLIENT_SECRET": SECRET,
        "CMS_OIDC_NAME": "Evil & <b>Sons</b>",
    }


@pytest.fixture(scope="module")
def running_provider() -> Iterator[HostileProvider]:
    with hostile_provider() as running:
        yield running


@pytest.fixture
def hostile(running_provider: HostileProvider) -> HostileProvider:
    """The provider, as well-behaved as at first."""
    running_provider.behave()
    return running_provider


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def server(
    site: Site, running_provider: HostileProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("log") / "log"
    with console(site, log, workers=2, **settings(running_provider)) as running:
        yield running


def begin(browser: Browser) -> str:
    """Press the button: the address at the provider."""
    answer = browser.get(PROVIDER, {"Sec-Fetch-Site": "same-origin"})
    assert answer.status == 303, answer.text
    return answer.header("location") or ""


def come_back(browser: Browser, query: str) -> Answer:
    return browser.get(f"{CALLBACK}?{query}", {"Sec-Fetch-Site": "cross-site"})


def sign_in(browser: Browser, hostile: HostileProvider) -> Answer:
    return come_back(browser, hostile.code_for(begin(browser)))


def test_a_member_comes_in_and_nothing_is_asked_before(server: Running, hostile: HostileProvider) -> None:
    browser = Browser(server)
    page = browser.get(SIGN_IN).page
    [button] = [node for node in page.css("main a") if node.text().startswith("Sign in with")]
    assert (button.text(), button.attributes["href"]) == ("Sign in with Evil & <b>Sons</b>", PROVIDER)
    assert browser.get(HOME).status == 303
    assert hostile.asked == []
    answer = sign_in(browser, hostile)
    assert (answer.status, answer.header("location")) == (303, HOME)
    assert set(browser.cookies) == {SESSION, "parquetry-known"}
    assert "Olga" in browser.get(HOME).text
    told = len(hostile.asked)
    browser.post("/console/-/sign-out")
    assert len(hostile.asked) == told


def test_the_cookie_of_the_way_there_and_of_the_session(server: Running, hostile: HostileProvider) -> None:
    browser = Browser(server)
    begun = browser.get(PROVIDER)
    [cookie] = begun.cookies
    assert cookie.startswith(f"{ATTEMPT}=")
    assert set(cookie.split("; ")[1:]) == {"Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax"}
    assert begun.header("cache-control") == "no-store"
    query = hostile.code_for(begun.header("location") or "")
    answer = come_back(browser, query)
    assert [one.partition("=")[0] for one in answer.cookies] == [SESSION, WANTED, "parquetry-known", ATTEMPT]
    session = answer.cookies[0]
    assert set(session.split("; ")[1:]) == {"Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Lax"}
    assert cookie.partition("=")[2].partition(";")[0] not in (begun.header("location") or "")


def test_only_the_browser_that_was_sent_there_comes_in(server: Running, hostile: HostileProvider) -> None:
    """So nobody signs a victim's browser in as somebody else, or makes use of a way back that was overheard."""
    browser, victim, bystander = (Browser(server) for _ in range(3))
    query = hostile.code_for(begin(browser))
    theirs = hostile.code_for(begin(victim), "another code")
    for other in (victim, bystander, Browser(server, {ATTEMPT: "x"}), Browser(server, {ATTEMPT: ""})):
        held = dict(other.cookies)
        answer = come_back(other, query)
        assert answer.status == 400
        assert "started in another browser" in answer.text
        assert other.cookies == held  # a sign-in that is under way in it goes on
    assert "/token" not in [path for path, _ in hostile.asked]
    assert come_back(browser, query).status == 303
    assert come_back(victim, theirs).status == 303


@pytest.mark.parametrize("query", ["", "code=a+code", "code=a+code&state=", "state={0}x&code=a+code", "state=%00"])
def test_without_the_state_there_is_no_way_back(server: Running, hostile: HostileProvider, query: str) -> None:
    browser = Browser(server)
    address = begin(browser)
    hostile.code_for(address)
    [state] = parse_qs(urlsplit(address).query)["state"]
    assert come_back(browser, query.format(state)).status == 400
    assert [path for path, _ in hostile.asked if path == "/token"] == []


def test_a_way_back_is_good_for_once(server: Running, hostile: HostileProvider) -> None:
    """By any worker, and although the provider takes a code as often as it comes."""
    hostile.forgets_codes = False
    browser = Browser(server)
    query = hostile.code_for(begin(browser))
    copies = [Browser(server, dict(browser.cookies)) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: come_back(one, query), copies))
    assert sorted(one.status for one in found) == [303] + [400] * 7
    assert {one.text for one in found if one.status == 400} == {
        "Skip to the content This sign-in has expired This sign-in has already been completed. Start again. "
        "Back to sign-in"
    }
    assert sum(SESSION in one.cookies for one in copies) == 1


@pytest.mark.slow
def test_another_machine_takes_the_way_back(
    server: Running, site: Site, hostile: HostileProvider, tmp_path: Path
) -> None:
    hostile.forgets_codes = False
    with console(site, tmp_path / "log", **settings(hostile)) as other:
        browser = Browser(server)
        query = hostile.code_for(begin(browser))
        there, later = Browser(other, dict(browser.cookies)), Browser(server, dict(browser.cookies))
        assert come_back(there, query).status == 303
        assert "has already been completed" in come_back(later, query).text
        assert Browser(server, there.cookies).get(HOME).status == 200


def test_a_way_back_is_good_for_ten_minutes(server: Running, hostile: HostileProvider) -> None:
    late = new_attempt(now_ms() - ATTEMPT_MS)
    browser = Browser(server, {ATTEMPT: late.text})
    assert come_back(browser, f"code=a+code&state={late.state}").status == 400
    assert hostile.asked == []


def test_the_session_is_new_and_ends_the_one_before(server: Running, hostile: HostileProvider) -> None:
    browser = Browser(server, {SESSION: "chosen-by-somebody-else"})
    sign_in(browser, hostile)
    first = browser.cookies[SESSION]
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", first)
    hostile.address = MAINTAINER
    sign_in(browser, hostile)
    assert "Mika" in browser.get(HOME).text
    assert Browser(server, {SESSION: first}).get(HOME).status == 303
    browser.post("/console/-/sign-out", {"everywhere": "1"})
    assert browser.get(HOME).status == 303


@pytest.mark.parametrize(
    ("wanted", "led"),
    [
        ("acme/settings/api-keys", KEYS),
        ("//evil.example", "/console"),
        ("https://evil.example", "/console"),
        ("acme/../../evil", "/console"),
        ("-/sign-out", "/console"),
    ],
)
def test_nobody_is_led_elsewhere(server: Running, hostile: HostileProvider, wanted: str, led: str) -> None:
    browser = Browser(server, {WANTED: wanted})
    assert sign_in(browser, hostile).header("location") == led


def test_no_request_tells_where_people_come_back_to(server: Running, hostile: HostileProvider) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    address = begin(Browser(server, headers=evil))
    assert parse_qs(urlsplit(address).query)["redirect_uri"] == ["http://acme.example/console/-/provider/callback"]
    assert address.startswith(f"{hostile.issuer}/authorize?")


@pytest.mark.parametrize("origin", ["cross-site", "same-site"])
def test_another_site_sends_nobody_there(server: Running, hostile: HostileProvider, origin: str) -> None:
    browser = Browser(server)
    answer = browser.get(PROVIDER, {"Sec-Fetch-Site": origin})
    assert (answer.status, answer.header("location")) == (303, SIGN_IN)
    assert browser.cookies == {}
    assert hostile.asked == []


@pytest.mark.parametrize("path", [PROVIDER, CALLBACK])
def test_only_a_browser_that_goes_there_counts(server: Running, path: str) -> None:
    browser = Browser(server)
    assert browser.ask("HEAD", path, None, None).status == 405
    assert browser.post(path, {"code": "a", "state": "b"}).status == 405


def test_what_a_provider_says_of_a_failure_is_not_repeated(server: Running, hostile: HostileProvider) -> None:
    browser = Browser(server)
    state = hostile.code_for(begin(browser)).partition("state=")[2]
    answer = come_back(browser, f"state={state}&error=access_denied&error_description=Call+0900%0AEVIL+<script>")
    assert answer.status == 403
    assert "Evil & <b>Sons</b> did not sign you in" in answer.text
    assert b"0900" not in answer.body
    assert browser.cookies == {}
    eventually(lambda: r"access_denied: Call 0900\nEVIL <script>" in server.log())
    assert "\nEVIL" not in server.log()
    assert [one.attributes["href"] for one in answer.page.css("main a")] == [SIGN_IN]


@pytest.mark.parametrize("code", ["", "%00", "%0d%0aX:+y", "é", "x" * 8001, "%ff"])
def test_codes_that_are_none(server: Running, hostile: HostileProvider, code: str) -> None:
    browser = Browser(server)
    state = hostile.code_for(begin(browser)).partition("state=")[2]
    assert browser.get(f"{CALLBACK}?state={state}&code={code if code.isascii() else '%C3%A9'}").status == 403
    assert [path for path, _ in hostile.asked if path == "/token"] == []


@pytest.mark.parametrize(
    "address",
    [
        "eve@acme.example",
        "olga@acme.example.evil.example",
        "root@server",
        "mi\u212aa@acme.example",  # whose lower case is mika's
        "<script>alert(1)</script>@x.example",
    ],
)
def test_who_is_no_member_learns_only_that(server: Running, site: Site, hostile: HostileProvider, address: str) -> None:
    hostile.address = address
    browser = Browser(server)
    answer = sign_in(browser, hostile)
    assert answer.status == 403
    assert f"says that you are {address}".replace("\u0000", "") in answer.text.replace("\ufffd", "").replace(
        "\u0000", ""
    )
    assert len(answer.page.css("script")) == 1
    assert browser.cookies == {}
    for name in ("Acme", "Olga", OWNER):
        assert name.encode() not in answer.body.replace(address.encode(), b"")


@pytest.mark.parametrize("address", ["OLGA@Acme.Example", " olga@acme.example"])
def test_the_case_of_an_address_does_not_count(server: Running, hostile: HostileProvider, address: str) -> None:
    hostile.address = address
    assert sign_in(Browser(server), hostile).status == (303 if address == address.strip() else 403)


def test_one_who_is_no_member_any_more(tmp_path: Path, hostile: HostileProvider) -> None:
    site = site_with_members(tmp_path)
    with console(site, tmp_path / "log", **settings(hostile)) as server:
        browser = Browser(server)
        assert sign_in(browser, hostile).status == 303
        members(site, f"members:\n  - {{name: Mika, email: {MAINTAINER}, role: owner}}\n")
        assert browser.get(HOME).status == 404
        assert sign_in(Browser(server), hostile).status == 403


PAGES = [
    ("unverified", {"email_verified": False}, 403, "does not confirm that your e-mail address is yours"),
    ("a clock", {"exp": 1_000_000}, 502, "is not valid according to this server's clock"),
    ("another nonce", {"nonce": "x"}, 502, "could not be verified"),
]


@pytest.mark.parametrize(("claims", "status", "told"), [row[1:] for row in PAGES], ids=[row[0] for row in PAGES])
def test_a_page_for_what_is_wrong(
    server: Running, hostile: HostileProvider, claims: dict[str, object], status: int, told: str
) -> None:
    hostile.claims = lambda found: {**found, **claims}
    browser = Browser(server)
    answer = sign_in(browser, hostile)
    assert answer.status == status
    assert told in answer.text
    assert [one.attributes["href"] for one in answer.page.css("main a")] == [SIGN_IN]
    assert browser.cookies == {}
    eventually(lambda: "nobody was signed in" in server.log())


def test_a_provider_that_hangs_holds_up_nobody(server: Running, site: Site, hostile: HostileProvider) -> None:
    """Nor does it take more than some requests of a process at once."""
    release = threading.Event()

    def hang() -> Reply:
        release.wait(20)
        return Reply({}, 503)

    hostile.replies["/token"] = hang
    # No more than one worker lets one address wait for, whichever worker they come to.
    ready = [Browser(server) for _ in range(MOST_OF_VISITOR)]
    queries = [hostile.code_for(begin(one), f"code-{number}") for number, one in enumerate(ready)]
    with ThreadPoolExecutor(MOST_OF_VISITOR) as pool:
        waiting = [pool.submit(come_back, one, query) for one, query in zip(ready, queries, strict=True)]
        eventually(lambda: sum(one.done() for one in waiting) >= MOST_OF_VISITOR - MOST_AT_ONCE)
        refused = [one.result() for one in waiting if one.done()]
        assert {one.status for one in refused} == {503}
        assert all("Many people are signing in" in one.text for one in refused)
        signed_in = Browser(server)
        signed_in.sign_in(site.store.root, OWNER)
        assert signed_in.get(HOME).status == 200
        release.set()
        assert {one.result().status for one in waiting} == {503}


def test_without_the_extra_the_server_says_what_to_install(tmp_path: Path, hostile: HostileProvider) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['authlib'] = None\n")
    store = {"CMS_STORE": str(tmp_path), "CMS_CONSOLE": "1", "PATH": "", "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import parquetry; parquetry.main()", "serve"]
    environment = settings(hostile) | store
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "pip install 'parquetry[oidc]'" in done.stderr
    assert SECRET not in done.stderr
