"""A site as its folder describes it: its kind, its languages, and the collections of content in it."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

import msgspec

from snapshots.adoption.languages import Spoken, ends_of_languages, folders_of_languages, with_original
from snapshots.model import ApiKind

DATE = "{year}-{month}-{day}"
"""The template of a date that stands in the names of files."""
_DAY = r"\d{4}-\d{2}-\d{2}"
_DATED = re.compile(rf"(?:^|/){_DAY}[-_][^/]+(?:$|/index\.[^/.]+$)")


class Collection(msgspec.Struct):
    """Content of one sort, which becomes an API."""

    name: str
    source: list[str]
    files: list[str]
    """Relative to the site, sorted."""
    exclude: dict[str, str] = msgspec.field(default_factory=dict)
    """The reason for each pattern of files that ``source`` matches, and that are none of its entries; or none."""
    multilingual: bool = False
    date: str | None = None
    """The template of a date that stands in the files' names."""
    id: str | None = None
    """The template of the IDs, where the files' names alone would give some twice."""
    translation_keys: tuple[str, ...] = ()
    """The keys by which files say that they are translations of each other: the first that one has."""
    collection: str | None = None
    """``from`` of the API."""
    kind: ApiKind = ApiKind.LIST
    has_pages: bool = True
    """Whether the generator makes a page of each file; otherwise they are data for other pages."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What a person may want to do otherwise."""


class Site(msgspec.Struct):
    """A site as its folder describes it."""

    kind: str
    languages: list[str]
    collections: list[Collection]
    lang_map: dict[str, str] = msgspec.field(default_factory=dict)
    left_out: list[str] = msgspec.field(default_factory=list)
    """Content files that are in no collection."""
    timezone: str = ""
    """The time zone of dates without an offset, where the folder says one."""
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    """What replaces the tags of the generator, by tag."""
    shortcodes: dict[str, str] = msgspec.field(default_factory=dict)
    """Those of them that stand in the texts."""
    starts: tuple[str, ...] = ()
    """The keys, in lower case, whose date in the future keeps a page back until then: the first that it has."""
    ends: tuple[str, ...] = ()
    """The keys, in lower case, whose date ends a page's time."""
    kept_back: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """The files of which the generator makes no pages: the pattern and the reason by which it leaves each out."""
    files_at_root: tuple[str, ...] = ()
    """The folders whose files the site has at its root, where addresses in texts are relative to those of pages."""
    missing_assets: int = 0
    """Files that texts name, and that are not there."""
    titles_by_heading: bool = False
    """Whether the first heading is the title of a page whose front matter has none."""
    ids_are_names: bool = False
    """Whether an ``id`` in front matter names a page in its folder alone, so that two pages may have the same."""
    understood: frozenset[str] = frozenset()
    """The keys, in lower case, by which the generator itself keeps pages back."""
    written_in: str | None = None
    """The language that the letters of most texts tell, if one."""
    unnamed: int = 0
    """Files whose path names no language."""
    main_is_known: bool = False
    """Whether the site says what language its texts are in where nothing names one."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What a person may want to do otherwise."""
    facts: list[str] = msgspec.field(default_factory=list)
    """What was done as the generator does it."""


def in_folder(
    name: str,
    base: str,
    files: list[str],
    spoken: Spoken | None = Spoken(),  # noqa: B008 - it is frozen
) -> tuple[Collection, list[str]]:
    """Return the collection of all ``files`` below a folder such as ``docs/``, and the languages of its folders.

    None of its folders is named after a language where ``spoken`` is ``None``.
    """
    inside = [file.removeprefix(base) for file in files]
    languages, everywhere = folders_of_languages(inside, spoken) if spoken else ([], False)
    ends = ends_of_languages(inside, spoken) if spoken and spoken.suffixes and not languages else []
    lang = "{lang}/" if everywhere else "{lang?}/" if languages else ""
    end = ".{lang?}" if ends else ""
    source = []
    for ending in endings(files):
        start = f"{literal(base)}{lang}{{path}}"
        # Where the language can be missing, its folder could be the {path} of an index.
        if not languages or everywhere:
            bundles = any(_is_bundle(file, base, ending, [*ends]) for file in files)
            source += [f"{start}/index{end}.{ending}"] if bundles else []
        source.append(f"{start}{end}.{ending}")
    found = languages or ends
    has_other = bool(found) and not everywhere
    if has_other:
        found = with_original(found, spoken.main if spoken else None)
    return Collection(name, source, files, multilingual=bool(found)), found


def dated_by_name(made: Collection, base: str) -> None:
    """Have the names of files that begin with a date give it, where some do: in ``made``, of files below ``base``.

    IDs stay the whole paths, or for dated files their names.
    """
    if made.multilingual or not any(_DATED.search(file.removeprefix(base)) for file in made.files):
        return
    source = []
    for ending in endings(made.files):
        inside = [f"/{file.removeprefix(base)}" for file in made.files if file.endswith(f".{ending}")]
        for mark in "-_":
            date = f"{literal(base)}**/{DATE}{mark}{{slug}}"
            forms = {
                f"{date}/index.{ending}": rf"/{_DAY}{mark}[^/]+/index\.",
                f"{date}.{ending}": rf"/{_DAY}{mark}[^/]+$",
            }
            source += [form for form, expression in forms.items() if any(re.search(expression, one) for one in inside)]
    made.source = [*source, *made.source]
    part = "path" if any("{path}" in pattern for pattern in made.source) else "name"
    made.id = made.id or f"{{{part}}} || {DATE}-{{slug}}"
    made.date = DATE


def _is_bundle(file: str, base: str, ending: str, ends: list[str]) -> bool:
    name = file.removeprefix(base)
    indexes = [f"/index.{ending}", *(f"/index.{code}.{ending}" for code in ends)]
    return "/" in name and any(f"/{name}".endswith(index) for index in indexes)


def endings(files: list[str]) -> list[str]:
    """Return the extensions of files as they are written, the most frequent first."""
    written = [file.rpartition(".")[2] for file in files]
    return sorted(set(written), key=lambda ending: (-written.count(ending), ending))


def literal(name: str) -> str:
    """Return a pattern that matches a path of this name alone."""
    return re.sub(r"[\[*?{}]", lambda found: f"[{found[0]}]", name)


def known_timezone(name: object) -> str:
    """Return the name of a time zone; an empty text for anything else."""
    return str(name) if isinstance(name, str) and name in available_timezones() else ""


def spelled(codes: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return language codes with hyphens, and the ``lang_map`` for those written with an underscore."""
    return [code.replace("_", "-") for code in codes], {code: code.replace("_", "-") for code in codes if "_" in code}
