"""Read the URL of a bucket: where it is, and the settings to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from snapshots.store.buckets.services import SERVICES, Service, service_of, spellings
from snapshots.store.durable import StoreError
from snapshots.store.objects import checked_prefix


class Bucket(msgspec.Struct, frozen=True):
    """A place in an object store, and what a client has to know to reach it beside the environment."""

    kind: str
    """The scheme in ``SERVICES``."""
    name: str
    prefix: str
    location: str
    config: dict[str, str]
    allow_http: bool
    anonymous: bool
    """Whether to send no credentials where there are none."""

    @property
    def service(self) -> Service:
        return SERVICES[self.kind]


def is_bucket(location: str | Path) -> bool:
    """Return whether a location is a URL, and so no directory: also one that lacks a slash after a service's scheme,
    which names no bucket then."""
    return isinstance(location, str) and ("://" in location or service_of(_scheme(location)) is not None)


def kind_of(location: str) -> str | None:
    """Return the scheme in ``SERVICES`` of the URL of a bucket, ``None`` for a directory."""
    return _scheme(location).partition("+")[0] if is_bucket(location) else None


def _scheme(location: str) -> str:
    scheme, colon, _ = location.partition(":")
    return scheme.lower() if colon else ""


def masked(location: str) -> str:
    """Return a location without what may be a secret in it: user, password and query."""
    if not is_bucket(location):
        return location
    try:
        parts = urlsplit(location)
    except ValueError:
        return _scheme(location) + "://***"
    if "@" not in parts.netloc and not parts.query and not parts.fragment:
        return location
    netloc = "***@" + parts.netloc.rpartition("@")[2] if "@" in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, "***" if parts.query else "", ""))


def parse_bucket(location: str, environment: Mapping[str, str]) -> Bucket:
    """Return the place that a URL names. Raises ``StoreError`` where it names none, or holds credentials."""
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError as error:
        raise StoreError(f"{masked(location)}: {error}. Write {spellings()}.") from None
    service = service_of(parts.scheme)
    if service is None:
        raise StoreError(f"{masked(location)}: no store is at such a URL. Write a directory, {spellings()}.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise StoreError(
            f"{masked(location)}: credentials and options are no part of a store's URL. Put them in the environment, "
            "as the tools of the store's maker have them (AWS_ACCESS_KEY_ID, …)."
        )
    own_server = "+" in parts.scheme
    if own_server:
        name, _, prefix = parts.path.strip("/").partition("/")
    else:
        name, prefix = parts.netloc, parts.path
    if not name or (own_server and not parts.hostname) or (port is not None and not own_server):
        raise StoreError(f"{masked(location)}: names no {service.container}. Write {spellings()}.")
    prefix = checked_prefix(prefix)
    shown = urlunsplit(
        (parts.scheme, parts.netloc, "/".join(("", name, prefix) if own_server else ("", prefix)), "", "")
    )
    kind = parts.scheme.partition("+")[0]
    return Bucket(kind, name, prefix, shown.rstrip("/"), *service.reached(parts, environment))
