"""Say the cause of an object store's error in a sentence without secrets, and what kind of error it is."""

from __future__ import annotations

import re
from typing import Final

_NO_BUCKET: Final = re.compile(r"NoSuchBucket|ContainerNotFound|specified bucket does not exist")
_NO_CREDENTIALS: Final = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.|/oauth2/token\b")
_PAST_THE_END: Final = re.compile(r"\b416\b|InvalidRange|Requested range .* wanted|wanted range starting at")
_CODE: Final = re.compile(r"<Code>([^<]*)</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<\n]*)")
_QUERY: Final = re.compile(r"\?[^\s)\"']+")
_LONGEST: Final = 300


def cause(text: str) -> str:
    """Return what a server said, else what the client did; query strings, which can hold signatures, are left out."""
    first = text.partition("\n\nDebug source")[0]
    code, message = _CODE.search(first), _MESSAGE.search(first)
    if code is not None:
        said = code[1] + (f": {message[1].rstrip('. ')}" if message is not None else "")
    else:
        said = " ".join(first.split()).rpartition(" - ")[2] or "no answer"
    return _QUERY.sub("?…", said)[:_LONGEST].rstrip(". ")


def is_missing_bucket(text: str) -> bool:
    """Return whether the bucket itself is missing, not an object in it."""
    return _NO_BUCKET.search(text) is not None


def is_missing_credentials(text: str) -> bool:
    """Return whether the client ended up asking the machine's own metadata service, for want of anything else."""
    return _NO_CREDENTIALS.search(text) is not None


def is_past_the_end(text: str) -> bool:
    """Return whether a part of an object was asked for that begins or ends behind its end."""
    return _PAST_THE_END.search(text) is not None
