"""Whether the server sees visitors' own addresses, and whether what browsers are told leads to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from server.doctor.finding import Case, Finding

SUBJECT: Final = "proxy"
_LARGEST: Final = {4: 8, 6: 32}
"""The shortest prefix of a network whose addresses somebody may know all."""


def look(case: Case) -> Iterator[Finding]:
    """Compare the addresses in the settings with each other."""
    settings = case.settings
    is_local = _is_loopback(settings.host)
    if settings.public_url is not None and is_local and not settings.trusted_proxies:
        yield Finding(
            SUBJECT,
            True,
            f"Browsers reach the server by {settings.public_url}, through a proxy, and no proxy is trusted.",
            "All visitors seem to have the proxy's address then: those with the same browser count as one, and no "
            "more than 60 views a minute count.",
            "export CMS_TRUSTED_PROXIES=127.0.0.1",
        )
    for network in map(ipaddress.ip_network, settings.trusted_proxies):
        if network.prefixlen < _LARGEST[network.version] and not network.is_loopback:
            yield Finding(
                SUBJECT,
                True,
                f"CMS_TRUSTED_PROXIES trusts everybody in {network}.",
                "Whoever sends X-Forwarded-For has any address, so no limit by address holds.",
                "export CMS_TRUSTED_PROXIES=127.0.0.1    # the addresses of your proxies",
            )
    if not is_local and not settings.trusted_proxies:
        yield Finding(
            SUBJECT,
            False,
            f"The server listens at {settings.host}, and no proxy is trusted.",
            "Without a proxy that speaks TLS, API keys and content go over the network in the clear.",
            "export CMS_HOST=127.0.0.1    # with the proxy on this machine; else CMS_TRUSTED_PROXIES",
        )
    if settings.public_url is not None and urlsplit(settings.public_url).scheme != "https":
        host = urlsplit(settings.public_url).hostname or ""
        if not _is_loopback(host):
            yield Finding(
                SUBJECT,
                False,
                f"CMS_PUBLIC_URL, {settings.public_url}, is not https.",
                "API keys and sign-ins can be read on the way.",
                f"export CMS_PUBLIC_URL=https://{host}",
            )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
