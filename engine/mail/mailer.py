"""Hand messages over to a mail server, on a connection that is encrypted and checked."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage
from types import TracebackType

from engine.mail.mail_server import MailServer
from snapshots.problems import ParquetryError

_LONGEST_REPLY = 300


class MailServerError(ParquetryError):
    """The mail server cannot be reached, cannot be trusted, or refuses the user: no mail can be sent now."""


class MailRefused(ParquetryError):
    """The server did not take this one mail."""


class MailLost(MailRefused):
    """The server was lost while this mail was handed over: it may have taken it."""


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

    def reach(self) -> None:
        """Connect to the server, and sign in there where it has a user. Raises ``MailServerError``."""
        self._connected()

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
        except smtplib.SMTPSenderRefused as error:
            refusal = self._reply(error.smtp_code, error.smtp_error)
            raise MailRefused(
                f"the mail server refused the sender {self.server.sender}: {refusal.rstrip('.')}. "
                "Name one that it takes: CMS_SMTP_URL=…?from=ADDRESS"
            ) from None
        except smtplib.SMTPDataError as error:
            refusal = self._reply(error.smtp_code, error.smtp_error)
            raise MailRefused(f"the mail server refused the mail: {refusal}") from None
        except smtplib.SMTPNotSupportedError:
            raise MailRefused("the mail server takes no addresses beyond ASCII") from None
        except (OSError, smtplib.SMTPException) as error:
            self._drop()
            raise MailLost(f"the mail server was lost while it took the mail: {self._plain(str(error))}") from None
        except ValueError as error:
            raise MailRefused(f"the mail cannot be written: {self._plain(str(error))}") from None

    def _connected(self) -> smtplib.SMTP:
        if self._connection is not None and self._connection.sock is not None:
            return self._connection
        self._drop()
        server = self.server
        address = f"{server.host}:{server.port}"
        try:
            self._connection = self._open()
            if server.user is not None:
                self._connection.login(server.user, server.password or "")
        except ssl.SSLCertVerificationError as error:
            self._drop()
            raise MailServerError(
                f"The certificate of the mail server {address} cannot be trusted: {error.verify_message.rstrip('.')}. "
                "Where a private authority signed it, name that authority's file: CMS_SMTP_URL=…?ca=FILE."
            ) from None
        except smtplib.SMTPAuthenticationError as error:
            self._drop()
            reply = self._reply(error.smtp_code, error.smtp_error)
            raise MailServerError(
                f"The mail server {address} refused the user or the password: {reply.rstrip('.')}. Correct them in "
                "CMS_SMTP_URL=smtp://USER:PASSWORD@HOST; characters such as @ and / in them are percent-encoded."
            ) from None
        except (OSError, smtplib.SMTPException, ValueError) as error:
            self._drop()
            reason = self._plain(str(error)).rstrip(".")
            raise MailServerError(f"The mail server {address} cannot be used: {reason}. {self._mend(error)}") from None
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

    def _mend(self, error: Exception) -> str:
        """The part of ``CMS_SMTP_URL`` to change after a connection that did not come about."""
        tls, host = self.server.tls, self.server.host
        if isinstance(error, smtplib.SMTPNotSupportedError) and "STARTTLS" in str(error):
            return (
                "Write CMS_SMTP_URL=smtps://… where it encrypts from the first byte, or "
                f"smtp://{host}?tls=none for a relay on this machine that needs no password."
            )
        if isinstance(error, smtplib.SMTPNotSupportedError):
            return f"It takes no password: leave the user out, CMS_SMTP_URL=smtp://{host}?from=ADDRESS."
        if tls == "always":
            return "Check its port in CMS_SMTP_URL; where it begins with STARTTLS, write smtp:// (port 587)."
        return "Check its host and port in CMS_SMTP_URL; where it encrypts from the first byte, write smtps://."

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _reply(self, code: int, reply: bytes | str) -> str:
        text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
        return f"{code} {self._plain(text)}"

    def _plain(self, text: str) -> str:
        """The answer of a mail server as one printable line for the log, without the password."""
        for secret in filter(None, (self.server.password,)):
            text = text.replace(secret, "***")
        text = " ".join(text.split())
        return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_REPLY]
