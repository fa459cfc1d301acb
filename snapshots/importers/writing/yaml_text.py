"""Write values as YAML that people can edit and that is read back as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_YAML_ITEMS = 100_000
"""Values of a document that YAML is written for; larger documents are JSON, which has no such limit when read."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[ .()/&-]+[A-Za-z0-9_]+)*[.)]?")
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_LONGEST_KEY = 500
_LONG = 100
# Everything that YAML does not take as it is, or that an editor would not show.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_NOT_IN_BLOCK = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def document_text(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return a mapping as a document, and the extension of its format: YAML, or JSON where YAML has limits."""
    if _suits_yaml(values, [MAX_YAML_ITEMS]):
        return "".join(f"{line}\n" for line in _mapping(values, "")) or "{}\n", "yaml"
    return json.dumps(values, ensure_ascii=False) + "\n", "json"


def inline(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)}: {inline(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return _scalar(value)


def _suits_yaml(value: Any, left: list[int]) -> bool:
    left[0] -= 1
    if left[0] < 0:
        return False
    if isinstance(value, Mapping):
        return all(len(key) <= _LONGEST_KEY and _suits_yaml(item, left) for key, item in value.items())
    return not isinstance(value, list) or all(_suits_yaml(item, left) for item in value)


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _item(f"{indent}{_key(key)}:", value, indent)


def _item(head: str, value: Any, indent: str) -> Iterator[str]:
    """Return the lines of a value that stands behind ``head``."""
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, f"{indent}  ")
    elif isinstance(value, list) and value:
        yield head
        for one in value:
            yield from _list_item(one, f"{indent}  ")
    elif isinstance(value, str) and _suits_block(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}"
        for line in value.removesuffix("\n").split("\n"):
            yield f"{indent}  {line}" if line else ""
    else:
        yield f"{head} {inline(value)}"


def _list_item(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, (Mapping, list)) and value:
        lines = _mapping(value, f"{indent}  ") if isinstance(value, Mapping) else _nested(value, f"{indent}  ")
        first = next(lines)
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from lines
    else:
        yield f"{indent}- {inline(value)}"


def _nested(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        yield from _list_item(value, indent)


def _suits_block(text: str) -> bool:
    """Return whether a text can be written over several lines without a change."""
    if "\n" not in text and not (len(text) > _LONG and '"' in text):
        return False
    return not (
        text[0] in " \t\n"
        or text.endswith((" ", "\t", "\n\n", " \n", "\t\n"))
        or _NOT_IN_BLOCK.search(text) is not None
    )


def _key(text: str) -> str:
    return text if _KEY.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = len(value) <= _LONG and _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain or _DATE_TIME.fullmatch(value) else _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
