"""The addresses at which a generator may put the page of a content file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from snapshots.documents.document import RawValue

_KEYS: Final = ("permalink", "url", "path", "slug")
"""The keys of front matter by which a page names its own address, or the last part of it."""
_ENDING: Final = re.compile(r"\.(?:x?html?|[a-z]*md[a-z]*|markdown)$", re.IGNORECASE)
_INDEX: Final = frozenset({"index", "readme", "_index"})
_DATED: Final = re.compile(r"^(\d{4})-(\d{1,2})-(\d{1,2})-(?=.)")
_NUMBERED: Final = re.compile(r"^\d+[.\-_ ]+(?=\S)")
_LANGUAGE: Final = re.compile(r"\.[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?$")
_TOKEN: Final = re.compile(r":([a-z_]+)|\{+\s*([A-Za-z_.]+)[^}]*\}+")
_MOST: Final = 64
"""Addresses that are made of one template."""

Segments = tuple[str, ...]


class ContentFile(msgspec.Struct):
    """A content file, and what decides about the address of its page."""

    file: str
    """Relative to the site."""
    base: str
    """The folder of the content in which it lies, with a slash at the end; or none."""
    place: str
    """The folder at which the pages of the files in ``base`` are, likewise."""
    values: Mapping[str, RawValue]
    """Its front matter."""
    title: str = ""
    day: str = ""
    """The day of its page, such as ``2020-01-31``; or none."""
    id: str = ""


def segments_of(address: str) -> Segments:
    """Return the parts of an address in the form in which two are compared.

    Generators differ in how they spell a name: in case, accents, and what stands for a space. An index is its folder.
    """
    path = unquote(_path_of(address) if "://" in address else address.partition("?")[0].partition("#")[0])
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts:
        parts[-1] = _ENDING.sub("", parts[-1])
        if parts[-1].lower() in ("index", ""):
            parts.pop()
    return tuple(filter(None, map(_folded, parts)))


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:  # "https://[lang].example.com/" is no URL
        return ""


def _folded(name: str) -> str:
    plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", plain).casefold()).strip("-")


def given_addresses(one: ContentFile) -> Iterator[Segments]:
    """Return the whole addresses that a file itself gives its page."""
    for key, value in one.values.items():
        if key.lower() in _KEYS and isinstance(value, str) and value.strip():
            if ":" in value or "{" in value:
                yield from _expanded(value, one)
            elif "/" in value or key.lower() in ("permalink", "url", "path"):
                yield segments_of(value)


def names_of(one: ContentFile) -> tuple[str, ...]:
    """Return the names that the last part of the address may have, as addresses are compared."""
    return tuple(dict.fromkeys(filter(None, map(_folded, _names(one)))))


def folders_of(one: ContentFile) -> Segments:
    """Return the folders of the file below those of the content, as addresses are compared."""
    return _folders(one)


def made_addresses(one: ContentFile, templates: Iterable[str]) -> Iterator[Segments]:
    """Return the addresses that follow from a file's place, and from the templates of its generator."""
    folders, stem = _folders(one), _stem(one)
    unnumbered = tuple(_NUMBERED.sub("", name) for name in _raw_folders(one))
    for names in dict.fromkeys((folders, unnumbered, folders[1:])):  # the first may be a collection's alone
        inside = tuple(filter(None, map(_folded, names)))
        if stem.lower() in _INDEX:
            yield inside
            yield from ((*inside[:-1], name) for name in names_of(one)) if inside else ()
        else:
            yield from ((*inside, name) for name in names_of(one))
    for template in templates:
        yield from _expanded(template, one)


def _raw_folders(one: ContentFile) -> list[str]:
    return f"{one.place}{one.file.removeprefix(one.base)}".split("/")[:-1]


def _folders(one: ContentFile) -> Segments:
    return tuple(filter(None, map(_folded, _raw_folders(one))))


def _stem(one: ContentFile) -> str:
    """Return the name of a file without its extension, and without a language or ``.draft`` before that."""
    return _LANGUAGE.sub("", one.file.rpartition("/")[2].rpartition(".")[0].removesuffix(".draft"))


def _names(one: ContentFile) -> Iterator[str]:
    for key in (*_KEYS, "id"):
        for given, value in one.values.items():
            if given.lower() == key and isinstance(value, str) and value.strip("/"):
                yield _ENDING.sub("", value.strip("/").rpartition("/")[2])
    stem = _stem(one)
    whole = one.file.rpartition("/")[2].rpartition(".")[0]
    folders = _raw_folders(one)
    if stem.lower() in _INDEX:
        stem = folders[-1] if folders else stem
    yield stem
    if whole != stem and stem.lower() not in _INDEX:
        yield whole
    yield _DATED.sub("", stem)
    yield _NUMBERED.sub("", stem)
    if one.title:
        yield one.title
    if one.id:
        yield one.id


def _expanded(template: str, one: ContentFile) -> Iterator[Segments]:
    """Return the addresses that a template gives, with ``:name`` or ``{name}`` for what a file decides.

    A template is only a proposal: whether the page there is the file's is told by its text.
    """
    values = _values(one)
    pieces: list[tuple[str, ...]] = []
    end = 0
    for found in _TOKEN.finditer(template):
        name = (found[1] or found[2]).lower().rpartition(".")[2]
        pieces += [(template[end : found.start()],), values.get(name) or ("",)]
        end = found.end()
    pieces.append((template[end:],))
    for made, _ in zip(product(*pieces), range(_MOST), strict=False):
        yield segments_of("".join(made))


def _values(one: ContentFile) -> dict[str, tuple[str, ...]]:
    folders, names = _folders(one), names_of(one)
    dated = _DATED.match(_stem(one))
    day = one.day or ("-".join((dated[1], dated[2].zfill(2), dated[3].zfill(2))) if dated is not None else "")
    year, _, rest = day.partition("-")
    month, _, date = rest.partition("-")
    inside = "/".join(folders)
    posts = tuple(dict.fromkeys((inside, *_categories(one))))
    collection = next((name.lstrip("_") for name in one.file.split("/") if name.startswith("_")), "")
    found = dict.fromkeys(
        (
            "title",
            "slug",
            "name",
            "filename",
            "slugorfilename",
            "contentbasename",
            "slugorcontentbasename",
            "post_title",
        ),
        names,
    )
    return {
        **found,
        "path": tuple(f"{inside}/{name}" for name in names),
        "basename": names,
        "year": (year,),
        "month": (month,),
        "i_month": (month.lstrip("0"),),
        "day": (date,),
        "i_day": (date.lstrip("0"),),
        "short_year": (year[2:],),
        "y_day": ("",),
        "section": (folders[0] if folders else "",),
        "sections": (inside,),
        "category": posts,
        "categories": posts,
        "collection": (collection,),
        "output_ext": (".html",),
        "lang": ("",),
    }


def _categories(one: ContentFile) -> Iterator[str]:
    for key in ("categories", "category"):
        value = one.values.get(key)
        if isinstance(value, list):
            yield "/".join(str(each) for each in value)
            yield from (str(each) for each in value[:1])
        elif isinstance(value, str):
            yield value
            yield value.replace(" ", "/")
    yield ""
