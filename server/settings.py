"""The server's settings: flags, else the environment, else the defaults, in one table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from engine.expiry.mail_server import InvalidMailServer, parse_mail_server
from engine.keys.rate_limit import SHARED_SCHEMES
from engine.page_views.collecting.addresses import TrustedProxies
from snapshots.problems import ParquetryError
from snapshots.store.store import Store, open_store


class InvalidSetting(ParquetryError):
    """A flag or an environment variable has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the server. The meaning of each stands in ``TABLE``."""

    store: str
    host: str = "127.0.0.1"
    port: int = 8787
    workers: int = 1
    cache: str | None = None
    threads: int = max(4, os.cpu_count() or 1)
    memory: str = "1GB"
    answer_cache: int = 64 << 20
    list_cache: int = 256 << 20
    request_seconds: float = 5.0
    queue_seconds: float = 1.0
    connections: int = 1000
    shutdown_seconds: float = 10.0
    log_format: str = "text"
    rate_limit_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    views_retention_days: int | None = None
    smtp_url: str | None = None
    metrics: str | None = None

    def open_store(self) -> Store:
        """Return the store that is served, with its cache. Raises ``StoreError``."""
        return open_store(self.store, cache=Path(self.cache) if self.cache else None)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings."""

    name: str
    """The attribute of ``Settings``."""
    flag: str | None
    """The flag of ``cms serve``; ``None`` where only the environment sets it."""
    variable: str
    parse: Callable[[str], object]
    """The text of a flag or variable → the value; ``ValueError`` says what is accepted."""
    meaning: str


def _whole(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise ValueError(f"give a whole number from {lowest} to {highest}")
        return int(text)

    return parse


def _seconds(lowest: float, highest: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or not lowest <= float(text) <= highest:
            raise ValueError(f"give seconds from {lowest:g} to {highest:g}, for example 5 or 0.5")
        return float(text)

    return parse


def _text(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _memory(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,5}(MB|GB)", text):
        raise ValueError("give megabytes or gigabytes, for example 512MB or 4GB")
    return text


def _bytes(text: str) -> int:
    if text == "0":
        return 0
    number, unit = _memory(text)[:-2], text[-2:]
    return int(number) << {"MB": 20, "GB": 30}[unit]


def _log_format(text: str) -> str:
    if text not in {"text", "json"}:
        raise ValueError("give text or json")
    return text


def _rate_limit_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = bool(parts.path if parts.scheme == "unix" else parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in SHARED_SCHEMES:
        schemes = ", ".join(SHARED_SCHEMES)
        raise ValueError(f"give a URL such as redis://:password@host:6379/0; the scheme is one of {schemes}")
    return text


def _networks(text: str) -> tuple[str, ...]:
    networks = tuple(part.strip() for part in text.split(","))
    TrustedProxies(networks)
    return networks


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise ValueError("give an address and a port, for example 127.0.0.1:9464")
    return text


def _smtp_url(text: str) -> str:
    try:
        parse_mail_server(text)
    except InvalidMailServer as error:
        raise ValueError(error.reason) from None
    return text


TABLE = (
    Setting("store", "--store", "CMS_STORE", _text, "Where snapshots, keys and views live."),
    Setting("host", "--host", "CMS_HOST", _text, "The address to listen on."),
    Setting("port", "--port", "CMS_PORT", _whole(0, 65535), "The port to listen on; 0 takes a free one."),
    Setting("workers", "--workers", "CMS_WORKERS", _whole(1, 256), "Processes that answer requests."),
    Setting(
        "cache", "--cache", "CMS_CACHE", _text, "Where opened snapshots are kept ready; default .cache in the store."
    ),
    Setting("threads", None, "CMS_THREADS", _whole(1, 256), "Statements that run at once in a process."),
    Setting("memory", None, "CMS_MEMORY", _memory, "What DuckDB may use for each workspace, in a process."),
    Setting(
        "answer_cache", None, "CMS_ANSWER_CACHE", _bytes, "Memory of the answer cache in a process; 0 keeps no answers."
    ),
    Setting(
        "list_cache",
        None,
        "CMS_LIST_CACHE",
        _bytes,
        "Memory of the orders and conditions of lists that a process keeps; 0 keeps none.",
    ),
    Setting(
        "request_seconds",
        None,
        "CMS_REQUEST_SECONDS",
        _seconds(0.1, 3600),
        "A request that runs longer is answered 503.",
    ),
    Setting(
        "queue_seconds",
        None,
        "CMS_QUEUE_SECONDS",
        _seconds(0.01, 3600),
        "A request that cannot be begun for so long is answered 503.",
    ),
    Setting("connections", None, "CMS_CONNECTIONS", _whole(1, 1_000_000), "Open connections of a process, at most."),
    Setting(
        "shutdown_seconds",
        None,
        "CMS_SHUTDOWN_SECONDS",
        _seconds(0, 3600),
        "How long requests under way may go on at the end.",
    ),
    Setting("log_format", None, "CMS_LOG_FORMAT", _log_format, "text, or json with one object a line."),
    Setting(
        "rate_limit_url",
        None,
        "CMS_RATE_LIMIT_URL",
        _rate_limit_url,
        "A Redis or Valkey that counts the requests of all machines.",
    ),
    Setting(
        "trusted_proxies",
        None,
        "CMS_TRUSTED_PROXIES",
        _networks,
        "Addresses and CIDR blocks of proxies whose X-Forwarded-For is believed.",
    ),
    Setting(
        "views_retention_days",
        None,
        "CMS_VIEWS_RETENTION_DAYS",
        _whole(1, 36500),
        "How many days each page view is kept as a row; daily counts are kept for ever.",
    ),
    Setting(
        "smtp_url", None, "CMS_SMTP_URL", _smtp_url, "The mail server that takes expiry e-mails; none are sent without."
    ),
    Setting("metrics", None, "CMS_METRICS", _address, "The address and port of /metrics for Prometheus; none without."),
)


def read_settings(flags: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings in force. ``flags`` holds attribute names and values as given, ``None`` for flags not given.

    An empty variable counts as not set. Raises ``InvalidSetting``, naming the flag or variable, and where no
    store is given at all.
    """
    values: dict[str, object] = {}
    for setting in TABLE:
        given = flags.get(setting.name)
        source = setting.flag or setting.name
        if given is None and environment.get(setting.variable):
            given = environment[setting.variable]
            source = setting.variable
        if given is None:
            continue
        try:
            values[setting.name] = setting.parse(str(given))
        except ValueError as error:
            raise InvalidSetting(f'{source}: "{masked(str(given))}" cannot be used: {error}.') from None
    if "store" not in values:
        raise InvalidSetting("No store is given. Set --store or CMS_STORE to where the snapshots are.")
    return Settings(**values)  # type: ignore[arg-type]  # each value went through the parser of its own row


def describe(settings: Settings) -> dict[str, object]:
    """Return the settings in force as they may be logged: by attribute name, secrets in URLs masked."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: masked(value) if isinstance(value, str) else value for name, value in values.items()}


def masked(text: str) -> str:
    """Return a setting's text without the password and the query of a URL, where credentials stand."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text if "@" not in text else "***"
    try:
        parts = urlsplit(text)
        password, _ = parts.password, parts.port  # both may raise
    except ValueError:
        return f"{scheme}://***"
    place = parts.netloc
    if "@" in rest and "@" not in place:  # a password with / ? or # as it is
        return f"{scheme}://***"
    if password is not None:
        place = f"{parts.username}:***@{place.rpartition('@')[2]}"
    return urlunsplit((parts.scheme, place, parts.path, "***" if parts.query else "", ""))
