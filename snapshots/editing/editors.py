"""The editors that there are configurations for."""

from __future__ import annotations

from enum import StrEnum


class Editor(StrEnum):
    """The editors there are configurations for; both read the same form of file."""

    DECAP = "decap"
    SVELTIA = "sveltia"
