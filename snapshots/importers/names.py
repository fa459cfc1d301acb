"""Turn names of other systems into valid ones: the same name always becomes the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from snapshots.definitions.names import RESERVED_FIELD_IDS
from snapshots.definitions.shapes import MAX_LANGUAGES
from snapshots.ids import hashed_id, without_accents

_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_OF_A_FIELD = re.compile(r"[^A-Za-z0-9_]+")
_NEVER = re.compile("[\0\ud800-\udfff]")
_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGEST_BYTES = 4
_LONGEST_FIELD = 56
_LONGEST_LANGUAGE = 64


def entry_id(text: str) -> str:
    """Return a text as an entry ID: itself, or what it has of valid characters and a hash of the whole."""
    return hashed_id(text, hash_bytes=_DIGEST_BYTES)  # as many as ever: importing again gives the same IDs


def field_ids(names: Iterable[str], *, in_group: bool = False) -> dict[str, str]:
    """Return field IDs for the names of fields: the name itself where it is one, else one made of it."""
    taken = {"fieldid"} if in_group else {name.lower() for name in RESERVED_FIELD_IDS}
    made: dict[str, str] = {}
    for name in names:
        if name in made:
            continue
        plain = _NOT_OF_A_FIELD.sub("_", without_accents(name)).strip("_")[:_LONGEST_FIELD]
        if not plain or not plain[0].isalpha():
            plain = f"field_{plain}".rstrip("_")
        chosen, number = plain, 2
        while chosen.lower() in taken:
            chosen, number = (
                f"{plain}_{number}" if number > 2 or plain.lower() in made else f"{plain}_value",
                number + 1,
            )
        taken |= {chosen.lower(), f"{chosen}__search".lower(), f"{chosen}__at".lower()}
        made[name] = chosen
    return made


def endpoints(names: Iterable[str]) -> dict[str, str]:
    """Return endpoints for the names of content types."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _NOT_OF_AN_ID.sub("-", without_accents(name)).strip("-_")[:_LONGEST_FIELD] or f"content-{digest(name)}"
        chosen, number = plain, 2
        while chosen.lower() in taken:
            chosen, number = f"{plain}-{number}", number + 1
        taken.add(chosen.lower())
        made[name] = chosen
    return made


def language(code: str) -> str | None:
    """Return a language code as a workspace takes it; ``None`` for a text that is none."""
    code = code.strip()
    if code.lower() == "draft" or len(code) > _LONGEST_LANGUAGE or not _LANGUAGE.fullmatch(code):
        return None
    return code


def characters(text: str) -> str:
    """Return a text without the characters that no text can have here: NUL and halves of pairs."""
    return _NEVER.sub("", text)


def languages(codes: Iterable[str]) -> list[str]:
    """Return the codes that are languages, ``MAX_LANGUAGES`` at most and none twice, whatever the case; else ``en``."""
    found: dict[str, str] = {}
    for code in codes:
        made = language(code)
        if made is not None and len(found) < MAX_LANGUAGES:
            found.setdefault(made.lower(), made)
    return list(found.values()) or ["en"]


def api_uid(kind: str, endpoint: str) -> str:
    """Return the identity of an imported API: importing again gives the same, so that keys keep their access."""
    number = int.from_bytes(blake2b(f"{kind}:{endpoint}".encode(), digest_size=9).digest())
    letters = ""
    for _ in range(12):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return f"api_{letters}"


def digest(text: str) -> str:
    """Return eight hexadecimal digits that stand for a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
