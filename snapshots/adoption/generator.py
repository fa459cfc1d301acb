"""A site generator as a table: how to know it, where its content lies, and what it keeps back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from snapshots.adoption.configured.globs import either, glob
from snapshots.adoption.configured.setting import Listed, Setting, text_of
from snapshots.adoption.languages import Spoken, is_tag
from snapshots.adoption.site import Site, literal
from snapshots.definitions.patterns import InvalidPattern, Pattern, parse_pattern

_NO_TAGS: Mapping[str, str] = {}
_TREE: Final = "/**"
"""Ends the pattern of all files in a folder."""
_SPECIAL: Final = re.compile(r"[*?\[{}]")
"""Characters by which a pattern can mean more than one path."""


class LeftOut(msgspec.Struct, frozen=True):
    """Files of which a generator makes no pages."""

    pattern: str
    """Of their paths, relative to the folder of the content, as ``exclude`` has it."""
    why: str
    """The reason, for people: goes on after "left out: "."""
    but: bool = False
    """Whether these are files that the rules before do not mean."""


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    """A row for each fact about a generator. ``snapshots/adoption/generators/`` has one file for each."""

    name: str
    known_by: tuple[str, ...]
    """Patterns of paths, one of which a site has."""
    says: str = ""
    """A regular expression that stands in one of the files by which it is known."""
    not_by: tuple[str, ...] = ()
    """Patterns of paths that none of its sites has."""
    content: tuple[str, ...] = ("",)
    """The folders of the content, relative to the site, each with a slash at the end."""
    content_settings: tuple[Setting, ...] = ()
    """Name the folders of the content instead."""
    content_of: Callable[[Path], Mapping[str, str]] | None = None
    """Returns the folders of the content of a site where its configuration has them, each with the folder at which its
    pages are; both with a slash at the end, or none."""
    beside: bool = False
    """Whether the content lies beside the path by which the site is known, not in a folder of a name."""
    edits: bool = False
    """Whether it is an editor, which works on the content of another generator."""
    sections: bool = False
    """Whether each folder of the content is a collection of its own."""
    languages: bool = True
    """Whether folders can be named after languages."""
    main_language: tuple[Setting, ...] = ()
    """Name the language of what nothing names: the first that does."""
    language_settings: tuple[Setting, ...] = ()
    """Name further languages, one or a list in text, as folders and files spell them."""
    suffixes: bool = False
    """Whether a language can end the name of a file: ``about.fr.md``."""
    translated: Callable[[Path], Mapping[str, str]] | None = None
    """Returns, by folder of the content of a site, the folder of its translations, with ``{lang}`` in it."""
    joined_by: tuple[str, ...] = ()
    """The keys of front matter whose value pages with different values of ``lang`` share if they are translations of
    each other: the first that one has."""
    section_file: str = ""
    """The name of the file, as a pattern, without which a folder is no section of its own."""
    data: bool = True
    """Whether files of data in folders of the content are content too."""
    left_out: tuple[LeftOut, ...] = ()
    left_out_settings: tuple[Setting | Listed, ...] = ()
    """Name patterns of further files that are left out; one without a slash inside stands for names in any folder, and
    one after ``!`` for files that are none of them."""
    left_out_from_site: bool = False
    """Whether those patterns are relative to the site, not to the folder of the content."""
    more_left_out: Callable[[Path, list[str]], Iterable[LeftOut]] | None = None
    """Returns further files that are left out, with patterns relative to the site, given it and its files."""
    computed: Callable[[Path], Iterable[str]] | None = None
    """Returns the settings, besides ``left_out_settings``, of what is left out that a site's configuration computes."""
    notes: Callable[[Path], Iterable[str]] | None = None
    """Returns what people are to know of a site's content, each as a sentence for a comment."""
    files_at_root: tuple[str, ...] = ()
    """The folders whose files the site has at its root, where addresses in texts are relative to those of pages."""
    files_by_name: bool = False
    """Whether texts name pictures by their names alone, whatever folder they lie in."""
    dated_names: tuple[str, ...] = ()
    """The folders of the content, or ``""`` for all, in which a name such as ``2026-01-31-news.md`` gives the date."""
    titles_by_heading: bool = False
    """Whether the first heading is the title of a page whose front matter has none."""
    ids_are_names: bool = False
    """Whether an ``id`` in front matter names a page in its folder alone, so that two pages may have the same."""
    starts: tuple[str, ...] = ()
    """The keys, in lower case, whose date in the future keeps a page back until then: the first that it has."""
    starts_off: Setting | None = None
    """Says that pages of the future are made."""
    understood: tuple[str, ...] = ()
    """The keys, in lower case, by which it keeps pages back."""
    timezone: Setting | None = None
    """Names the time zone of dates without an offset."""
    in_utc: bool = False
    """Whether dates without an offset are in UTC where the configuration names no time zone."""
    ends: tuple[str, ...] = ()
    """The keys, in lower case, whose date ends a page's time."""
    addresses: tuple[str, ...] = ()
    """Templates of pages' addresses, such as ``/:year/:month/:title/``, besides those that follow from folders and
    names. ``snapshots/adoption/proof/addresses.py`` lists what may stand after a colon or in braces."""
    address_settings: tuple[Setting, ...] = ()
    """Name further templates."""
    tags: Mapping[str, str] = _NO_TAGS
    """The replacements of tags in the texts; an empty text drops a tag."""
    read: Callable[[Path, list[str]], Site | None] | None = None
    """Returns the collections of a site where they do not follow from the rows."""

    def is_of(self, root: Path) -> bool:
        """Return whether the site at ``root`` is made with this generator."""
        known = [path for pattern in self.known_by for path in root.glob(pattern)]
        if not known or any(any(root.glob(pattern)) for pattern in self.not_by):
            return False
        return not self.says or any(re.search(self.says, text_of(path), re.MULTILINE) for path in known)

    def folders(self, root: Path) -> list[str]:
        """Return the folders of the content of the site at ``root``, each with a slash at the end."""
        if self.content_of is not None and (mounted := self.content_of(root)):
            return list(mounted)
        named = [value for setting in self.content_settings for value in setting.values(root)]
        found = [value.removeprefix("./").strip("/") for value in named if ".." not in value]
        made = [f"{one}/" if one not in ("", ".") else "" for one in found] or list(self.content)
        if self.beside:
            known = next(path for pattern in self.known_by for path in sorted(root.glob(pattern)))
            base = known.parent.relative_to(root).as_posix()
            made = [one if base == "." else f"{base}/{one}" for one in made]
        return list(dict.fromkeys(made))

    def address_templates(self, root: Path) -> list[str]:
        """Return the templates of the addresses of pages of the site at ``root``."""
        said = [value for setting in self.address_settings for value in setting.values(root)]
        return list(dict.fromkeys((*said, *self.addresses)))

    def spoken(self, root: Path) -> Spoken | None:
        """Return what the configuration of the site at ``root`` says of its languages; ``None``: no folder has one."""
        if not self.languages:
            return None
        main = next((value for setting in self.main_language for value in setting.values(root)), None)
        said = [value for setting in self.language_settings for value in setting.values(root)]
        codes = [code for value in said for code in re.findall(r"[\w-]+", value) if is_tag(code)]
        return Spoken(main, tuple(dict.fromkeys([*([main] if main and codes else []), *codes])), self.suffixes)

    def unclear(self, root: Path) -> list[str]:
        """Return the settings of what is left out that the configuration of the site at ``root`` computes."""
        listed = [one for setting in self.left_out_settings for one in setting.unclear(root)]
        return listed if self.computed is None else [*listed, *self.computed(root)]

    def rules(self, root: Path, files: list[str]) -> Rules:
        """Return the rules that say which files of the site at ``root`` are left out."""
        said = [value for setting in self.left_out_settings for value in setting.values(root)]
        why = f"the configuration of {self.name} leaves them out"
        named = [
            LeftOut(_as_pattern(one), why, value.startswith("!")) for value in said for one in either(value.lstrip("!"))
        ]
        every = [
            LeftOut(f"{literal(folder)}{one.pattern}", one.why, one.but)
            for folder in self.folders(root)
            for one in (*self.left_out, *(() if self.left_out_from_site else named))
        ]
        every += named if self.left_out_from_site else []
        more = [] if self.more_left_out is None else self.more_left_out(root, files)
        return Rules(_readable([*every, *more], files))


def _readable(every: Iterable[LeftOut], files: list[str]) -> Iterator[LeftOut]:
    """Return rules with patterns that definitions can have: those of single files in place of any other."""
    for rule in every:
        try:
            parse_pattern(rule.pattern)
        except InvalidPattern:
            matched = glob(rule.pattern)
            yield from (LeftOut(literal(file), rule.why, rule.but) for file in files if matched.fullmatch(file))
        else:
            yield rule


class Rules:
    """Decides which files of a site are left out, and why."""

    def __init__(self, every: Iterable[LeftOut]) -> None:
        self._named: dict[str, list[tuple[int, LeftOut]]] = {}
        """The rules about one file or folder, of which a site can have very many, each with its place among all."""
        self._others: list[tuple[int, LeftOut, Pattern]] = []
        self._has_exceptions = False
        for place, (rule, pattern) in enumerate(_parsed(every)):
            self._has_exceptions = self._has_exceptions or rule.but
            if _SPECIAL.search(rule.pattern.removeprefix("./").removesuffix(_TREE)) is None:
                self._named.setdefault(rule.pattern.removeprefix("./"), []).append((place, rule))
            else:
                self._others.append((place, rule, pattern))

    def rule_of(self, file: str) -> LeftOut | None:
        """Return the rule by which a file is left out; ``None`` for all others."""
        found = None
        for _, rule in sorted(self._matching(file), key=lambda one: one[0]):
            if (found is None) is not rule.but:
                found = None if rule.but else rule
        if found is not None and self._has_exceptions:  # its pattern could match those too
            return msgspec.structs.replace(found, pattern=literal(file))
        return found

    def _matching(self, file: str) -> Iterator[tuple[int, LeftOut]]:
        for place, rule, pattern in self._others:
            if pattern.whole.fullmatch(file):
                yield place, rule
        yield from self._named.get(file, ())
        end = file.rfind("/")
        while end >= 0:
            yield from self._named.get(file[:end] + _TREE, ())
            end = file.rfind("/", 0, end)


def _parsed(every: Iterable[LeftOut]) -> Iterator[tuple[LeftOut, Pattern]]:
    for rule in every:
        for text in (rule.pattern, f"{rule.pattern.rstrip('/')}{_TREE}"):  # a folder's name stands for all in it
            try:
                pattern = parse_pattern(text)
            except InvalidPattern:
                continue
            yield msgspec.structs.replace(rule, pattern=text), pattern


def _as_pattern(written: str) -> str:
    """Return a pattern as files such as ``.gitignore`` have it as one of a path."""
    inside = written.removeprefix("./").rstrip("/")
    return inside.lstrip("/") if "/" in inside else f"**/{inside}"
