"""Tell a visitor's network address from a request's peer and its ``X-Forwarded-For`` (decision 47)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from socket import AF_INET, AF_INET6, inet_pton
from typing import Final

_IPV6_PREFIX_BYTES: Final = 8
"""A household or a phone has a /64 for itself, and a new address in it as often as it likes."""
_MAPPED: Final = bytes(10) + b"\xff\xff"
"""The beginning of an IPv4 address that is written as an IPv6 one."""
_MOST_PROXIES: Final = 32
"""Addresses of a header that are read."""
_NO_ADDRESS: Final = b""


class TrustedProxies:
    """The proxies that are trusted to tell a client's address."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        """Addresses or CIDR blocks. Raises ``ValueError`` naming one that is neither."""
        self._networks = tuple(_network(text.strip()) for text in networks)
        self._trusts = lru_cache(maxsize=1024)(self._is_in_a_network)

    def visitor(self, peer: str | None, forwarded: str | None) -> bytes:
        """The bytes that stand for the sender of a request: an IPv4 address whole, an IPv6 address by its /64.

        ``forwarded`` is the value of ``X-Forwarded-For``; it is read only when the peer is trusted, and the client is
        the right-most address in it that is not trusted. Reading ends before a text that is no address.
        """
        address = _address(peer or "")
        if address is None:
            return _NO_ADDRESS  # a Unix socket
        if forwarded is not None:
            for text in reversed(forwarded.rsplit(",", _MOST_PROXIES)):
                if not self._trusts(address):
                    break
                found = _address(text.strip())
                if found is None:
                    break
                address = found
        return address if len(address) == 4 else address[:_IPV6_PREFIX_BYTES]

    def _is_in_a_network(self, address: bytes) -> bool:
        number = int.from_bytes(address, "big")
        return any(length == len(address) and number & mask == network for length, network, mask in self._networks)


def _network(text: str) -> tuple[int, int, int]:
    """A network as the length of its addresses in bytes, its first address, and its mask."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is neither an address nor a CIDR block such as 10.0.0.0/8") from None
    return network.max_prefixlen // 8, int(network.network_address), int(network.netmask)


def _address(text: str) -> bytes | None:
    """An address, also as ``1.2.3.4:567`` and ``[::1]:567``, which some proxies write."""
    try:
        if ":" not in text:
            return inet_pton(AF_INET, text)
        if text.startswith("["):
            text = text[1:].partition("]")[0]
        elif text.count(":") == 1:
            return inet_pton(AF_INET, text.partition(":")[0])
        packed = inet_pton(AF_INET6, text.partition("%")[0])
    except (OSError, ValueError):
        return None
    return packed[12:] if packed.startswith(_MAPPED) else packed
