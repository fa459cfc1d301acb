"""The settings of a provider of OpenID Connect, checked before anything is asked of it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

EXTRA: Final = "parquetry[oidc]"
VERIFIED_CLAIM: Final = "email_verified"
"""The claim by which a provider says that it has verified an e-mail address (OpenID Connect Core 5.1)."""

_NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{1,60}")
_VISIBLE: Final = re.compile(r"[!-~]{1,2000}")
_CLAIM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:./-]{0,99}")


class ProviderConfiguration(msgspec.Struct, frozen=True):
    """A provider, and what this server is called there."""

    issuer: str
    """The provider's address, exactly as the provider itself writes it."""
    client_id: str
    client_secret: str
    name: str
    """The provider's name for people."""
    verified_claim: str = VERIFIED_CLAIM
    """The claim that has to be true for an e-mail address to count."""


def parse_issuer(text: str) -> str:
    """Return the address of a provider. Raises ``ValueError``, which says what is accepted."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not _VISIBLE.fullmatch(text) or parts.query or parts.fragment:
        raise ValueError("give the provider's issuer, for example https://accounts.google.com")
    if not is_secure(text, loopback=True):
        raise ValueError("a provider has to be at an https address, unless it runs on this machine")
    missing = next((package for package in ("authlib", "joserfc") if find_spec(package) is None), None)
    if missing is not None:
        raise ValueError(f"the package {missing} is not installed: pip install '{EXTRA}'")
    return text


def parse_client_id(text: str) -> str:
    """Return the name of this server at the provider. Raises ``ValueError`` for none."""
    if not _VISIBLE.fullmatch(text):
        raise ValueError("it has only letters, digits and signs, without spaces")
    return text


def parse_client_secret(text: str) -> str:
    """Return the secret of this server at the provider. Raises ``ValueError``, which does not repeat it."""
    if not _VISIBLE.fullmatch(text):
        raise ValueError("it is not as the provider gave it: there is a space, a line break or an accent in it")
    return text


def parse_name(text: str) -> str:
    """Return what people call the provider. Raises ``ValueError`` for a text that fits on no button."""
    if not _NAME.fullmatch(text) or not text.strip():
        raise ValueError("give a name of 1 to 60 characters, for example Google")
    return text.strip()


def parse_verified_claim(text: str) -> str:
    """Return the name of a claim. Raises ``ValueError`` for what is no such name."""
    if not _CLAIM.fullmatch(text):
        raise ValueError(f"give the name of a claim, for example {VERIFIED_CLAIM} or xms_edov")
    return text


def host_of(issuer: str) -> str:
    """Return the host of a provider, which is its name where it has no other."""
    return urlsplit(issuer).hostname or issuer


def is_secure(url: str, *, loopback: bool) -> bool:
    """Whether nobody between this server and a URL can read or change what they say to each other: over TLS, or, where
    ``loopback`` is allowed, on this machine."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and _VISIBLE.fullmatch(url) is not None
        return whole and (parts.scheme == "https" or (loopback and _is_here(parts)))
    except ValueError:
        return False


def _is_here(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    if parts.scheme != "http":
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
