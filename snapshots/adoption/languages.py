"""The languages of a site, as the names of its folders and files tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(
    "aa|ab|ae|af|ak|am|an|ar|as|av|ay|az|ba|be|bg|bh|bi|bm|bn|bo|br|bs|ca|ce|ch|co|cr|cs|cu|cv|cy|da|"
    "de|dv|dz|ee|el|en|eo|es|et|eu|fa|ff|fi|fj|fo|fr|fy|ga|gd|gl|gn|gu|gv|ha|he|hi|ho|hr|ht|hu|hy|hz|"
    "ia|id|ie|ig|ii|ik|io|is|it|iu|ja|jv|ka|kg|ki|kj|kk|kl|km|kn|ko|kr|ks|ku|kv|kw|ky|la|lb|lg|li|ln|"
    "lo|lt|lu|lv|mg|mh|mi|mk|ml|mn|mr|ms|mt|my|na|nb|nd|ne|ng|nl|nn|no|nr|nv|ny|oc|oj|om|or|os|pa|pi|"
    "pl|ps|pt|qu|rm|rn|ro|ru|rw|sa|sc|sd|se|sg|si|sk|sl|sm|sn|so|sq|sr|ss|st|su|sv|sw|ta|te|tg|th|ti|"
    "tk|tl|tn|to|tr|ts|tt|tw|ty|ug|uk|ur|uz|ve|vi|vo|wa|wo|xh|yi|yo|za|zh|zu"
)
"""ISO 639-1. Three letters are as likely a word, such as ``api``."""
UNKNOWN = "und"
"""Stands for a language that nothing names, for people to replace."""
_REGION = re.compile(r"[-_]([A-Za-z]{2}|[A-Z][a-z]{3}|[0-9]{3}|[a-z]{4})")


def is_language(name: str) -> bool:
    """Return whether a name is a language code such as ``en``, ``pt-BR`` or ``zh_Hans``."""
    return _CODE.fullmatch(name[:2]) is not None and (len(name) == 2 or _REGION.fullmatch(name[2:]) is not None)


def folders_of_languages(files: Iterable[str]) -> tuple[list[str], bool]:
    """Return the languages that the first folders of paths are named after, and whether all files are in such folders.

    Languages are told from other folders by there being several of them, or translations of what stands beside them.
    """
    inside: dict[str, set[str]] = {}
    outside: set[str] = set()
    for file in files:
        first, slash, rest = file.partition("/")
        if slash and is_language(first):
            inside.setdefault(first, set()).add(rest)
        else:
            outside.add(file)
    if not outside:
        return (sorted(inside), True) if len(inside) > 1 else ([], False)
    translated = [code for code, paths in inside.items() if 2 * len(paths & outside) >= len(paths)]
    return sorted(translated) if len(translated) == len(inside) else [], False


def with_original(translations: list[str]) -> list[str]:
    """Return languages after that of the files beside them, which nothing names: English, or ``und`` (undetermined)."""
    return [UNKNOWN if "en" in translations else "en", *translations]


def main_first(codes: Iterable[str], main: str = "en") -> list[str]:
    """Return language codes, each once, the main language first."""
    found = dict.fromkeys(codes)
    main = UNKNOWN if UNKNOWN in found else main
    return sorted(found, key=lambda code: (code != main, code))
