"""The words by which sites keep pages back, and what a value under one plainly says: true, false, "everybody"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from snapshots.documents.document import RawValue, is_null
from snapshots.model import Status

_SHOWN_WHEN: Final[Mapping[str, bool]] = {
    "draft": False,
    "hidden": False,
    "private": False,
    "unlisted": False,
    "archived": False,
    "headless": False,
    "ignore": False,
    "noindex": False,
    "published": True,
    "publish": True,
}
"""The truth value with which a page is public, by word."""
_ENDS: Final = frozenset({"expiry", "expirydate", "expires", "unpublishdate"})
"""Words for the time from which a page is public no more."""
_PUBLIC: Final = frozenset({"public", "published", "visible"})
"""Values of ``visibility`` with which a page is public."""
_NOT_IN_ROBOTS: Final = re.compile(r"\b(noindex|none)\b", re.IGNORECASE)
_LINE_OF_KEY: Final = re.compile(r"([A-Za-z][\w-]*):(|[ \t].*)")
_ABOVE: Final = 4_096
"""Characters of a text in which the lines of keys above it stand."""
_NEVER: Final = frozenset({"never", "none"})
_TRUTHS: Final = {
    **dict.fromkeys(("true", "yes", "on", "y", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "0"), False),
}


def word_of(key: str) -> str | None:
    """Return the word that a key spells, in whatever case, if sites keep pages back by it."""
    word = key.casefold()
    return word if word in _SHOWN_WHEN or word in _SHOWN_BY else None


def is_truth(key: str) -> bool:
    """Return whether a key is a word, such as ``draft``, under which true or false is all that a page can say."""
    return key.casefold() in _SHOWN_WHEN


def ends_by(key: str) -> bool:
    """Return whether a key is a word for the time from which a page is public no more."""
    return key.casefold() in _ENDS


def keeps_back_by_false(key: str) -> bool:
    """Return whether a key is a word, such as ``published``, of which false keeps a page back."""
    return _SHOWN_WHEN.get(key.casefold()) is True


def plain_truth(raw: RawValue) -> bool | None:
    """Return what a value says in any spelling of YAML 1.1 and 1.2, quoted or not, or as 1 or 0; else ``None``."""
    if type(raw) is bool:
        return raw
    if type(raw) is int:
        return {1: True, 0: False}.get(raw)
    return _TRUTHS.get(raw.strip().lower()) if isinstance(raw, str) else None


def is_empty(raw: RawValue) -> bool:
    """Return whether a value says nothing: null, or a text without a character."""
    return is_null(raw) or (isinstance(raw, str) and not raw.strip())


def is_for_everybody(key: str, raw: RawValue) -> bool:
    """Return whether a key's value says plainly that everybody may see the page, or says nothing.

    Any other key than those of the table keeps a page back unless it is false.
    """
    if is_empty(raw):
        return True
    word = key.casefold()
    if word in _SHOWN_BY:
        return _SHOWN_BY[word](raw)
    return plain_truth(raw) is _SHOWN_WHEN.get(word, False)


def plainly_keeps_back(key: str, raw: RawValue) -> bool:
    """Return whether a key is a word whose value can mean nothing but that a page is not for everybody."""
    word = key.casefold()
    if word == "status":
        return isinstance(raw, str) and raw.strip().lower() in {Status.DRAFT, Status.SCHEDULED}
    return word in _SHOWN_WHEN and plain_truth(raw) is (not _SHOWN_WHEN[word])


def lines_above(text: str) -> Iterator[tuple[str, str]]:
    """Return the words, with their values, in the lines of keys with which a text without front matter begins."""
    for line in text[:_ABOVE].split("\n"):
        found = _LINE_OF_KEY.fullmatch(line)
        if found is None:
            return
        if word_of(found[1]) is not None:
            yield found[1], found[2].strip()


def _is_published(raw: RawValue) -> bool:
    return isinstance(raw, str) and raw.strip().lower() == Status.PUBLISHED


def _is_public(raw: RawValue) -> bool:
    return isinstance(raw, str) and raw.strip().lower() in _PUBLIC


def _is_made(raw: RawValue) -> bool:
    """Return whether a value, such as that of ``permalink``, does not say that a page has no place on the site."""
    if isinstance(raw, dict):
        return all(
            is_empty(value) or plain_truth(value) is False
            for key, value in raw.items()
            if key.lower() in ("disable", "disabled", "exclude", "hidden", "ignore")
        )
    return plain_truth(raw) is not False and not (isinstance(raw, str) and raw.strip().lower() in _NEVER)


def _is_indexed(raw: RawValue) -> bool:
    if isinstance(raw, dict):
        named = {key.lower(): plain_truth(value) for key, value in raw.items()}
        return named.get("index") is not False and named.get("noindex") is not True
    parts = raw if isinstance(raw, list) else [raw]
    return all(plain_truth(part) is not False and not _NOT_IN_ROBOTS.search(str(part)) for part in parts)


def _is_built(raw: RawValue) -> bool:
    """Return whether the build options of a Hugo page leave it on the site and in its lists."""
    if not isinstance(raw, dict):
        return _is_made(raw)
    return all(
        is_empty(value) or plain_truth(value) is True or (isinstance(value, str) and value.strip().lower() == "always")
        for key, value in raw.items()
        if key.lower() in ("render", "list")
    )


def _ends(raw: RawValue) -> bool:
    return plain_truth(raw) is False


_SHOWN_BY: Final[Mapping[str, Callable[[RawValue], bool]]] = {
    "status": _is_published,
    "visibility": _is_public,
    "robots": _is_indexed,
    **dict.fromkeys(("sitemap", "output", "render", "permalink"), _is_made),
    **dict.fromkeys(("_build", "build"), _is_built),
    **dict.fromkeys(_ENDS, _ends),
}
"""What says whether a value is for everybody, by words whose values are more than true and false."""
