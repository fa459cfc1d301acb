"""The server's settings: flags, else the environment, else the defaults, in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from engine.access.sign_in.oidc.configuration import (
    VERIFIED_CLAIM,
    ProviderConfiguration,
    host_of,
    parse_client_id,
    parse_client_secret,
    parse_issuer,
    parse_name,
    parse_verified_claim,
)
from engine.timeline.points import PINNED_SECONDS
from engine.webhooks.addresses import ALLOW_LOOPBACK
from server.mirror.mirror_store import mirror_of
from server.setting_values import (
    parse_address,
    parse_bytes,
    parse_log_format,
    parse_memory,
    parse_networks,
    parse_public_url,
    parse_rate_limit_url,
    parse_share,
    parse_smtp_url,
    parse_switch,
    parse_text,
    parse_traces_url,
    seconds,
    whole_number,
)
from snapshots.problems import ParquetryError
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.locations import open_objects
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
    max_stale: float | None = None
    threads: int = max(4, os.cpu_count() or 1)
    memory: str = "1GB"
    answer_cache: int = 64 << 20
    list_cache: int = 256 << 20
    picture_cache: int = 1 << 30
    pinned_versions: int = 3
    pinned_seconds: int = PINNED_SECONDS
    kept_seconds: int = 86_400
    request_seconds: float = 5.0
    queue_seconds: float = 1.0
    connections: int = 1000
    shutdown_seconds: float = 10.0
    reload_seconds: float = 300.0
    log_format: str = "text"
    rate_limit_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    views_retention_days: int | None = None
    smtp_url: str | None = None
    webhook_allow_loopback: bool = False
    metrics: str | None = None
    traces: str | None = None
    traces_share: float = 0.1
    console: bool = False
    public_url: str | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: str | None = None
    oidc_name: str | None = None
    oidc_verified_claim: str = VERIFIED_CLAIM

    @property
    def oidc(self) -> ProviderConfiguration | None:
        """The provider at which people sign in to the console, where there is one."""
        if self.oidc_issuer is None or self.oidc_client_id is None or self.oidc_client_secret is None:
            return None
        name = self.oidc_name or host_of(self.oidc_issuer)
        return ProviderConfiguration(
            self.oidc_issuer, self.oidc_client_id, self.oidc_client_secret, name, self.oidc_verified_claim
        )

    def open_shared_store(self) -> Store:
        """Return the store that all machines share, to be changed; in a bucket, the mirror is where this machine works
        on it. Raises ``StoreError``."""
        mirror = self.open_store()
        return Store(mirror.root, mirror.cache, open_objects(self.store)) if is_bucket(self.store) else mirror

    def open_store(self) -> Store:
        """Return the store that is served, with its cache; for one in a bucket, its mirror on this machine.

        Raises ``StoreError``.
        """
        cache = Path(self.cache) if self.cache else None
        return mirror_of(self.store, cache) if is_bucket(self.store) else open_store(self.store, cache=cache)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings."""

    name: str
    """The attribute of ``Settings``."""
    flag: str | None
    """The flag of ``cms serve``; ``None`` where only the environment sets it."""
    variable: str
    parse: Callable[[str], object]
    """Reads the text of a flag or variable; ``ValueError`` says what is accepted."""
    meaning: str
    secret: bool = False
    """Whether nothing of its value may be shown."""


TABLE = (
    Setting("store", "--store", "CMS_STORE", parse_text, "Where snapshots, keys and views live."),
    Setting("host", "--host", "CMS_HOST", parse_text, "The address to listen on."),
    Setting("port", "--port", "CMS_PORT", whole_number(0, 65535), "The port to listen on; 0 takes a free one."),
    Setting("workers", "--workers", "CMS_WORKERS", whole_number(1, 256), "Processes that answer requests."),
    Setting(
        "cache",
        "--cache",
        "CMS_CACHE",
        parse_text,
        "Where opened snapshots are kept ready, and a bucket is mirrored; default .cache in the store.",
    ),
    Setting(
        "max_stale",
        None,
        "CMS_MAX_STALE",
        seconds(1, 999_999),
        "With a store in a bucket: seconds without contact after which reads are answered 503; unset, never.",
    ),
    Setting("threads", None, "CMS_THREADS", whole_number(1, 256), "SQL statements that a process runs at once."),
    Setting("memory", None, "CMS_MEMORY", parse_memory, "Memory that DuckDB may use for each workspace, in a process."),
    Setting(
        "answer_cache",
        None,
        "CMS_ANSWER_CACHE",
        parse_bytes,
        "Memory for the answer cache in a process; 0 keeps no answers.",
    ),
    Setting(
        "list_cache",
        None,
        "CMS_LIST_CACHE",
        parse_bytes,
        "Memory for the sort orders and filter conditions of lists that a process keeps; 0 keeps none.",
    ),
    Setting(
        "picture_cache",
        None,
        "CMS_PICTURE_CACHE",
        parse_bytes,
        "Space in the cache for sizes of pictures that were made, for all processes; 0 keeps none.",
    ),
    Setting(
        "pinned_versions",
        None,
        "CMS_PINNED_VERSIONS",
        whole_number(0, 1000),
        "Earlier snapshot versions of each workspace that a process keeps open for pinned requests; 0 keeps none.",
    ),
    Setting(
        "pinned_seconds",
        None,
        "CMS_PINNED_SECONDS",
        whole_number(1, 999_999),
        "Seconds for which requests may be pinned to what an answer was made from; later ones are answered 410.",
    ),
    Setting(
        "kept_seconds",
        None,
        "CMS_KEPT_SECONDS",
        whole_number(1, 99_999_999),
        "With a store in a bucket: seconds for which a snapshot version stays on this machine after another became "
        "current, for pinned requests and `since`.",
    ),
    Setting(
        "request_seconds",
        None,
        "CMS_REQUEST_SECONDS",
        seconds(0.1, 3600),
        "Seconds after which a running request is answered 503.",
    ),
    Setting(
        "queue_seconds",
        None,
        "CMS_QUEUE_SECONDS",
        seconds(0.01, 3600),
        "Seconds that a request may wait to begin before it is answered 503.",
    ),
    Setting(
        "connections",
        None,
        "CMS_CONNECTIONS",
        whole_number(1, 1_000_000),
        "The most connections that a process keeps open.",
    ),
    Setting(
        "shutdown_seconds",
        None,
        "CMS_SHUTDOWN_SECONDS",
        seconds(0, 3600),
        "Seconds that requests under way may go on when the server ends.",
    ),
    Setting(
        "reload_seconds",
        None,
        "CMS_RELOAD_SECONDS",
        seconds(1, 3600),
        "Seconds that new processes may take to get ready at a reload; if they take longer, the old ones go on.",
    ),
    Setting("log_format", None, "CMS_LOG_FORMAT", parse_log_format, "text, or json with one object per line."),
    Setting(
        "rate_limit_url",
        None,
        "CMS_RATE_LIMIT_URL",
        parse_rate_limit_url,
        "A Redis or Valkey that counts requests and recognises duplicate page views for all machines.",
    ),
    Setting(
        "trusted_proxies",
        None,
        "CMS_TRUSTED_PROXIES",
        parse_networks,
        "Addresses and CIDR blocks of proxies whose X-Forwarded-For is trusted.",
    ),
    Setting(
        "views_retention_days",
        None,
        "CMS_VIEWS_RETENTION_DAYS",
        whole_number(1, 36500),
        "How many days each page view is kept as a row; daily counts are kept for ever.",
    ),
    Setting(
        "smtp_url",
        None,
        "CMS_SMTP_URL",
        parse_smtp_url,
        "The mail server for e-mails about keys and webhooks; unset, none are sent.",
    ),
    Setting(
        "webhook_allow_loopback",
        None,
        ALLOW_LOOPBACK,
        parse_switch,
        "1 lets webhooks go to this machine, over http too: for development only.",
    ),
    Setting(
        "metrics",
        None,
        "CMS_METRICS",
        parse_address,
        "The address and port of /metrics for Prometheus; unset, there is none.",
    ),
    Setting(
        "traces",
        None,
        "CMS_TRACES",
        parse_traces_url,
        "The URL of a collector that takes traces (OTLP over HTTP); unset, there are none.",
    ),
    Setting(
        "traces_share",
        None,
        "CMS_TRACES_SHARE",
        parse_share,
        "The share of requests with which a trace begins, from 0 to 1; requests in a trace of others follow that.",
    ),
    Setting(
        "console", None, "CMS_CONSOLE", parse_switch, "1 serves the console at /console; 0, the default, does not."
    ),
    Setting(
        "public_url",
        None,
        "CMS_PUBLIC_URL",
        parse_public_url,
        "The address that browsers know the server by, with the path prefix of a proxy if there is one.",
    ),
    Setting(
        "oidc_issuer",
        None,
        "CMS_OIDC_ISSUER",
        parse_issuer,
        "The OpenID Connect provider by which members sign in to the console; unset, there is none.",
    ),
    Setting("oidc_client_id", None, "CMS_OIDC_CLIENT_ID", parse_client_id, "What the provider calls this server."),
    Setting(
        "oidc_client_secret",
        None,
        "CMS_OIDC_CLIENT_SECRET",
        parse_client_secret,
        "The secret that the provider gave this server.",
        secret=True,
    ),
    Setting(
        "oidc_name",
        None,
        "CMS_OIDC_NAME",
        parse_name,
        "What the sign-in page calls the provider; default the host of CMS_OIDC_ISSUER.",
    ),
    Setting(
        "oidc_verified_claim",
        None,
        "CMS_OIDC_VERIFIED_CLAIM",
        parse_verified_claim,
        "The claim by which the provider says that it has verified an e-mail address.",
    ),
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
            shown = "***" if setting.secret else masked(str(given))
            raise InvalidSetting(f'{source}: "{shown}" cannot be used: {error}.') from None
    if "store" not in values:
        raise InvalidSetting("No store is given. Set --store or CMS_STORE to where the snapshots are.")
    settings = Settings(**values)  # type: ignore[arg-type]  # each value went through the parser of its own row
    _check_provider(settings)
    return settings


def describe(settings: Settings) -> dict[str, object]:
    """Return the settings in force as they may be logged: by attribute name, secrets in URLs masked."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    secret = {setting.name for setting in TABLE if setting.secret}
    shown = {name: "***" if name in secret and value is not None else value for name, value in values.items()}
    return {name: masked(value) if isinstance(value, str) else value for name, value in shown.items()}


def _check_provider(settings: Settings) -> None:
    """Raise ``InvalidSetting`` where a provider of OpenID Connect lacks what it needs."""
    needed = {
        "CMS_OIDC_ISSUER": settings.oidc_issuer,
        "CMS_OIDC_CLIENT_ID": settings.oidc_client_id,
        "CMS_OIDC_CLIENT_SECRET": settings.oidc_client_secret,
    }
    missing = [name for name, value in needed.items() if value is None]
    if not settings.console or len(missing) == len(needed):
        return
    if missing:
        given = " and ".join(name for name in needed if name not in missing)
        raise InvalidSetting(f"{given}: there is no {' and no '.join(missing)}. Set all three, or none.")
    if settings.public_url is None:
        raise InvalidSetting(
            "CMS_OIDC_ISSUER: there is no CMS_PUBLIC_URL. Set it to the address that browsers know this server by: "
            "the provider sends people back there."
        )


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
    netloc = parts.netloc
    if "@" in rest and "@" not in netloc:  # a password with / ? or # as it is
        return f"{scheme}://***"
    if password is not None:
        netloc = f"{parts.username}:***@{netloc.rpartition('@')[2]}"
    return urlunsplit((parts.scheme, netloc, parts.path, "***" if parts.query else "", ""))
