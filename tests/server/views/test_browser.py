"""Page views as a real browser sends them: Chromium, pages of a site over TLS, and the snippet of the README."""

from __future__ import annotations

import re
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
import trustme

from tests.programs.copied_process import ROOT
from tests.sites.served_site import DEADLINE, Running, Site, eventually, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

SITE, OTHER, SERVICE = "www.acme.example", "other.example", "content.example"
PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
ROBOT = PERSON.replace("Chrome", "HeadlessChrome")
"""What Chromium says of itself when nobody looks at it."""
FLAGS = (
    f"--user-agent={PERSON}",  # not by page, as what is sent while a page is left forgets it
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--ignore-certificate-errors",
    "--no-first-run",
)


def snippet() -> str:
    """What the README tells the owner of a site to put on its pages."""
    found = re.findall(r"^```html\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return str(found[0])


class Pages(BaseHTTPRequestHandler):
    """The pages of any site."""

    bodies: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        body = f"<!doctype html><title>A page</title>{self.bodies.get(self.path, '')}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Front(BaseHTTPRequestHandler):
    """What ends TLS before the server: it passes each request on, with the address of the client."""

    behind: ClassVar[str] = ""

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        connection = HTTPConnection(self.behind, timeout=DEADLINE)
        try:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection.request(self.command, self.path, body, {**sent, "X-Forwarded-For": "198.51.100.7"})
            answer = connection.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() != "transfer-encoding":
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        finally:
            connection.close()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def over_tls(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve on a free port of this machine, which is what the block gets."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(SITE, OTHER, SERVICE).configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    directory = tmp_path_factory.mktemp("browser")
    site = Site(directory, "my-site")
    with (site.source / "workspace.yaml").open("a") as file:
        file.write("domains: ['*.acme.example']\n")
    site.publish("one")
    with serving(site.store, directory / "log", CMS_TRUSTED_PROXIES="127.0.0.1") as running:
        eventually(lambda: "serving snapshot version" in running.log())
        yield running


@pytest.fixture(scope="module")
def browser(server: Running) -> Iterator[Any]:
    """Chromium, for which the hosts above are here."""
    Pages.bodies = {"/blog/hello?from=mail": snippet()}
    Front.behind = server.host
    with over_tls(Pages) as pages, over_tls(Front) as front, playwright.sync_playwright() as play:
        hosts = f"MAP {SITE} 127.0.0.1:{pages}, MAP {OTHER} 127.0.0.1:{pages}, MAP {SERVICE} 127.0.0.1:{front}"
        launched = play.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, f"--host-resolver-rules={hosts}, MAP * ~NOTFOUND"]
        )
        try:
            yield launched
        finally:
            launched.close()


@contextmanager
def opened(browser: Any, url: str, user_agent: str | None = None) -> Iterator[Any]:
    """A page in a browser that has seen no other."""
    context = browser.new_context(user_agent=user_agent)
    try:
        page = context.new_page()
        page.goto(url)
        yield page
    finally:
        context.close()


def count(server: Running, kind: str, key: str) -> int:
    answer = server.get(f"/pv/my-site/counts?{'path' if kind == 'paths' else 'entryId'}={quote(key)}")
    return int(answer.json[kind][key])


FETCH = """async ([path, options]) => {
  const answer = await fetch("https://content.example/pv/my-site",
    {method: "POST", body: JSON.stringify({path}), ...options});
  return [answer.type, answer.status];
}"""
BEACON = 'path => navigator.sendBeacon("https://content.example/pv/my-site", JSON.stringify({path}))'


def test_the_snippet_of_the_readme_counts_a_view(server: Running, browser: Any) -> None:
    with opened(browser, f"https://{SITE}/blog/hello?from=mail"):
        eventually(lambda: count(server, "entries", "hello") == 1)
    assert count(server, "paths", "/blog/hello") == 0  # with an entry ID, the entry alone
    with opened(browser, f"https://{SITE}/blog/hello?from=mail") as page:
        assert page.evaluate(BEACON, "/after")
        eventually(lambda: count(server, "paths", "/after") == 1)
    assert count(server, "entries", "hello") == 1  # the same visitor again


def test_every_way_of_sending_counts(server: Running, browser: Any) -> None:
    with opened(browser, f"https://{SITE}/any") as page:
        assert page.evaluate(BEACON, "/beacon/") is True
        assert page.evaluate(FETCH, ["/cors", {}]) == ["cors", 204]
        assert page.evaluate(FETCH, ["/no-cors", {"mode": "no-cors"}]) == ["opaque", 0]
        assert page.evaluate(FETCH, ["/keepalive", {"mode": "no-cors", "keepalive": True}]) == ["opaque", 0]
        assert page.evaluate(FETCH, ["/日本語", {}]) == ["cors", 204]
        paths = ("/beacon", "/cors", "/no-cors", "/keepalive", "/日本語")
        eventually(lambda: all(count(server, "paths", path) == 1 for path in paths))
        url = "https://content.example/pv/my-site/counts?path=/cors"
        assert page.evaluate("async url => await (await fetch(url)).json()", url) == {
            "entries": {},
            "paths": {"/cors": 1},
        }


def test_a_beacon_sent_while_the_page_is_left_counts(server: Running, browser: Any) -> None:
    with opened(browser, f"https://{SITE}/any") as page:
        page.evaluate(f"addEventListener('pagehide', () => ({BEACON})('/left'))")
        page.goto(f"https://{SITE}/next")
        eventually(lambda: count(server, "paths", "/left") == 1)


def test_other_sites_and_robots_are_answered_alike_and_do_not_count(server: Running, browser: Any) -> None:
    with opened(browser, f"https://{OTHER}/any") as page:
        assert page.evaluate(FETCH, ["/elsewhere", {}]) == ["cors", 204]
        assert page.evaluate(BEACON, "/elsewhere")
    with opened(browser, f"https://{SITE}/any", user_agent=ROBOT) as page:
        assert page.evaluate("navigator.userAgent") == ROBOT
        assert page.evaluate(FETCH, ["/robot", {}]) == ["cors", 204]
        assert page.evaluate(BEACON, "/robot")
    with opened(browser, f"https://{SITE}/any") as page:
        assert page.evaluate(BEACON, "/person")
        eventually(lambda: count(server, "paths", "/person") == 1)
    assert [count(server, "paths", path) for path in ("/elsewhere", "/robot")] == [0, 0]
