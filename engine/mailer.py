"""Sending mail: ``CMS_SMTP_URL`` → an SMTP connection that is encrypted and checked → messages handed over.

    smtp://user:password@mail.example:587      STARTTLS, which is insisted on
    smtps://user:password@mail.example         TLS from the first byte; port 465 unless another is given
        ?from=cms@acme.example                 the sender; default: the user where that is an address
        &ca=/etc/ssl/company.pem               the authority that signed the server's certificate
        &timeout=30                            seconds for each step
        &tls=none                              no encryption, for a relay on this machine; never with a password

Characters such as ``@`` or ``/`` in the user or the password are percent-encoded.
"""

from __future__ import annotations

import re
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from ipaddress import ip_address
from types import TracebackType
from urllib.parse import parse_qsl, unquote, urlsplit

from snapshots.problems import ParquetryError

_ADDRESS = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
_OPTIONS = ("from", "ca", "timeout", "tls")
_PORTS = {"smtp": 587, "smtps": 465}
_LONGEST_REPLY = 300


class InvalidMailServer(ParquetryError):
    """CMS_SMTP_URL names no mail server that can be used. The message never repeats the URL: it holds a password."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"CMS_SMTP_URL cannot be used: {reason}.")
        self.reason = reason


class MailServerError(ParquetryError):
    """The mail server cannot be reached, is not to be trusted, or refuses the user: no mail can be sent now."""


class MailRefused(ParquetryError):
    """The server did not take this one mail, or was lost while it was handed over."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """What ``CMS_SMTP_URL`` says."""

    host: str
    port: int
    user: str | None
    password: str | None = field(repr=False)
    tls: str
    """``starttls``, ``always`` or ``none``."""
    ca: str | None
    """A PEM file with the authority to trust instead of the system's."""
    sender: str
    timeout: float
    """Seconds for each step: connecting, and each command."""


def parse_mail_server(url: str) -> MailServer:
    """``CMS_SMTP_URL`` as a ``MailServer``. Raises ``InvalidMailServer``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidMailServer("it is no URL; percent-encode special characters in the password") from None
    if parts.scheme not in _PORTS or not host or port == 0:
        raise InvalidMailServer("write smtp://user:password@host:587, or smtps:// for TLS from the start")
    if parts.path not in {"", "/"} or parts.fragment:
        raise InvalidMailServer("it has a path or a #; percent-encode / and # in the password")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - set(_OPTIONS))
    if unknown:
        raise InvalidMailServer(f"it knows no option {unknown[0]!r}; there are: {', '.join(_OPTIONS)}")
    user = unquote(parts.username) if parts.username else None
    tls = "always" if parts.scheme == "smtps" else "starttls"
    if "tls" in options:
        if options["tls"] != "none" or parts.scheme == "smtps":
            raise InvalidMailServer("the option tls can only be none, and only with smtp://")
        if user:
            raise InvalidMailServer("a password is never sent without encryption; leave out tls=none, or the user")
        tls = "none"
    sender = options.get("from", user if user and _ADDRESS.fullmatch(user) else f"no-reply@{_domain(host)}")
    if not _ADDRESS.fullmatch(sender):
        raise InvalidMailServer("the option from is no e-mail address")
    timeout = options.get("timeout", "30")
    if not re.fullmatch(r"[1-9][0-9]{0,2}", timeout):
        raise InvalidMailServer("the option timeout is no whole number of seconds from 1 to 999")
    return MailServer(
        host=host,
        port=port or _PORTS[parts.scheme],
        user=user,
        password=unquote(parts.password or "") if user else None,
        tls=tls,
        ca=options.get("ca"),
        sender=sender,
        timeout=float(timeout),
    )


class Mailer:
    """Hands mails to one server over one connection, which is opened at the first mail and opened again when lost."""

    def __init__(self, server: MailServer) -> None:
        self.server = server
        self._connection: smtplib.SMTP | None = None

    def __enter__(self) -> Mailer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()

    def send(self, message: EmailMessage) -> None:
        """Hand one mail over; returns once the server has accepted it.

        Raises ``MailRefused`` when it did not, and ``MailServerError`` when no mail can be sent at all.
        """
        connection = self._connected()
        try:
            connection.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            refusal = self._reply(*next(iter(error.recipients.values())))
            raise MailRefused(f"the mail server refused the address: {refusal}") from None
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            refusal = self._reply(error.smtp_code, error.smtp_error)
            raise MailRefused(f"the mail server refused the mail: {refusal}") from None
        except smtplib.SMTPNotSupportedError:
            raise MailRefused("the mail server takes no addresses beyond ASCII") from None
        except (OSError, smtplib.SMTPException) as error:
            self._drop()
            raise MailRefused(f"the mail server was lost while it took the mail: {self._plain(str(error))}") from None
        except ValueError as error:
            raise MailRefused(f"the mail cannot be written: {self._plain(str(error))}") from None

    def _connected(self) -> smtplib.SMTP:
        if self._connection is not None and self._connection.sock is not None:
            return self._connection
        self._drop()
        server = self.server
        place = f"{server.host}:{server.port}"
        try:
            self._connection = self._open()
            if server.user is not None:
                self._connection.login(server.user, server.password or "")
        except ssl.SSLCertVerificationError as error:
            self._drop()
            raise MailServerError(
                f"The certificate of the mail server {place} is not to be trusted: {error.verify_message.rstrip('.')}. "
                "Where a private authority signed it, name that authority's file: CMS_SMTP_URL=…?ca=FILE."
            ) from None
        except smtplib.SMTPAuthenticationError as error:
            self._drop()
            reply = self._reply(error.smtp_code, error.smtp_error)
            raise MailServerError(f"The mail server {place} refused the user or the password: {reply}") from None
        except (OSError, smtplib.SMTPException, ValueError) as error:
            self._drop()
            raise MailServerError(f"The mail server {place} cannot be used: {self._plain(str(error))}") from None
        return self._connection

    def _open(self) -> smtplib.SMTP:
        server = self.server
        if server.tls == "always":
            return smtplib.SMTP_SSL(server.host, server.port, timeout=server.timeout, context=self._trust())
        connection = smtplib.SMTP(server.host, server.port, timeout=server.timeout)
        if server.tls == "starttls":
            try:
                connection.starttls(context=self._trust())
            except BaseException:
                connection.close()
                raise
        return connection

    def _trust(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.server.ca)
        except OSError as error:
            raise MailServerError(
                f"The file {self.server.ca} in CMS_SMTP_URL cannot be read: {error.strerror}."
            ) from None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _reply(self, code: int, reply: bytes | str) -> str:
        text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
        return f"{code} {self._plain(text)}"

    def _plain(self, text: str) -> str:
        """What a server said, as one line of a log that nobody can garble, and without the password."""
        for secret in filter(None, (self.server.password,)):
            text = text.replace(secret, "***")
        text = " ".join(text.split())
        return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_REPLY]


def _domain(host: str) -> str:
    try:
        ip_address(host)
    except ValueError:
        return host
    return "localhost"
