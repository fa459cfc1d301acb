"""Tell of a file's name that ends like a language which the workspace does not have: ``hello.fr``, ``hello.DE``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

_CODE = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")
_ISO_639_1: Final = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg
    ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn
    no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu cn jp kr
"""
"""The codes of ISO 639-1, and three countries whose codes people write for their languages."""
_TWO_LETTERS: Final = frozenset(_ISO_639_1.split())
_THREE_LETTERS: Final = frozenset({"fil", "yue", "cmn", "haw", "gsw", "ast", "ckb", "kok", "nds", "eng", "deu", "jpn"})


def unknown_language(stem: str, languages: Collection[str], lang_map: Mapping[str, str]) -> str | None:
    """Return the language at the end of a file's name without its extension, if it is none of the workspace."""
    name, dot, written = stem.rpartition(".")
    code = _CODE.fullmatch(written)
    if not dot or not name or code is None or written in languages or written in lang_map:
        return None
    known = code[1].lower() in _TWO_LETTERS or code[1].lower() in _THREE_LETTERS or _spelled(written, languages)
    return written if known else None


def what_to_do(written: str, languages: Collection[str]) -> str:
    """Return the end of a message about a file in such a language: what the workspace has, and what to do."""
    has = f"the workspace has {', '.join(languages)}: "
    meant = _spelled(written, languages)
    if meant:
        return has + f"name the file with {meant}, or write 'lang_map: {{{written}: {meant}}}' in workspace.yaml"
    return has + f"add {written} to 'languages' in workspace.yaml, or name the file without it"


def _spelled(written: str, languages: Collection[str]) -> str | None:
    """Return the language that is spelled another way."""
    plain = written.lower().replace("_", "-")
    return next((lang for lang in languages if lang.lower().replace("_", "-") == plain), None)
