"""What holds for every page of a workspace in the console, also for those that are added later: who gets it, from
where it may be asked for, what a GET does, and what texts of others become."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selectolax.lexbor import LexborNode

from engine.webhooks.editing import add_endpoint, disable_endpoint
from engine.webhooks.webhooks_file import WebhooksFile
from server.console.navigation import ConsolePage
from server.console.routes import PAGES
from snapshots.times import now_ms
from tests.server.console.browsing import EDITOR, MEMBERS, OWNER, Answer, Browser, console
from tests.sites.served_site import Running, Site

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}\u202e"
"""It ends with a character by which all that follows is written from right to left."""
NASTY_MEMBER = "\"onload=alert(1)'{{7*7}}@acme.example"
"""What an address of workspace.yaml may hold: it may be neither < nor >."""
QUOTED = json.dumps(f"\"'>{NASTY}")
"""The same for YAML, after what ends an attribute."""
MORE_MEMBERS = f"  - {{name: {QUOTED}, email: {json.dumps(NASTY_MEMBER)}, role: owner}}\n"
CROSS = [{"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "", "Origin": "null"}]
POST_PAGES = [page for page in PAGES if "POST" in page.methods]
GET_PAGES = [page for page in PAGES if "GET" in page.methods]


def path_of(page: ConsolePage) -> str:
    return page.path or "the overview"


def each(pages: list[ConsolePage]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a test look at each ``page`` of these, and then fail with all at which it failed."""

    def of_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def look(**fixtures: object) -> None:
            failed = {}
            for page in pages:
                try:
                    test(page=page, **fixtures)
                except AssertionError as error:
                    failed[path_of(page)] = str(error)
            assert not failed, "\n".join(f"{path}: {why}" for path, why in failed.items())

        asked = [one for name, one in inspect.signature(test).parameters.items() if name != "page"]
        look.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        return look

    return of_all


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("console"))
    file = site.source / "workspace.yaml"
    file.write_text(file.read_text() + MEMBERS.replace("name: Acme", f"name: {QUOTED}", 1) + MORE_MEMBERS)
    (site.source / "apis" / "posts.yaml").write_text(
        (site.source / "apis" / "posts.yaml").read_text().replace("name: Posts", f"name: {QUOTED}")
    )
    site.publish("an earlier one")
    site.publish(NASTY)
    site.key()
    webhooks = WebhooksFile(site.place.objects, "acme")
    given = {"form": "standard", "token": None, "apis": None, "langs": None, "reasons": None, "current": None}
    hook, _ = add_endpoint(webhooks, "https://hooks.example/", **given, allow_loopback=False, now=now_ms())  # type: ignore[arg-type]
    disable_endpoint(webhooks, hook.id, now_ms())  # so that nothing but a page changes its file
    return site


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with console(site, tmp_path_factory.mktemp("log") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def owner(site: Site, server: Running) -> Browser:
    return signed_in(site, server, NASTY_MEMBER)


def signed_in(site: Site, server: Running, address: str) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, address)
    return browser


def address(page: ConsolePage, site: Site, workspace: str = "acme") -> str:
    """The page of what there is."""
    access = site.access.read()
    assert access is not None
    current = site.place.current()
    assert current is not None
    [earlier] = set(site.place.versions()) - {current.version}
    [hook] = WebhooksFile(site.place.objects, "acme").read()
    values = {"webhook": hook.id, "api": "posts", "entry": "post-0", "version": earlier, "key": access.keys[0].id}
    return f"/console/{workspace}" + re.sub(r"\{([a-z]+)\}", lambda found: values[found[1]], page.path)


OTHERS = re.compile(r"(^|/)(\.cache|views|_readers|webhooks-sender\.json|sign_ins\.json)|lock$")
"""What a server changes by itself, and what signing in changes."""


def stored(site: Site) -> dict[str, bytes]:
    """Every file of the store that a page could change."""
    found = {}
    for path in site.store.root.rglob("*"):
        name = path.relative_to(site.store.root).as_posix()
        if path.is_file() and not OTHERS.search(name):
            found[name] = path.read_bytes()
    return found


def ask(
    browser: Browser, page: ConsolePage, site: Site, method: str, workspace: str = "acme", **headers: str
) -> Answer:
    where = address(page, site, workspace)
    if method == "POST":
        return browser.post(where, (), {name.replace("_", "-"): value for name, value in headers.items()})
    return browser.get(where)


@each(list(PAGES))
def test_who_is_not_signed_in_sees_nothing(site: Site, server: Running, page: ConsolePage) -> None:
    for method in set(page.methods) - {"HEAD"}:
        answer = ask(Browser(server), page, site, method)
        assert answer.status == 303
        assert (answer.header("location") or "").startswith("/console/-/sign-in")
        assert answer.body == b""


@each(list(PAGES))
def test_who_is_no_member_learns_nothing(site: Site, server: Running, page: ConsolePage) -> None:
    stranger = signed_in(site, server, "eve@evil.example")
    for method in set(page.methods) - {"HEAD"}:
        here, nowhere = (ask(stranger, page, site, method, workspace) for workspace in ("acme", "nowhere"))
        assert (here.status, here.body) == (nowhere.status, nowhere.body)
        assert here.status == 404


@each([page for page in PAGES if page.manages])
def test_what_owners_and_maintainers_do_is_not_for_editors(site: Site, server: Running, page: ConsolePage) -> None:
    editor = signed_in(site, server, EDITOR)
    before = stored(site)
    for method in set(page.methods) - {"HEAD"}:
        assert ask(editor, page, site, method).status == 403
    assert stored(site) == before


def test_settings_and_whatever_changes_something_are_for_owners_and_maintainers() -> None:
    those = [page for page in PAGES if "POST" in page.methods or page.path.startswith("/settings")]
    assert len(those) > 8
    assert [page.path for page in those if not page.manages] == []


@each(POST_PAGES)
@pytest.mark.parametrize(
    "headers", [{"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "", "Origin": "null"}], ids=str
)
def test_no_other_site_sends_a_form(site: Site, owner: Browser, page: ConsolePage, headers: dict[str, str]) -> None:
    before = stored(site)
    assert ask(owner, page, site, "POST", **headers).status == 403
    assert stored(site) == before


@pytest.mark.slow
@each(GET_PAGES)
def test_looking_changes_nothing(site: Site, owner: Browser, page: ConsolePage) -> None:
    """A link of another site, or a program that follows links, makes GET requests with the cookies of its victim."""
    before = stored(site)
    where = address(page, site)
    for target in (where, f"{where}?confirmed=1&validity=90d&name=x&scope=all&action=disable&from=x&page=2"):
        assert owner.get(target).status == 200, target
    assert owner.ask("HEAD", where, None, None).status == 200
    assert stored(site) == before
    assert set(owner.cookies) == {"parquetry-session", "parquetry-known"}


@each(GET_PAGES)
def test_no_other_site_reads_or_frames_it(site: Site, owner: Browser, page: ConsolePage) -> None:
    answer = owner.get(address(page, site), {"Origin": "https://evil.example"})
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("cross-origin-resource-policy") == "same-origin"
    assert answer.header("cross-origin-opener-policy") == "same-origin"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("access-control-allow-origin") is None
    if (answer.header("content-type") or "").startswith("text/html"):
        policy = dict(one.split(" ", 1) for one in (answer.header("content-security-policy") or "").split("; "))
        assert policy["frame-ancestors"] == policy["default-src"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["form-action"] == "'self'"
    else:
        assert (answer.header("content-disposition") or "").startswith("attachment")


@each(GET_PAGES)
def test_texts_of_others_are_texts(site: Site, owner: Browser, page: ConsolePage) -> None:
    """The names of the workspace, an API, an entry and the member, and the member's address."""
    answer = owner.get(address(page, site))
    if not (answer.header("content-type") or "").startswith("text/html"):
        return
    assert "<script>alert(1)</script>" in answer.text
    assert NASTY_MEMBER in answer.text
    assert "49" not in answer.page.css_first("header").text()
    for script in answer.page.css("script"):
        assert str(script.attributes.get("src")).startswith("/console/-/files/")
    assert [one for one in answer.page.css("img") if one.attributes.get("src") == "x"] == []
    for node in answer.page.css("body *:not(option)"):
        if "\u202e" in node.text(deep=False):
            assert any(one.tag == "bdi" or "dir" in one.attributes for one in lineage(node)), node.html
    for node in answer.page.css("*"):
        assert [name for name in node.attributes if name.startswith("on")] == []
        assert not str(node.attributes.get("href") or "").lower().startswith("javascript:")


def lineage(node: LexborNode) -> Iterator[LexborNode]:
    """An element and those that it is in."""
    one: LexborNode | None = node
    while one is not None:
        yield one
        one = one.parent


TRICKS = [
    "//evil.example/console",
    "/console//evil.example",
    "/console/%2F%2Fevil.example",
    "/console/..%2f..%2fetc",
    "/console/../v1/acme/posts",
    "/console/%2e%2e/",
    "/console/acme/../../x",
    "/console/acme/%2e%2e/%2e%2e/x",
    "/console/\\evil.example",
    "/console/acme%00/settings",
    "/console/acme%0d%0aLocation:%20https://evil.example",
    "/content-api/console/acme",
    "/content-api//evil.example",
    "/console/-/../acme",
    "/console/-/provider/callback/../../sign-in",
    "/console/-/link?token=x&next=https://evil.example",
    "/console/-/sign-in?next=https://evil.example&done=https://evil.example",
]


@pytest.mark.slow
@pytest.mark.parametrize("public_url", ["https://acme.example/content-api", "https://acme.example"])
def test_behind_a_proxy_no_path_leads_elsewhere(site: Site, tmp_path: Path, public_url: str) -> None:
    """Before and after signing in, whatever was asked for before."""
    base = public_url.removeprefix("https://acme.example")
    with console(site, tmp_path / "log", CMS_PUBLIC_URL=public_url) as server:
        headers = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Prefix": "//evil.example", "X-Script-Name": "/evil"}
        for trick in TRICKS:
            browser = Browser(server, headers=headers)
            found = [browser.get(trick), browser.sign_in(site.store.root, OWNER), browser.get(trick)]
            for answer in found:
                location = answer.header("location")
                assert location is None or re.fullmatch(rf"{base}/console(/[A-Za-z0-9._~-]+)*", location), trick
                assert ".." not in (location or "")
                assert b"evil.example/" not in answer.body.replace(b"://evil.example", b"")
                assert answer.status in (200, 303, 401, 404, 410), trick
                assert all("__Host-" in cookie and "Path=/;" in cookie for cookie in answer.cookies)
