"""Who sent a request: the peer and ``X-Forwarded-For`` → the visitor's network address (decision 47)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

_IPV6_PREFIX_BYTES: Final = 8
"""A household or a phone has a /64 for itself, and a new address in it as often as it likes."""
_NO_ADDRESS: Final = b""


class TrustedProxies:
    """The proxies whose word about a client's address is taken."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        """Addresses or CIDR blocks. Raises ``ValueError`` naming one that is neither."""
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(_network(text) for text in networks)
        self.visitor = lru_cache(maxsize=8192)(self._visitor)

    def _visitor(self, peer: str | None, forwarded: str | None) -> bytes:
        """The bytes that stand for who sent a request: an IPv4 address whole, an IPv6 address by its /64.

        ``forwarded`` is the value of ``X-Forwarded-For``; it is read only when the peer is trusted, and the client is
        its right-most address that is not. What is no address ends the reading at the last one that is.
        """
        address = _address(peer or "")
        if address is None:
            return _NO_ADDRESS  # a Unix socket
        for text in reversed((forwarded or "").split(",")):
            if not self._trusts(address):
                break
            found = _address(text.strip())
            if found is None:
                break
            address = found
        return address.packed if address.version == 4 else address.packed[:_IPV6_PREFIX_BYTES]

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(f"{text.strip()!r} is neither an address nor a CIDR block such as 10.0.0.0/8") from None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """An address, also as ``1.2.3.4:567`` and ``[::1]:567``, which some proxies write."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
