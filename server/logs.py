"""The server's log on standard error: text or JSON lines, in which no API key ever appears."""

from __future__ import annotations

import logging
import re
import time
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from snapshots.times import format_datetime

LOGGER = "parquetry"
"""The name of the server's logger; uvicorn's own messages take the same form."""

STARTING: Final = {"starting": True}
"""``extra`` of a line that tells how the server starts."""

_MOST_DECODED = 3
_KEY = re.compile(r"(pq_[0-9A-Za-z]{8})_[0-9A-Za-z_]+")


def without_keys(text: str) -> str:
    """A text in which every API key is cut down to its prefix, wherever it came from.

    A text with a key of which some characters are percent-encoded, even that several times, ends before the first
    that is.
    """
    if "pq_" not in text and "%" not in text:  # as in most
        return text
    masked = _KEY.sub(r"\1_***", text)
    plain = text
    for _ in range(_MOST_DECODED):
        if "%" not in plain:
            break
        plain = unquote(plain)
        if any(found[0] not in text for found in _KEY.finditer(plain)):
            return f"{masked.split('%', 1)[0]}***"
    return masked


def log_config(log_format: str, level: str = "INFO", *, with_start: bool = True) -> dict[str, Any]:
    """Return the standard library's logging configuration, also handed to each worker process.

    Lines that tell how the server starts are left out without ``with_start``.
    """
    formatter = "server.logs.JsonFormatter" if log_format == "json" else "server.logs.TextFormatter"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "filters": {
            "cut off": {"()": "server.logs.WithoutCutOff"},
            "start": {"()": "server.logs.WithoutStart"},
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["cut off"] if with_start else ["cut off", "start"],
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            LOGGER: {"handlers": ["stderr"], "level": level, "propagate": False},
            # Its starts and stops are told by the server itself, with what is served and where.
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
    }


class WithoutCutOff(logging.Filter):
    """Leaves out the traceback of each request that was cut off because the server ends and its reader had stalled:
    that is no fault, uvicorn tells before how many there are, and the access log has a line for each."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info:
            return True
        # 7 MB, which the main process of a server does without.
        from asyncio import CancelledError  # noqa: PLC0415 - see above

        return not isinstance(record.exc_info[1], CancelledError)


class WithoutStart(logging.Filter):
    """Leaves out the lines that tell how the server starts."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not hasattr(record, "starting")


class TextFormatter(logging.Formatter):
    """A record as ``2026-11-21T05:40:00.123Z INFO message``, a traceback on the lines after it."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{_moment(record)} {record.levelname} {record.getMessage()}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return without_keys(text)


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: ``time``, ``level``, ``message``, and ``traceback`` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        message = without_keys(record.getMessage())
        line = {"time": _moment(record), "level": record.levelname.lower(), "message": message}
        if record.exc_info:
            line["traceback"] = without_keys(self.formatException(record.exc_info))
        return json_line(line)


def json_line(value: dict[str, Any]) -> str:
    """Return an object as one line of JSON, whatever odd characters its texts hold."""
    printable = {
        k: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for k, v in value.items()
    }
    return msgspec.json.encode(printable).decode()


def _moment(record: logging.LogRecord) -> str:
    return format_datetime(int(record.created * 1000))


def log_moment() -> str:
    """Return the present instant as log lines show it."""
    return moment_text(time.time_ns() // 1_000_000)


def moment_text(ms: int) -> str:
    """Return ``format_datetime`` of an instant near others, whose second is made once."""
    seconds, rest = divmod(ms, 1000)
    return f"{_second(seconds)}.{rest:03}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return format_datetime(seconds * 1000).removesuffix(".000Z")
