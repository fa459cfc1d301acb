"""The links of a Strapi export: relations between rows, media, and the locales of one entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from snapshots.importers.reading.shapes import mapping, text

_FILE, _LOCALIZATIONS = "plugin::upload.file", "localizations"
_Key = tuple[str, str, str]
_End = tuple[float, str, str]
"""Place, type and number of the row that a link leads to."""


class ExportLinks:
    """Answers where the relations of a row lead."""

    def __init__(self, schemas: Mapping[str, Any], links: Iterable[Mapping[str, Any]]) -> None:
        self._forward: dict[_Key, list[_End]] = {}
        self._backward: dict[_Key, list[_End]] = {}
        self._media: dict[_Key, list[_End]] = {}
        self._group: dict[tuple[str, str], tuple[str, str]] = {}
        for link in links:
            left, right = mapping(link.get("left")), mapping(link.get("right"))
            kind, number, field = (text(left.get(name)) for name in ("type", "ref", "field"))
            target, other, inverse = (text(right.get(name)) for name in ("type", "ref", "field"))
            if kind == _FILE:
                self._media.setdefault((target, other, inverse), []).append((_position(right), kind, number))
            elif field == _LOCALIZATIONS:
                self._join((kind, number), (target, other))
            elif kind in schemas:
                self._forward.setdefault((kind, number, field), []).append((_position(left), target, other))
                self._backward.setdefault((kind, field, other), []).append((_position(right), kind, number))

    def targets(self, kind: str, number: str, field: str) -> list[tuple[str, str]]:
        """Return (type, number) of the rows that a relation of a row leads to, in order."""
        return _ordered(self._forward.get((kind, number, field)))

    def sources(self, kind: str, field: str, number: str) -> list[tuple[str, str]]:
        """Return the rows of a type whose relation leads to a row."""
        return _ordered(self._backward.get((kind, field, number)))

    def files(self, kind: str, number: str, field: str) -> list[str]:
        """Return the numbers of the files in a media field of a row."""
        return [file for _, file in _ordered(self._media.get((kind, number, field)))]

    def files_of_field(self, kind: str, field: str) -> Iterable[str]:
        """Return the numbers of all files in a media field, of any row."""
        return (end[2] for key, ends in self._media.items() if (key[0], key[2]) == (kind, field) for end in ends)

    def types_of_field(self, kind: str, field: str) -> set[str]:
        """Return the types that a relation leads to, of any row."""
        return {end[1] for key, ends in self._forward.items() if (key[0], key[2]) == (kind, field) for end in ends}

    def first_of_localizations(self, kind: str, number: str) -> str:
        """Return the least number of the rows that are the locales of one entry."""
        return self._root((kind, number))[1]

    def _root(self, row: tuple[str, str]) -> tuple[str, str]:
        while row in self._group and self._group[row] != row:
            row = self._group[row]
        return row

    def _join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        first, second = sorted((self._root(one), self._root(other)), key=lambda row: (len(row[1]), row[1]))
        self._group[second] = first
        self._group[one] = self._group[other] = first


def _ordered(ends: list[_End] | None) -> list[tuple[str, str]]:
    return [(kind, number) for _, kind, number in sorted(ends or (), key=lambda end: end[0])]


def _position(end: Mapping[str, Any]) -> float:
    position = end.get("pos")
    return float(position) if isinstance(position, (int, float)) else 0.0
