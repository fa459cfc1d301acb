"""One SQL statement with its values."""

from __future__ import annotations

import msgspec

Parameters = dict[str, object]


class Statement(msgspec.Struct, frozen=True):
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters
