"""Signing in at a real provider of OpenID Connect: there, back, and on to the page that was wanted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.accessibility import violations
from tests.server.console.browsing import (
    KEYS,
    Answer,
    Browser,
    console,
    path_of,
    site_with_members,
)
from tests.servers.openid_connect.real_provider import SECRET, RealProvider, real_provider, sign_in_there
from tests.servers.ports import free_port
from tests.sites.served_site import Running, Site, eventually

PUBLIC = "https://acme.example/content-api"
CALLBACK = f"{PUBLIC}/console/-/provider/callback"
PROVIDER = "/console/-/provider"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    with real_provider(tmp_path_factory.mktemp("provider"), CALLBACK) as running:
        yield running


@pytest.fixture(scope="module")
def server(site: Site, provider: RealProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("log") / "log"
    with console(site, log, workers=2, CMS_PUBLIC_URL=PUBLIC, **provider.settings) as running:
        yield running


def come_back(browser: Browser, login: str) -> Answer:
    """Sign in at the provider, and come back from there as the proxy passes it on."""
    begun = browser.get(PROVIDER)
    assert begun.status == 303, begun.text
    address = sign_in_there(begun.header("location") or "", login, CALLBACK)
    return browser.get(path_of(address).removeprefix("/content-api"), {"Sec-Fetch-Site": "cross-site"})


def test_a_member_comes_to_the_page_that_was_wanted(site: Site, server: Running) -> None:
    key, _ = site.key()
    browser = Browser(server)
    wanted = f"{KEYS}/{key.id}/validity"
    assert browser.get(wanted).header("location") == "/content-api/console/-/sign-in"
    assert "Sign in with 127.0.0.1" in browser.get("/console/-/sign-in").text
    answer = come_back(browser, "mika")
    assert (answer.status, answer.header("location")) == (303, f"/content-api{wanted}")
    assert list(browser.cookies) == ["__Host-parquetry-session", "__Host-parquetry-known"]
    assert {browser.get(wanted).status for _ in range(10)} == {200}  # of every worker
    assert "Mika" in browser.get("/console/acme").text
    [cookie] = [one for one in answer.cookies if one.startswith("__Host-parquetry-session")]
    assert set(cookie.split("; ")[1:]) == {"Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Lax", "Secure"}
    browser.post("/console/-/sign-out")
    assert browser.get("/console/acme").status == 303


def test_who_is_no_member_or_has_no_verified_address_stays_outside(server: Running) -> None:
    stranger, unverified = Browser(server), Browser(server)
    answer = come_back(stranger, "eve")
    assert answer.status == 403
    assert "says that you are eve@acme.example. No workspace of this server has a member" in answer.text
    answer = come_back(unverified, "unverified-olga")
    assert answer.status == 403
    assert "does not confirm that your e-mail address is yours" in answer.text
    assert stranger.cookies == unverified.cookies == {}
    assert answer.page.css_first("main a").attributes["href"] == "/content-api/console/-/sign-in"


def test_no_secret_is_logged(server: Running) -> None:
    begun = Browser(server)
    answer = begun.get(PROVIDER)
    address = sign_in_there(answer.header("location") or "", "olga", CALLBACK)
    path = path_of(address).removeprefix("/content-api")
    assert begun.get(path).status == 303
    eventually(lambda: "callback?code=***&state=***" in server.log())
    log = server.log()
    assert "oidc_client_secret=***" in log
    for secret in (SECRET, *(one.partition("=")[2] for one in path.partition("?")[2].split("&")[:2])):
        assert secret not in log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("auth_method", "algorithm", "outside"),
    [("client_secret_basic", "ES256", False), ("client_secret_post", "PS256", True)],
)
def test_as_providers_differ(site: Site, tmp_path: Path, auth_method: str, algorithm: str, outside: bool) -> None:
    with (
        real_provider(
            tmp_path / "provider",
            CALLBACK,
            auth_method=auth_method,
            algorithm=algorithm,
            claims_outside_the_id_token=outside,
        ) as provider,
        console(site, tmp_path / "log", CMS_PUBLIC_URL=PUBLIC, **provider.settings) as server,
    ):
        browser = Browser(server)
        assert come_back(browser, "Olga").header("location") == "/content-api/console"
        assert "Olga" in browser.get("/console/acme").text


@pytest.mark.slow
def test_a_provider_that_goes_and_comes_with_other_keys(site: Site, tmp_path: Path) -> None:
    port = free_port()
    with real_provider(tmp_path / "provider", CALLBACK, port=port) as provider:
        settings = provider.settings
    # The server starts, and everything else works, without the provider.
    with console(site, tmp_path / "log", CMS_PUBLIC_URL=PUBLIC, **settings) as server:
        browser = Browser(server)
        answer = browser.get(PROVIDER)
        assert answer.status == 503
        assert "127.0.0.1 does not answer" in answer.text
        assert browser.get("/console/-/sign-in").status == 200
        for login in ("mika", "olga"):
            with real_provider(tmp_path / "provider", CALLBACK, port=port):
                assert come_back(browser, login).status == 303
                assert login in browser.get("/console/acme").text.lower()
            assert browser.get("/console/acme").status == 200


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.slow
def test_in_a_real_browser(site: Site, tmp_path: Path) -> None:
    """The page with the button for everybody, and the whole way without scripts, past every policy of the browser.

    The screenshots are among the test's temporary files: ``pytest --basetemp DIR`` keeps them.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    port = free_port()
    here = f"http://localhost:{port}"
    callback = f"{here}/console/-/provider/callback"
    mail = {"CMS_SMTP_URL": "smtp://127.0.0.1:9?tls=none"}
    with (
        real_provider(tmp_path / "provider", callback) as provider,
        console(
            site, tmp_path / "log", port=port, CMS_PUBLIC_URL=here, CMS_OIDC_NAME="Acme", **mail, **provider.settings
        ),
        playwright.sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for scheme, width in (("light", 1280), ("dark", 390)):
            context = browser.new_context(
                viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
            )
            page = context.new_page()
            page.goto(f"{here}/console/-/sign-in")
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.screenshot(path=tmp_path / f"sign-in-{scheme}-{width}.png", full_page=True)
            page.goto(f"{callback}?code=x&state=y")
            assert violations(page) == []
            page.screenshot(path=tmp_path / f"over-{scheme}-{width}.png", full_page=True)
            context.close()
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(f"{here}{KEYS}/new")
        page.get_by_role("button", name="Sign in with Acme").focus()
        page.keyboard.press("Enter")
        page.fill("[name=login]", "olga")
        page.fill("[name=password]", "any")
        page.click("button[type=submit]")
        page.click("button[type=submit]")
        assert page.url == f"{here}{KEYS}/new"
        assert page.inner_text("h1") == "Issue an API key"
        browser.close()
