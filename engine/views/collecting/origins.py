"""Tell the host of a page from the header ``Origin``, and whether it is one of the registered domains."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

_ORIGIN: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]{2,45}\]|[^\s/:\[\]@?#\\]{1,253})(?::[0-9]{1,5})?")


def origin_host(origin: str) -> str | None:
    """The host of an http or https origin, in lower case, at any port; ``None`` for anything else, for this machine's
    own names and for its loopback addresses (decision 30)."""
    found = _ORIGIN.fullmatch(origin)
    if found is None:
        return None
    host = found[1].lower().removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return None
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host
    mapped = getattr(address, "ipv4_mapped", None)
    return None if (mapped or address).is_loopback or address.is_unspecified else host


class Domains:
    """The domains of a workspace: ``example.com`` itself, ``*.example.com`` all below it at any depth (decision 46)."""

    def __init__(self, domains: Iterable[str]) -> None:
        names = [domain.lower() for domain in domains]
        self._exact = frozenset(name for name in names if not name.startswith("*."))
        self._below = tuple(name[1:] for name in names if name.startswith("*."))

    def has(self, host: str) -> bool:
        """Whether a host, in lower case, is registered."""
        return host in self._exact or (bool(self._below) and host.endswith(self._below) and not host.startswith("."))
