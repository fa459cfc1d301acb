"""Read the URL of a bucket: where it is, and the settings to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from snapshots.store.durable import StoreError
from snapshots.store.objects import checked_prefix

SPELLINGS: Final = "s3://bucket/prefix, s3+http://host:port/bucket/prefix, gs://bucket/prefix or az://container/prefix"

_NAMES: Final = {"s3": "bucket", "s3+http": "bucket", "s3+https": "bucket", "gs": "bucket", "az": "container"}
_AZURE_NAMES: Final = {
    "AZURE_STORAGE_ACCOUNT": "account_name",
    "AZURE_STORAGE_KEY": "account_key",
    "AZURE_STORAGE_SAS_TOKEN": "sas_key",
}
"""Names that Azure's own tools read and obstore does not."""
_AZURE_PARTS: Final = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
"""The parts of AZURE_STORAGE_CONNECTION_STRING."""


class Bucket(msgspec.Struct, frozen=True):
    """A place in an object store, and what a client has to know to reach it beside the environment."""

    kind: str
    """``s3``, ``gs`` or ``az``."""
    name: str
    prefix: str
    location: str
    config: dict[str, str]
    allow_http: bool
    anonymous: bool
    """Whether to send no credentials where there are none."""


def is_bucket(location: str | Path) -> bool:
    """Return whether a location is a URL, and so no directory."""
    return isinstance(location, str) and "://" in location


def kind_of(location: str) -> str | None:
    """Return ``s3``, ``gs`` or ``az`` for the URL of a bucket, ``None`` for a directory."""
    return location.partition("://")[0].partition("+")[0] if is_bucket(location) else None


def masked(location: str) -> str:
    """Return a location without what may be a secret in it: user, password and query."""
    if not is_bucket(location):
        return location
    try:
        parts = urlsplit(location)
    except ValueError:
        return location.partition("://")[0] + "://***"
    place = "***@" + parts.netloc.rpartition("@")[2] if "@" in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, place, parts.path, "***" if parts.query else "", ""))


def parse_bucket(location: str, environment: Mapping[str, str]) -> Bucket:
    """Return the place that a URL names. Raises ``StoreError`` where it names none, or holds credentials."""
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError as error:
        raise StoreError(f"{masked(location)}: {error}. Write {SPELLINGS}.") from None
    if parts.scheme not in _NAMES:
        raise StoreError(f"{masked(location)}: no store is at such a URL. Write a directory, {SPELLINGS}.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise StoreError(
            f"{masked(location)}: credentials and options are no part of a store's URL. Put them in the environment, "
            "as the tools of the store's maker have them (AWS_ACCESS_KEY_ID, …)."
        )
    own_server = parts.scheme in {"s3+http", "s3+https"}
    if own_server:
        name, _, prefix = parts.path.strip("/").partition("/")
    else:
        name, prefix = parts.netloc, parts.path
    if not name or (own_server and not parts.hostname) or (port is not None and not own_server):
        raise StoreError(f"{masked(location)}: names no {_NAMES[parts.scheme]}. Write {SPELLINGS}.")
    prefix = checked_prefix(prefix)
    shown = urlunsplit(
        (parts.scheme, parts.netloc, "/".join(("", name, prefix) if own_server else ("", prefix)), "", "")
    )
    kind = parts.scheme.partition("+")[0]
    config, plain = _SETTINGS[kind](parts, environment)
    return Bucket(
        kind,
        name,
        prefix,
        shown.rstrip("/"),
        config,
        allow_http=plain,
        anonymous=own_server or (kind == "gs" and "base_url" in config),
    )


def _s3_settings(parts: SplitResult, environment: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    if parts.scheme != "s3":
        scheme = parts.scheme.partition("+")[2]
        return {"endpoint": f"{scheme}://{parts.netloc}"}, scheme == "http"
    return {}, environment.get("AWS_ALLOW_HTTP", "").lower() in {"true", "1"}


def _gs_settings(parts: SplitResult, environment: Mapping[str, str]) -> tuple[dict[str, str], bool]:  # noqa: ARG001 - as the others
    emulator = environment.get("STORAGE_EMULATOR_HOST", "")
    if not emulator:
        return {}, False
    url = emulator if "://" in emulator else f"http://{emulator}"
    return {"base_url": url.rstrip("/")}, url.startswith("http://")


def _az_settings(parts: SplitResult, environment: Mapping[str, str]) -> tuple[dict[str, str], bool]:  # noqa: ARG001 - as the others
    config = {name: environment[key] for key, name in _AZURE_NAMES.items() if environment.get(key)}
    for part in environment.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"):
        key, _, value = part.partition("=")
        if key.strip() in _AZURE_PARTS:
            config.setdefault(_AZURE_PARTS[key.strip()], value.strip())
    endpoint = config.get("endpoint", environment.get("AZURE_STORAGE_ENDPOINT", ""))
    return config, endpoint.startswith("http://")


_SETTINGS: Final = {"s3": _s3_settings, "gs": _gs_settings, "az": _az_settings}
