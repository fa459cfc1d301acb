"""Compression: choose the content coding of an answer by ``Accept-Encoding``, and encode bodies."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from typing import Final

import brotli
import zstandard

SMALLEST: Final = 1024
"""Bytes from which on a body is compressed: a smaller one fits into one packet anyway."""
IDENTITY: Final = "identity"
CODINGS: Final = ("zstd", "br", "gzip")
"""The content codings, the preferred one first: all make bodies equally small, and zstd takes the least time."""

_LONGEST: Final = 512
"""Bytes from which on ``Accept-Encoding`` is ignored: parsed headers are remembered, so they must not be large."""
_QVALUE: Final = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_ALIASES: Final = {"x-gzip": "gzip"}


@lru_cache(maxsize=1024)
def accepted_coding(accept_encoding: bytes) -> str:
    """Return the best content coding a client takes, for a body worth compressing (RFC 9110, 12.5.3).

    A client that takes none of ``CODINGS``, not even ``identity``, gets ``identity`` all the same: none is better.
    """
    weights = _weights(accept_encoding)
    best = max(CODINGS, key=lambda coding: _weight(weights, coding))
    weight = _weight(weights, best)
    # Acceptable unless the header says otherwise, but never preferred to a coding that it names.
    identity = weights.get(IDENTITY, 0.0)
    return best if weight > 0 and weight >= identity else IDENTITY


@lru_cache(maxsize=1024)
def refuses_identity(accept_encoding: bytes) -> bool:
    """Whether even a small body must be compressed."""
    weights = _weights(accept_encoding)
    return weights.get(IDENTITY, weights.get("*", 1.0)) == 0


def coding_for(accept_encoding: bytes | None, size: int) -> str:
    """Return the content coding for a body of ``size`` bytes."""
    if accept_encoding is None or len(accept_encoding) > _LONGEST:
        return IDENTITY
    if size < SMALLEST and not refuses_identity(accept_encoding):
        return IDENTITY
    return accepted_coding(accept_encoding)


def compressed(coding: str, body: bytes) -> bytes:
    """Return a body in a content coding. Takes some 10 ms a megabyte, and lets other threads run meanwhile."""
    match coding:
        case "zstd":
            return zstandard.ZstdCompressor(level=3).compress(body)
        case "br":
            return bytes(brotli.compress(body, quality=4))
        case "gzip":
            return gzip.compress(body, 4, mtime=0)
    return body


def _weights(accept_encoding: bytes) -> dict[str, float]:
    """Return the weight of each coding that the header names. A malformed part has no effect."""
    weights: dict[str, float] = {}
    for part in accept_encoding.decode("latin-1").lower().split(","):
        name, *parameters = (piece.strip(" \t") for piece in part.split(";"))
        weight: float | None = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip(" \t") == "q":
                weight = float(value) if _QVALUE.fullmatch(value := value.strip(" \t")) else None
        if name and weight is not None:
            name = _ALIASES.get(name, name)
            weights[name] = max(weight, weights.get(name, 0.0))
    return weights


def _weight(weights: dict[str, float], coding: str) -> float:
    return weights.get(coding, weights.get("*", 0.0))
