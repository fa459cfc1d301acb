"""Check where a webhook may go: the parts of its URL, and which addresses of its host may be connected to.

A URL comes from people who need not be trusted with the network that the server stands in. So only public addresses
are connected to, decided by the address itself before any connection is made (server-side request forgery).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import msgspec

from snapshots.problems import ParquetryError

Address: TypeAlias = IPv4Address | IPv6Address

ALLOW_LOOPBACK: Final = "CMS_WEBHOOK_ALLOW_LOOPBACK"
"""The setting for development that allows this machine as the receiver, over http too."""
LONGEST_URL: Final = 2048

_PRINTABLE: Final = re.compile(r"[!-~]+")
_HOST: Final = re.compile(r"(?=.{1,253}\.?$)([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?)+")
_PUBLIC_IPV6: Final = ip_network("2000::/3")
"""The publicly routed IPv6 addresses; mapped IPv4, NAT64, link-local and private addresses lie outside."""
_LOOPBACK: Final = tuple(map(ip_network, ("127.0.0.0/8", "::1/128")))
"""This machine. Newer versions of Python count mapped IPv4 addresses (``::ffff:127.0.0.1``) too, which are refused."""
# What some versions of Python count among the global addresses.
_NEVER: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",
            "192.0.0.0/24",
            "192.88.99.0/24",  # 6to4 relays
            "198.18.0.0/15",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "2001::/23",  # Teredo, ORCHID, benchmarks
            "2001:db8::/32",
            "2002::/16",  # 6to4: leads to any IPv4 address
            "3fff::/20",
        ),
    )
)


class WebhookUrlRefused(ParquetryError):
    """The URL is none that a webhook may go to."""


class AddressRefused(ParquetryError):
    """The host of a webhook has an address that may not be connected to."""


class ReceiverAddress(msgspec.Struct, frozen=True):
    """The parts of a webhook's URL that a request needs."""

    tls: bool
    host: str
    """A name or an address, without the brackets of IPv6."""
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """The value of the header ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parse_target(url: str, *, allow_loopback: bool) -> ReceiverAddress:
    """Return the parts of a webhook's URL, which has to be https.

    With ``allow_loopback`` it may be http too; the address is then checked to be this machine before a request.
    Raises ``WebhookUrlRefused``, with a message that does not repeat the URL: it may hold a secret.
    """
    if len(url) > LONGEST_URL or not _PRINTABLE.fullmatch(url):
        raise WebhookUrlRefused(
            f"The URL of a webhook has at most {LONGEST_URL:,} characters, all of them printable ASCII. "
            "Percent-encode others (in the host: write it in Punycode, xn--…)."
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise WebhookUrlRefused(f"This is not a URL that a webhook can be sent to: {error}.") from None
    if parts.scheme not in {"https", "http"} or not host or port == 0:
        raise WebhookUrlRefused("A webhook needs a whole URL, such as https://www.example.com/hooks/content.")
    if parts.scheme == "http" and not allow_loopback:
        raise WebhookUrlRefused(
            f"Webhooks are sent over https only. For development on this machine, set {ALLOW_LOOPBACK}=1."
        )
    if "@" in parts.netloc:
        raise WebhookUrlRefused("The URL holds a user or a password. Leave them out: the signature shows who sends.")
    if parts.fragment:
        raise WebhookUrlRefused("The URL has a part after #, which no request carries. Leave it out.")
    address = _literal(host)
    if address is None and not _HOST.fullmatch(host):
        raise WebhookUrlRefused(f'"{host}" is not a host name.')
    if address is not None:
        try:
            check_addresses([address], tls=parts.scheme == "https", allow_loopback=allow_loopback)
        except AddressRefused as refusal:
            raise WebhookUrlRefused(str(refusal)) from None
    tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ReceiverAddress(tls, host, port or (443 if tls else 80), path)


def check_addresses(addresses: Sequence[Address], *, tls: bool, allow_loopback: bool) -> None:
    """Raise ``AddressRefused`` unless a webhook may be sent to every one of a host's addresses.

    One that may not condemns the others too: a name that stands for a public and for a private address is a trap.
    """
    for address in addresses:
        loopback = allow_loopback and any(address in network for network in _LOOPBACK)
        if not loopback and not is_public(address):
            raise AddressRefused(
                f"The host is at {address}, which is not a public address. Webhooks go to public addresses only; "
                f"for development on this machine, set {ALLOW_LOOPBACK}=1."
            )
        if not tls and not loopback:
            raise AddressRefused(f"The host is at {address}, not on this machine: use https.")


def is_public(address: Address) -> bool:
    """Return whether an address can be reached from everywhere and belongs to one machine or service."""
    if any(address in network for network in _NEVER if network.version == address.version):
        return False
    if isinstance(address, IPv6Address) and (address.scope_id is not None or address not in _PUBLIC_IPV6):
        return False
    return address.is_global and not address.is_multicast


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
