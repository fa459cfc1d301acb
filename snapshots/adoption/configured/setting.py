"""Settings of a generator: where its configuration has them, and what they say in the site at hand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from snapshots.adoption.configured.programs import texts_after
from snapshots.adoption.reading import MAX_BYTES

_NAMES: Final = (
    "year|month|day|title|slug|slugorfilename|filename|contentbasename|name|"
    "path|basename|section|sections|categories|category|collection|lang"
)


class Setting(msgspec.Struct, frozen=True):
    """A value in a site's configuration, which may be a program: what follows a key in its text."""

    files: tuple[str, ...]
    """The files that may have it, as patterns of their paths."""
    expression: str
    """A regular expression whose first group is the value."""

    def values(self, root: Path) -> list[str]:
        """Return the values in the configuration of the site at ``root``, in order."""
        texts = (text for _, text in _texts(root, self.files))
        return [str(found) for text in texts for found in re.findall(self.expression, text, re.MULTILINE)]

    def unclear(self, root: Path) -> list[str]:  # as ``Listed`` has it
        """Return nothing: an expression finds a value or none."""
        return []


class Listed(msgspec.Struct, frozen=True):
    """A list in a site's configuration, or a single value: read with a parser where the file is data, and in a program
    as far as it is written out."""

    files: tuple[str, ...]
    """The files that may have it, as patterns of their paths."""
    keys: tuple[str, ...]
    """The keys under which lists stand, those of mappings with dots before them."""

    def values(self, root: Path) -> list[str]:
        """Return all texts in the lists of the site at ``root``, and the lines of a text of several, in order."""
        found = (text for path, text in _texts(root, self.files) for text in self._read(path, text)[0])
        lines = (line.strip() for text in found for line in text.split("\n"))
        return [line for line in lines if line and not line.startswith("#")]

    def unclear(self, root: Path) -> list[str]:
        """Return the keys whose lists a program computes, each with its file."""
        every = ((path, self._read(path, text)[1]) for path, text in _texts(root, self.files))
        return [f"{key} in {path.relative_to(root).as_posix()}" for path, keys in every for key in keys]

    def _read(self, path: Path, text: str) -> tuple[list[str], list[str]]:
        """Return the texts, and the keys whose lists are not written out."""
        if path.suffix in _PARSERS:
            values = _PARSERS[path.suffix](text)
            return [one for key in self.keys for one in _texts_in(_at(values, key.split(".")))], []
        found, unclear = list[str](), list[str]()
        for key in self.keys:
            texts, is_whole = texts_after(text, key.rpartition(".")[2])
            found += texts
            unclear += [] if is_whole else [key]
        return found, unclear


def permalinks(files: tuple[str, ...]) -> Setting:
    """Return the setting of every template of addresses with names after colons, under whatever key."""
    return Setting(files, rf"[=:]\s*[\"']?(/?(?:[\w.-]+/)*:(?:{_NAMES})\b[^\s\"',}}\]]*)")


def text_of(path: Path) -> str:
    """Return the text of a configuration; nothing for a folder, or a file that cannot be read."""
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _texts(root: Path, files: Iterable[str]) -> Iterator[tuple[Path, str]]:
    yield from ((path, text_of(path)) for pattern in files for path in sorted(root.glob(pattern)))


class _Loader(yaml.SafeLoader):
    """Reads a configuration whatever tags its values have: what programs make of them is not asked for."""


_Loader.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


_PARSERS: Final = {".yml": _yaml, ".yaml": _yaml, ".toml": _toml, ".json": _json}


def _at(values: Any, steps: list[str]) -> Any:
    for step in steps:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts_in(one)
