"""Read values of settings from the text of a flag or variable. Each raises ``ValueError`` and says what is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from urllib.parse import urlsplit

from engine.access.keys.rate_limit import SHARED_SCHEMES
from engine.mail.mail_server import InvalidMailServer, parse_mail_server
from engine.views.collecting.addresses import TrustedProxies


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return what turns a text into a whole number from ``lowest`` to ``highest``."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise ValueError(f"give a whole number from {lowest} to {highest}")
        return int(text)

    return parse


def seconds(lowest: float, highest: float) -> Callable[[str], float]:
    """Return what turns a text into seconds from ``lowest`` to ``highest``."""

    def parse(text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or not lowest <= float(text) <= highest:
            raise ValueError(f"give seconds from {lowest:g} to {highest:g}, for example 5 or 0.5")
        return float(text)

    return parse


def parse_text(text: str) -> str:
    """Return a text that is not empty."""
    if not text:
        raise ValueError("it is empty")
    return text


def parse_memory(text: str) -> str:
    """Return a size as DuckDB takes it."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}(MB|GB)", text):
        raise ValueError("give megabytes or gigabytes, for example 512MB or 4GB")
    return text


def parse_bytes(text: str) -> int:
    """Return a size in bytes."""
    if text == "0":
        return 0
    number, unit = parse_memory(text)[:-2], text[-2:]
    return int(number) << {"MB": 20, "GB": 30}[unit]


def parse_log_format(text: str) -> str:
    """Return the form of the log."""
    if text not in {"text", "json"}:
        raise ValueError("give text or json")
    return text


def parse_rate_limit_url(text: str) -> str:
    """Return the URL of a Redis or Valkey, for which the package has to be installed."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.path if parts.scheme == "unix" else parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in SHARED_SCHEMES:
        schemes = ", ".join(SHARED_SCHEMES)
        raise ValueError(f"give a URL such as redis://:password@host:6379/0; the scheme is one of {schemes}")
    if find_spec("redis") is None:
        raise ValueError("the package redis is not installed: pip install 'parquetry[redis]'")
    return text


def parse_traces_url(text: str) -> str:
    """Return the URL at which a collector takes traces: the usual path where the URL has none."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"http", "https"} or parts.query or parts.fragment:
        raise ValueError("give a URL such as http://127.0.0.1:4318")
    if not _has_exporter():
        raise ValueError("OpenTelemetry is not installed: pip install 'parquetry[otel]'")
    return text if parts.path.strip("/") else f"{text.rstrip('/')}/v1/traces"


def _has_exporter() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # nothing of it is there
        return False


def parse_share(text: str) -> float:
    """Return a share of a whole."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?|\.[0-9]{1,9}", text) or float(text) > 1:
        raise ValueError("give a number from 0 to 1, such as 0.1 for one in ten")
    return float(text)


def parse_networks(text: str) -> tuple[str, ...]:
    """Return addresses and CIDR blocks."""
    networks = tuple(part.strip() for part in text.split(","))
    TrustedProxies(networks)
    return networks


def parse_address(text: str) -> str:
    """Return an address with a port."""
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise ValueError("give an address and a port, for example 127.0.0.1:9464")
    return text


def parse_switch(text: str) -> bool:
    """Return whether something is on."""
    if text not in {"0", "1"}:
        raise ValueError("give 1 for on, or 0 for off")
    return text == "1"


def parse_public_url(text: str) -> str:
    """Return the address of the server without a slash at its end."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"http", "https"} or parts.query or parts.fragment:
        raise ValueError("give the address that browsers know the server by, for example https://content.example")
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*/?", parts.path) or {".", ".."} & set(parts.path.split("/")):
        raise ValueError("its path may hold letters, digits and . _ ~ - between slashes")
    return text.rstrip("/")


def parse_smtp_url(text: str) -> str:
    """Return the URL of a mail server."""
    try:
        parse_mail_server(text)
    except InvalidMailServer as error:
        raise ValueError(error.reason) from None
    return text
