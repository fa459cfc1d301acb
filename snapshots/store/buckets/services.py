"""The services that keep buckets: one row each, from which locations, clients, messages and prices follow."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult

import msgspec

from snapshots.store.buckets.aws_profile import profile


class Reached(NamedTuple):
    """The settings, beside the environment, with which a client reaches a bucket."""

    config: dict[str, str]
    allow_http: bool
    anonymous: bool = False
    """Whether to send no credentials where there are none."""


class Prices(msgspec.Struct, frozen=True):
    """List prices of a service, in US dollars, as of 2026 and without tax, traffic and discounts."""

    service: str
    thousand_reads: float
    thousand_writes: float
    """Writes and lists."""
    gigabyte_month: float


class Service(msgspec.Struct, frozen=True):
    """A service, by the scheme of its URLs."""

    spellings: tuple[str, ...]
    """The forms of the service's URLs, for people. One with ``+http``, or ``+https``, names one's own server."""
    container: str
    """The service's word for a bucket."""
    reached: Callable[[SplitResult, Mapping[str, str]], Reached]
    """Turns a URL and the environment into a client's settings. For Azure and Google only the environment counts."""
    client: str
    """The class of ``obstore.store``."""
    credentials: str
    """Where credentials are given to the client, for people."""
    prices: Prices
    signed: Callable[[bool], tuple[dict[str, Any], dict[str, Any]]] = lambda _anonymous: ({}, {})
    """Returns the client's settings and arguments for signatures, given whether requests without credentials are
    anonymous."""
    needs_version: bool = False
    """Whether a condition holds by an object's version, not by its ETag."""


def _s3(parts: SplitResult, environment: Mapping[str, str]) -> Reached:
    own = parts.scheme.partition("+")[2]
    if own:
        return Reached({"endpoint": f"{own}://{parts.netloc}"}, own == "http", anonymous=True)
    return Reached({}, environment.get("AWS_ALLOW_HTTP", "").lower() in {"true", "1"})


def _s3_signed(anonymous: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    if "AWS_ACCESS_KEY_ID" in os.environ:
        return {}, {}
    found = profile()
    if found is not None:
        return found.config, {"credential_provider": found.credentials}
    return ({"skip_signature": True} if anonymous else {}), {}


def _gs(_parts: SplitResult, environment: Mapping[str, str]) -> Reached:
    emulator = environment.get("STORAGE_EMULATOR_HOST", "")
    if not emulator:
        return Reached({}, allow_http=False)
    url = emulator if "://" in emulator else f"http://{emulator}"
    return Reached({"base_url": url.rstrip("/")}, url.startswith("http://"), anonymous=True)


def _gs_signed(anonymous: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    # Without a token obstore signs nothing that it reads, and asks for one before it writes.
    token = {"token": "anonymous", "expires_at": None}
    return {}, ({"credential_provider": lambda: token} if anonymous else {})


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


def _az(_parts: SplitResult, environment: Mapping[str, str]) -> Reached:
    config = {name: environment[key] for key, name in _AZURE_NAMES.items() if environment.get(key)}
    for part in environment.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"):
        key, _, value = part.partition("=")
        if key.strip() in _AZURE_PARTS:
            config.setdefault(_AZURE_PARTS[key.strip()], value.strip())
    endpoint = config.get("endpoint", environment.get("AZURE_STORAGE_ENDPOINT", ""))
    return Reached(config, endpoint.startswith("http://"))


SERVICES: Final = {
    "s3": Service(
        ("s3://bucket/prefix", "s3+http://host:port/bucket/prefix"),
        "bucket",
        _s3,
        "S3Store",
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        Prices("Amazon S3 Standard in us-east-1", 0.0004, 0.005, 0.023),
        _s3_signed,
    ),
    "gs": Service(
        ("gs://bucket/prefix",),
        "bucket",
        _gs,
        "GCSStore",
        "GOOGLE_APPLICATION_CREDENTIALS, the path of a key file",
        Prices("Google Cloud Storage Standard in us-central1", 0.0004, 0.005, 0.020),
        _gs_signed,
        needs_version=True,
    ),
    "az": Service(
        ("az://container/prefix",),
        "container",
        _az,
        "AzureStore",
        "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        Prices("Azure Blob Storage Hot in East US", 0.0005, 0.0055, 0.018),
    ),
}
"""The services by scheme: a new one is a row here."""


def service_of(scheme: str) -> Service | None:
    """Return the service of a URL's scheme, ``None`` where there is none."""
    kind, own, protocol = scheme.partition("+")
    service = SERVICES.get(kind)
    if service is None or not own:
        return service
    is_served = any("+http://" in one for one in service.spellings)
    return service if is_served and protocol in {"http", "https"} else None


def spellings() -> str:
    """Return the URLs of all services, for people."""
    *all_but_last, last = (one for service in SERVICES.values() for one in service.spellings)
    return f"{', '.join(all_but_last)} or {last}"
