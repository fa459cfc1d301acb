"""Signing in by e-mail: who gets a link, where it works, and what a stranger can learn or do."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from engine.access.sign_in.people import member
from engine.access.sign_in.sign_ins import DOCUMENT, MOST_FOR_STRANGERS
from server.console.mailing import MOST_OF_ASKER_FOR_ONE
from snapshots.times import now_ms
from tests.server.console.browsing import (
    EDITOR,
    MAINTAINER,
    OWNER,
    Answer,
    Browser,
    console,
    path_of,
    sign_ins,
    site_with_members,
)
from tests.servers.mail_server import MailServer, mail_server
from tests.sites.served_site import Running, Site, eventually

ASK = "/console/-/sign-in"
PROXY = {"CMS_TRUSTED_PROXIES": "127.0.0.0/8"}
ADDRESSES = (f"10.{number // 256}.{number % 256}.1" for number in count())
HOME = "/console/acme"


@pytest.fixture(scope="module")
def smtp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("smtp")) as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def server(site: Site, smtp: MailServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"CMS_SMTP_URL": smtp.url(), "CMS_PUBLIC_URL": "http://cms.acme.example/x", **PROXY}
    with console(site, tmp_path_factory.mktemp("log") / "log", workers=2, **settings) as running:
        yield running


@pytest.fixture(autouse=True)
def nobody_has_asked(site: Site, smtp: MailServer) -> None:
    """Each test begins without links and mails; each waits for the mails that it has sent."""
    (site.store.root / DOCUMENT).unlink(missing_ok=True)
    for mail in smtp.folder.glob("mail-*"):
        mail.unlink()


def ask(browser: Browser, address: str) -> Answer:
    """Ask from a network address that is the browser's own, unless it says which."""
    browser.headers.setdefault("X-Forwarded-For", next(ADDRESSES))
    return browser.post(ASK, {"email": address})


def link_in(smtp: MailServer, to: str) -> str:
    """The path of the link in the last mail to somebody, once it is there."""
    eventually(lambda: to in smtp.recipients())
    mail = [mail for mail in smtp.mails() if mail["X-Recipient"] == to][-1]
    texts = [part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"]
    found = {re.findall(r"http://cms\.acme\.example/x(/console/-/link\?token=[\w-]{43})\b", text)[0] for text in texts}
    assert len(texts) == 2
    return path_of(found.pop())


def token_in(path: str) -> dict[str, str]:
    return {"token": path.partition("token=")[2]}


def test_a_member_signs_in_with_a_mail(server: Running, smtp: MailServer) -> None:
    browser = Browser(server)
    assert "is a member" in ask(browser, f" {MAINTAINER.upper()} ").text
    path = link_in(smtp, MAINTAINER)
    [mail] = smtp.mails()
    assert mail["Subject"] == "Sign in to the console of Acme"
    assert "Hello Mika," in mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    for _ in range(3):  # looked at by programs, and by people who come back
        assert browser.get(path).status in (200, 410)
    assert MAINTAINER in browser.get(path).text
    assert browser.post("/console/-/link", token_in(path)).status == 303
    assert "Mika" in browser.get(HOME).text
    assert list(browser.cookies) == ["parquetry-session", "parquetry-known"]


def test_it_works_in_the_browser_that_asked_and_in_no_other(server: Running, smtp: MailServer) -> None:
    browser, thief = Browser(server), Browser(server)
    ask(browser, OWNER)
    ask(thief, EDITOR)  # so that the thief's browser holds a text too
    path = link_in(smtp, OWNER)
    link_in(smtp, EDITOR)
    for other in (thief, Browser(server), Browser(server, {"parquetry-browser": ""})):
        text = other.get(path).text
        assert "only in the browser" in text
        assert "no longer works" not in text
        assert other.post("/console/-/link", token_in(path)).status == 410
        assert other.get(HOME).status == 303
    assert browser.post("/console/-/link", token_in(path)).status == 303
    assert browser.get(HOME).status == 200


def test_the_page_that_was_wanted_is_remembered_as_long_as_the_link_works(server: Running, smtp: MailServer) -> None:
    browser = Browser(server)
    wanted = f"{HOME}/settings/api-keys/key_000000000000/validity"
    browser.get(wanted)
    cookies = ask(browser, OWNER).cookies
    assert all("Max-Age=900;" in one for one in cookies)
    assert [one.partition("=")[0] for one in cookies] == ["parquetry-browser", "parquetry-wanted"]
    answer = browser.post("/console/-/link", token_in(link_in(smtp, OWNER)))
    assert path_of(answer.header("location") or "").endswith(wanted)


def test_an_unknown_address_is_answered_as_a_known_one(server: Running, smtp: MailServer) -> None:
    answers = []
    for address in (OWNER, "eve@acme.example", "olga@acme.example.evil.example", "root@server"):
        browser = Browser(server)
        answer = ask(browser, address)
        names = sorted(name for name, _ in answer.headers)
        cookie = re.sub(r"=[\w-]{43};", "=;", "".join(answer.cookies))
        answers.append((answer.status, names, cookie, answer.body.replace(address.encode(), b"@")))
        assert len(browser.cookies) == 1
    assert answers == [answers[0]] * 4
    link_in(smtp, OWNER)
    assert smtp.recipients() == [OWNER]


@pytest.mark.slow
def test_nobody_waits_for_a_mail_server(site: Site, tmp_path: Path) -> None:
    """So the time of an answer tells nothing of an address."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"smtp://127.0.0.1:{silent.getsockname()[1]}?tls=none&timeout=900"
        with console(site, tmp_path / "log", CMS_SMTP_URL=url, CMS_PUBLIC_URL="http://x.example") as server:
            for address in (OWNER, "eve@acme.example", OWNER, EDITOR):
                assert ask(Browser(server), address).status == 200
            assert Browser(server).get(ASK).status == 200


def test_a_minute_between_two_mails(site: Site, server: Running, smtp: MailServer) -> None:
    browser = Browser(server)
    first = ask(browser, OWNER)
    path = link_in(smtp, OWNER)
    for _ in range(5):
        assert ask(browser, OWNER).body == first.body
    eventually(lambda: "too often for one member" in server.log())
    assert smtp.recipients() == [OWNER]
    # Asking again from the same browser leaves the first mail usable.
    assert browser.post("/console/-/link", token_in(path)).status == 303
    stored = sign_ins(site)
    assert stored.new_mailed_link(member(OWNER), "x", now_ms() + 61_000) is not None


def test_a_stranger_keeps_no_member_from_a_link(server: Running, smtp: MailServer) -> None:
    for _ in range(10):
        ask(Browser(server, headers={"X-Forwarded-For": "192.0.2.7"}), OWNER)
    mine = Browser(server)
    ask(mine, OWNER)
    eventually(lambda: len(smtp.recipients()) == MOST_OF_ASKER_FOR_ONE + 1)
    assert mine.post("/console/-/link", token_in(link_in(smtp, OWNER))).status == 303


def test_strangers_from_everywhere_keep_out_nobody_who_was_there_before(
    site: Site, server: Running, smtp: MailServer
) -> None:
    mine = Browser(server)
    mine.sign_in(site.store.root, OWNER)
    mine.post("/console/-/sign-out")
    for _ in range(30):
        ask(Browser(server), OWNER)
    eventually(lambda: len(smtp.recipients()) == MOST_FOR_STRANGERS)
    eventually(lambda: "too often for one member" in server.log())
    ask(mine, OWNER)
    eventually(lambda: len(smtp.recipients()) == MOST_FOR_STRANGERS + 1)
    assert mine.post("/console/-/link", token_in(link_in(smtp, OWNER))).status == 303


def test_the_link_leads_to_the_public_address_whatever_a_request_says(server: Running, smtp: MailServer) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    browser = Browser(server, headers=evil)
    assert ask(browser, OWNER).status == 200
    link_in(smtp, OWNER)
    [mail] = smtp.mails()
    assert "evil" not in mail.as_string()


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("", 422),
        ("olga", 422),
        ("a@b c", 422),
        ("a@b\r\nBcc: eve@evil.example", 422),
        ("<script>alert(1)</script>@x.example", 200),
        ('"><img/src=x>@x.example', 200),
        ("x" * 65 + "@x.example", 422),
    ],
)
def test_what_is_given_as_an_address(server: Running, smtp: MailServer, address: str, status: int) -> None:
    answer = ask(Browser(server), address)
    assert answer.status == status
    assert len(answer.page.css("script")) == 1
    assert answer.page.css("img") == []
    assert smtp.mails() == []


def test_without_mail_or_a_public_address_there_are_no_mails(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    with console(site, tmp_path / "log", CMS_SMTP_URL=smtp.url()) as server:
        browser = Browser(server)
        assert browser.get(ASK).page.css("input") == []
        assert "cms console" in browser.get(ASK).text
        assert ask(browser, OWNER).status == 404
