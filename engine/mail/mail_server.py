"""Read and check the mail server that ``CMS_SMTP_URL`` names.

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
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import parse_qsl, unquote, urlsplit

from snapshots.problems import ParquetryError

_ADDRESS = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
_OPTIONS = ("from", "ca", "timeout", "tls")
_PORTS = {"smtp": 587, "smtps": 465}


class InvalidMailServer(ParquetryError):
    """CMS_SMTP_URL names no mail server that can be used. The message never repeats the URL: it holds a password."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"CMS_SMTP_URL cannot be used: {reason}.")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server, as ``CMS_SMTP_URL`` names it."""

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
        raise InvalidMailServer("it is not a URL; percent-encode special characters in the password") from None
    if parts.scheme not in _PORTS or not host or port == 0:
        raise InvalidMailServer("write smtp://user:password@host:587, or smtps:// for TLS from the start")
    if parts.path not in {"", "/"} or parts.fragment:
        raise InvalidMailServer("it has a path or a #; percent-encode / and # in the password")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - set(_OPTIONS))
    if unknown:
        raise InvalidMailServer(f"it has the unknown option {unknown[0]!r}; the options are: {', '.join(_OPTIONS)}")
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
        raise InvalidMailServer("the option from is not an e-mail address")
    timeout = options.get("timeout", "30")
    if not re.fullmatch(r"[1-9][0-9]{0,2}", timeout):
        raise InvalidMailServer("the option timeout is not a whole number of seconds from 1 to 999")
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


def _domain(host: str) -> str:
    try:
        ip_address(host)
    except ValueError:
        return host
    return "localhost"
