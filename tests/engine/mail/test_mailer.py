"""Handing mails to a real SMTP server: encrypted, authenticated, and nothing given away when it fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from engine.mail.mail_server import InvalidMailServer, parse_mail_server
from engine.mail.mailer import Mailer, MailRefused, MailServerError
from tests.servers.mail_server import PASSWORD, MailServer, mail_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("mail")) as running:
        yield running


def letter(recipient: str = "mika@acme.example") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "cms@acme.example", recipient, "Grüße"
    message.set_content("こんにちは\n")
    return message


def send(url: str, message: EmailMessage | None = None) -> None:
    with Mailer(parse_mail_server(url)) as mailer:
        mailer.send(message or letter())


def test_starttls_and_a_password(server: MailServer) -> None:
    before = len(server.mails())
    with Mailer(parse_mail_server(server.url())) as mailer:
        mailer.send(letter())
        mailer.send(letter("ren@acme.example"))
    mails = server.mails()[before:]
    assert [mail["X-Recipient"] for mail in mails] == ["mika@acme.example", "ren@acme.example"]
    assert mails[0].get_content().replace("\r\n", "\n") == "こんにちは\n"


def test_tls_from_the_first_byte(tmp_path: Path) -> None:
    with mail_server(tmp_path, tls="always") as server:
        send(server.url("smtps"))
        assert server.recipients() == ["mika@acme.example"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ca": ""}, "cannot be trusted: "),
        ({"ca": ""}, "CMS_SMTP_URL=…?ca=FILE"),
        ({"password": "geheim2"}, "refused the user or the password: 535"),
        ({"password": "geheim2"}, "Correct them in CMS_SMTP_URL=smtp://USER:PASSWORD@HOST"),
        ({"scheme": "smtps"}, "cannot be used: "),
        ({"scheme": "smtps"}, "where it begins with STARTTLS, write smtp://"),
        ({"ca": "/nowhere/ca.pem"}, "/nowhere/ca.pem"),
    ],
)
def test_no_mail_can_be_sent(server: MailServer, options: dict[str, str], message: str) -> None:
    before = len(server.mails())
    with pytest.raises(MailServerError) as raised:
        send(server.url(**options))
    assert message in str(raised.value)
    assert "geheim" not in str(raised.value)
    assert len(server.mails()) == before


def test_a_certificate_of_another_host(tmp_path: Path) -> None:
    with (
        mail_server(tmp_path, host="mail.acme.example") as server,
        pytest.raises(MailServerError, match="cannot be trusted"),
    ):
        send(server.url())
    assert server.mails() == []


def test_encryption_is_insisted_on(tmp_path: Path) -> None:
    with mail_server(tmp_path, tls="none") as server:
        with pytest.raises(MailServerError, match=r"STARTTLS.*smtps://….*\?tls=none"):
            send(server.url())
        assert server.mails() == []
        send(f"smtp://localhost:{server.port}?tls=none")
        assert server.recipients() == ["mika@acme.example"]


def test_a_refused_address_leaves_the_connection_usable(server: MailServer) -> None:
    before = len(server.mails())
    server.refuse("gone@acme.example")
    with Mailer(parse_mail_server(server.url())) as mailer:
        with pytest.raises(MailRefused, match="550 No such person here"):
            mailer.send(letter("gone@acme.example"))
        mailer.send(letter())
    assert len(server.mails()) == before + 1


def test_a_refused_sender_names_the_option_for_another(server: MailServer) -> None:
    server.refuse_sender("cms@acme.example")
    try:
        with pytest.raises(MailRefused, match=r"refused the sender cms@acme\.example: 553 .*\?from=ADDRESS"):
            send(server.url())
    finally:
        server.refuse_sender()


def test_an_address_beyond_ascii(server: MailServer) -> None:
    send(server.url(), letter("müller@bücher.example"))
    assert "müller@bücher.example" in server.recipients()


def test_nobody_listens() -> None:
    with socket.create_server(("localhost", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(MailServerError, match=r"refused.*Check its host and port in CMS_SMTP_URL"):
        send(f"smtp://localhost:{port}")


def test_a_server_that_goes_away_and_says_the_password() -> None:
    """What a server says ends up in a log: on one line, short, and without the password."""
    said = f"550 {PASSWORD}\r\n".encode()

    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(said)
            connection.recv(100)

    with socket.create_server(("localhost", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(MailServerError) as raised:
            send(f"smtp://cms:p%40ss%2Fword%3Ageheim@localhost:{port}")
        thread.join()
    assert "geheim" not in str(raised.value)


def test_a_silent_server_costs_no_more_than_its_timeout() -> None:
    with socket.create_server(("localhost", 0)) as listener, pytest.raises(MailServerError, match="timed out"):
        send(f"smtp://localhost:{listener.getsockname()[1]}?timeout=1")


@pytest.mark.parametrize(
    ("url", "host", "port", "user", "password", "tls", "sender"),
    [
        ("smtp://a%40b.example:p%2Fw@c.example", "c.example", 587, "a@b.example", "p/w", "starttls", "a@b.example"),
        ("smtps://cms:x@mail.example", "mail.example", 465, "cms", "x", "always", "no-reply@mail.example"),
        ("smtps://[::1]:2465", "::1", 2465, None, None, "always", "no-reply@localhost"),
        ("smtp://127.0.0.1:25?tls=none&from=x@y.example", "127.0.0.1", 25, None, None, "none", "x@y.example"),
    ],
)  # fmt: skip
def test_urls(url: str, host: str, port: int, user: str | None, password: str | None, tls: str, sender: str) -> None:
    found = parse_mail_server(url)
    assert (found.host, found.port, found.user, found.password) == (host, port, user, password)
    assert (found.tls, found.sender, found.ca, found.timeout) == (tls, sender, None, 30.0)
    if password:
        assert repr(password) not in repr(found)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mail.example", "write smtp://"),
        ("http://cms:geheim@mail.example", "write smtp://"),
        ("smtp://", "write smtp://"),
        ("smtp://cms:geheim@mail.example:0", "write smtp://"),
        ("smtp://cms:geheim/x@mail.example", "percent-encode"),
        ("smtp://cms:geheim@mail.example/x", "percent-encode"),
        ("smtp://cms:geheim@mail.example?verify=no", "unknown option 'verify'"),
        ("smtp://cms:geheim@mail.example?tls=none", "never sent without encryption"),
        ("smtps://mail.example?tls=none", "only with smtp"),
        ("smtp://mail.example?tls=no", "can only be none"),
        ("smtp://mail.example?from=nobody", "from"),
        ("smtp://mail.example?timeout=0", "timeout"),
        ("smtp://mail.example?timeout=1e9", "timeout"),
    ],
)
def test_urls_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidMailServer) as raised:
        parse_mail_server(url)
    assert message in str(raised.value)
    assert "geheim" not in str(raised.value)
