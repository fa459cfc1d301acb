"""The languages of a site, as its configuration, the names of its folders and files, and its texts tell them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from snapshots.adoption.reading import MAX_BYTES

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
_REGION = re.compile(r"[-_]([A-Za-z]{2}|[A-Z][a-z]{3}|[0-9]{3}|[a-z]{4})([-_][A-Za-z0-9]{2,8})*")
_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("el", re.compile("[\u0386-\u03ce]")),
    ("he", re.compile("[\u05d0-\u05ea]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
)
"""Letters in which one language alone is written, the telling ones first: Japanese has those of Chinese too."""
_LETTER = re.compile(r"[^\W\d_]")
_TEXTS = 60
"""Files that are looked into for the language of a site."""
_MANY = 0.2
"""The share of its letters from which a text is in the language of a script; of Japanese, a third is kana."""


class Spoken(msgspec.Struct, frozen=True):
    """What a site's configuration says of its languages."""

    main: str | None = None
    """The language of what nothing names."""
    others: tuple[str, ...] = ()
    """All languages, as folders and files spell them."""
    suffixes: bool = False
    """Whether a language can end the name of a file: ``about.fr.md``."""

    def names(self, name: str) -> bool:
        """Return whether a name is one of the languages, or is like one where the configuration says none."""
        return name in self.others if self.others else is_language(name)


def is_language(name: str) -> bool:
    """Return whether a name is a language code such as ``en``, ``pt-BR`` or ``zh_Hans``."""
    return _CODE.fullmatch(name[:2]) is not None and (len(name) == 2 or _REGION.fullmatch(name[2:]) is not None)


def is_tag(name: str) -> bool:
    """Return whether a name is any valid language tag, such as ``fil`` or ``zgh-Tfng``: also one such as ``api``."""
    if is_language(name):
        return True
    if _TAG.fullmatch(name) is None:
        return False
    from langcodes import tag_is_valid  # noqa: PLC0415 - takes 0.1 s, and few sites have such a name

    return tag_is_valid(name)


def folders_of_languages(files: Iterable[str], spoken: Spoken = Spoken()) -> tuple[list[str], bool]:  # noqa: B008 - it is frozen
    """Return the languages that the first folders of paths are named after, and whether all files are in such folders.

    Where the configuration says no languages, they are told from other folders by being translations: of each other,
    or of what stands beside them.
    """
    inside: dict[str, set[str]] = {}
    outside: set[str] = set()
    every = list(files)
    for file in every:
        first, slash, rest = file.partition("/")
        if slash and spoken.names(first):
            inside.setdefault(first, set()).add(rest)
        else:
            outside.add(file)
    if spoken.others:
        return sorted(inside), bool(inside) and not outside
    if len(inside) > 1 or (inside and outside):
        _add_rare(inside, outside)
    if not outside:
        return (sorted(inside), True) if len(inside) > 1 and _is_shared(inside) else ([], False)
    translated = [code for code, paths in inside.items() if 2 * len(paths & outside) >= len(paths)]
    if len(translated) == len(inside):
        return sorted(translated), False
    # A page or two beside the folders of languages: a start page, a page not found.
    is_few = len(outside) * 10 <= len(every) and all("/" not in file for file in outside)
    return (sorted(inside), False) if len(inside) > 1 and is_few and _is_shared(inside) else ([], False)


def _is_shared(inside: dict[str, set[str]]) -> bool:
    """Return whether of most folders half of the paths stand in another, as translations do."""
    counts = Counter(path for paths in inside.values() for path in paths)
    sharing = [code for code, paths in inside.items() if 2 * sum(counts[path] > 1 for path in paths) >= len(paths)]
    return 2 * len(sharing) > len(inside)


def _add_rare(inside: dict[str, set[str]], outside: set[str]) -> None:
    """Move the folders that languages of three letters may have, and that hold translations of others, to those."""
    known = set().union(*inside.values())
    folders: dict[str, set[str]] = {}
    for file in outside:
        first, slash, rest = file.partition("/")
        if slash:
            folders.setdefault(first, set()).add(rest)
    for first, paths in folders.items():
        if 2 * len(paths & known) >= len(paths) and is_tag(first):
            inside[first] = paths
            outside -= {f"{first}/{path}" for path in paths}


def ends_of_languages(files: Collection[str], spoken: Spoken) -> list[str]:
    """Return the languages that end the names of files (``about.fr.md``), each beside one without.

    Those that the configuration says need nothing beside them.
    """
    stems = {file.rpartition(".")[0] for file in files}
    found = dict[str, bool]()
    for stem in stems:
        before, dot, code = stem.rpartition(".")
        if dot and before.rpartition("/")[2] and spoken.names(code):
            is_translation = bool(spoken.others) or before in stems or f"{before}.{spoken.main}" in stems
            found[code] = found.get(code, False) or is_translation
    return sorted(code for code, is_translation in found.items() if is_translation)


def with_original(translations: list[str], main: str | None = None) -> list[str]:
    """Return languages after that of the files beside them, which nothing names: ``main``, else English, or ``und``."""
    original = main or (UNKNOWN if "en" in translations else "en")
    return [original, *(code for code in translations if code != original)]


def main_first(codes: Iterable[str], main: str = "en") -> list[str]:
    """Return language codes, each once, the main language first."""
    found = dict.fromkeys(codes)
    main = UNKNOWN if UNKNOWN in found else main
    return sorted(found, key=lambda code: (code != main, code))


def written_in(root: Path, files: Iterable[str]) -> str | None:
    """Return the language whose script most of some files are written in; ``None`` for scripts of many languages."""
    chosen = list(files)
    found: Counter[str | None] = Counter()
    for file in chosen[:: max(1, len(chosen) // _TEXTS)]:
        try:
            with (root / file).open("rb") as opened:
                text = opened.read(MAX_BYTES).decode(errors="replace")
        except OSError:
            continue
        letters = len(_LETTER.findall(text))
        told = (code for code, script in _SCRIPTS if letters and len(script.findall(text)) > _MANY * letters)
        found[next(told, None)] += 1
    most = found.most_common(1)
    return most[0][0] if most and 2 * most[0][1] > found.total() else None
