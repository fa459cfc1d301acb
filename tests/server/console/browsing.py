"""A browser without pictures: a client of the console that keeps cookies and says where its requests come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from selectolax.lexbor import LexborHTMLParser

from engine.access.sign_in.people import Person, member
from engine.access.sign_in.sign_ins import SignIns
from snapshots.store.locations import open_objects
from snapshots.times import now_ms
from tests.sites.served_site import DEADLINE, Running, Site, eventually, serving

OWNER, MAINTAINER, EDITOR = "olga@acme.example", "mika@acme.example", "ed@acme.example"
MEMBERS = f"""\
name: Acme
timezone: Asia/Tokyo
members:
  - {{name: Olga, email: {OWNER}, role: owner}}
  - {{name: Mika, email: {MAINTAINER}, role: maintainer}}
  - {{name: Ed, email: {EDITOR}, role: editor}}
"""
OPERATOR = Person("root@server", is_operator=True)
KEYS = "/console/acme/settings/api-keys"


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def cookies(self) -> list[str]:
        return [value for key, value in self.headers if key.lower() == "set-cookie"]

    @property
    def text(self) -> str:
        """What people read of the page."""
        plain = self.body.replace(b"<bdi>", b"").replace(b"</bdi>", b"")  # they part no words
        body = LexborHTMLParser(plain).css_first("body")
        return " ".join(body.text(separator=" ").split()) if body else ""

    @property
    def page(self) -> LexborHTMLParser:
        return LexborHTMLParser(self.body)


@dataclass
class Browser:
    """One browser; ``headers`` go with every request."""

    server: Running
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, target: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.ask("GET", target, None, headers)

    def post(self, target: str, fields: object = (), headers: Mapping[str, str] | None = None) -> Answer:
        """Send a form as a page of the console does."""
        sent = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.ask("POST", target, urlencode(fields, doseq=True).encode(), sent)  # type: ignore[arg-type]

    def ask(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str] | None) -> Answer:
        connection = HTTPConnection(self.server.host, timeout=DEADLINE)
        sent = {k: v for k, v in {**self.headers, **(headers or {})}.items() if v}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, target, body, sent)
            response = connection.getresponse()
            answer = Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()
        for cookie in answer.cookies:
            name, _, rest = cookie.partition("=")
            value, _, attributes = rest.partition(";")
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def sign_in(self, store: Path, person: Person | str, prefix: str = "") -> Answer:
        """Use a printed link."""
        who = member(person) if isinstance(person, str) else person
        token = SignIns(open_objects(store)).new_link(who, now_ms())
        return self.post(f"{prefix}/console/-/link", {"token": token})

    def follow(self, answer: Answer) -> Answer:
        assert answer.status == 303, answer.body
        return self.get(answer.header("location") or "")


def site_with_members(directory: Path, workspace: str = "acme", **options: int) -> Site:
    site = Site(directory, workspace, **options)
    with (site.source / "workspace.yaml").open("a") as file:
        file.write(MEMBERS)
    site.publish("one")
    return site


def sign_ins(site: Site) -> SignIns:
    return SignIns(open_objects(site.store.root))


@contextmanager
def console(site: Site, log: Path, **settings: object) -> Iterator[Running]:
    """Run the server with its console on."""
    with serving(site.store, log, CMS_CONSOLE="1", **settings) as server:  # type: ignore[arg-type]
        eventually(lambda: server.get("/readyz").status == 200)
        yield server


def members(site: Site, text: str) -> None:
    """Publish a version with other members."""
    path = site.source / "workspace.yaml"
    path.write_text(re.sub(r"members:\n(  - .*\n)*", text, path.read_text()))
    site.publish("other members")


def path_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
