"""Jekyll: posts, collections, data files and pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from snapshots.adoption.configured.setting import Setting, permalinks
from snapshots.adoption.data import of_file
from snapshots.adoption.folders import folders_and_pages, is_markdown
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.languages import Spoken, folders_of_languages, is_language, is_tag, main_first
from snapshots.adoption.reading import beginning_of, configuration
from snapshots.adoption.settling.joining import join_by_keys
from snapshots.adoption.site import Collection, Site, endings, in_folder, known_timezone, literal, spelled
from snapshots.documents.document import RawValue
from snapshots.documents.publicity import plain_truth

_DATED = re.compile(r"(?:^|/)_posts/(?:.*/)?\d{4}-\d{1,2}-\d{1,2}-[^/]+$")
_SAYS_NOTHING = re.compile(r"^published:[ \t]*(?:#[^\n]*|~|null)?\r?$", re.MULTILINE)
_LANGUAGE = re.compile(r"^lang:[ \t]*[\"']?([\w-]+)", re.MULTILINE)
_POLYGLOT = Setting(("_config.yml", "_config.yaml", "Gemfile"), r"^[^#\n]*\b(jekyll-polyglot)\b")
_DATE = "{year}-{month}-{day}"
_JOINING = ("page_id", "permalink")
"""The keys by which Polyglot knows the translations of a page; without one, it is by their addresses."""
_DEFAULTS = "the 'defaults' of _config.yml are not read: write the values that are needed into the files"


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what a Jekyll site holds; ``None`` where the folder is no such site."""
    values = configuration(root, "_config.yml", "_config.yaml")
    posts = [file for file in files if _DATED.search(file)]
    if values is None and not any(file.startswith("_posts/") for file in posts):
        return None
    values = values or {}
    collections: list[Collection] = []
    languages: list[str] = []
    listed = values.get("languages")
    codes = _polyglot(root)
    stated, folder = values.get("collections"), str(values.get("collections_dir") or "").strip("./")
    if posts:
        spoken = {first for file in posts if is_language(first := file.split("/")[0]) and first != folder}
        is_listed = isinstance(listed, list) and spoken.issubset(map(str, listed))
        if len(spoken) == 1 and not is_listed and not folders_of_languages(posts)[0]:
            spoken = set()  # a category
        collections.append(_posts(posts, spoken))
        languages += sorted(spoken)
    for name in stated if isinstance(stated, (dict, list)) else ():
        base = f"{folder}/_{name}/" if folder else f"_{name}/"
        mine = [file for file in files if file.startswith(base)]
        hidden = {file for file in mine if "/_" in f"/{file.removeprefix(base)}"}
        mine = [file for file in mine if file not in hidden]
        if mine and name != "posts":
            made, found = in_folder(str(name), base, mine, Spoken(None, tuple(codes)))
            if hidden:
                in_folders = {file for file in hidden if "/_" in f"/{file.removeprefix(base)}".rpartition("/")[0]}
                made.exclude |= {f"{literal(base)}**/_*/**": ""} if in_folders else {}
                made.exclude |= {f"{literal(base)}**/_*": ""} if hidden - in_folders else {}
                made.notes.append("files and folders whose names begin with _ are left out, as Jekyll leaves them out")
            options = stated.get(str(name)) if isinstance(stated, dict) else None
            if not (isinstance(options, dict) and plain_truth(options.get("output"))):
                made.has_pages = False
                made.notes.append("Jekyll makes no pages of these: they are data for other pages")
            collections.append(made)
            languages += found
    for file in files:
        if file.startswith("_data/") and file.count("/") == 1:
            data = of_file(root, file)
            if data is not None:
                collections.append(data)
    said = values.get("include")
    included = {str(one).strip("/") for one in said} if isinstance(said, list) else set()
    others = [
        file
        for file in files
        if not any(part.startswith("_") and part not in included for part in PurePosixPath(file).parts)
    ]
    stated = values.get("default_lang" if codes else "lang") or values.get("lang")
    said = stated if isinstance(stated, str) and is_tag(stated) else None
    main = said or "en"
    more, found = folders_and_pages(others, Spoken(said, tuple(codes)))
    made_codes, lang_map = spelled(main_first([main, *languages, *found], main))
    notes = [_DEFAULTS] if values.get("defaults") else []
    timezone = known_timezone(values.get("timezone"))
    collections += more
    site = Site(
        "Jekyll",
        made_codes,
        collections,
        lang_map,
        timezone=timezone,
        tags=_tags(values),
        main_is_known=said is not None or bool(codes),
        notes=notes,
    )
    if codes:
        join_by_keys(root, site, _JOINING, codes)
    return site


def _polyglot(root: Path) -> list[str]:
    """Return the languages that Polyglot makes; none where the site is made without it."""
    values = configuration(root, "_config.yml", "_config.yaml") or {}
    listed = values.get("languages")
    if not _POLYGLOT.values(root) or not isinstance(listed, list):
        return []
    return [code for code in dict.fromkeys(map(str, (*listed, values.get("default_lang", "en")))) if is_tag(code)]


def _tags(values: Mapping[str, RawValue]) -> dict[str, str]:
    """Return what replaces the tags of links, by the addresses in the configuration."""
    base = str(values.get("baseurl") or "").rstrip("/")
    site = str(values.get("url") or "").rstrip("/")
    links = {"link": "@/{0}", "post_url": "@/{0}", "site.baseurl": base, "relative_url": f"{base}{{0}}"}
    return {**links, **({"site.url": site, "absolute_url": f"{site}{base}{{0}}"} if site else {})}


def _posts(files: list[str], languages: set[str]) -> Collection:
    """Return the collection of dated posts, of all categories and languages."""
    source: list[str] = []
    for start in dict.fromkeys(f"{file.rpartition('_posts/')[0]}_posts/" for file in files):
        mine = [file for file in files if file.startswith(start)]
        folders = "**/" if any("/" in file.removeprefix(start) for file in mine) else ""
        first, _, rest = start.partition("/")
        written = f"{{lang}}/{literal(rest)}" if first in languages else literal(start)
        source += [f"{written}{folders}{_DATE}-{{name}}.{ending}" for ending in endings(mine)]
    names = [re.sub(r".*/\d{4}-\d{1,2}-\d{1,2}-|\.[^.]*$", "", f"/{file}") for file in files]
    in_language = [(file.split("/")[0] if languages else "", name) for file, name in zip(files, names, strict=True)]
    return Collection(
        "posts",
        list(dict.fromkeys(source)),
        files,
        multilingual=bool(languages),
        date=_DATE,
        id=f"{_DATE}-{{name}}" if len(set(in_language)) < len(files) else None,
    )


def _excluded(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return the files that the configuration excludes, those without front matter, and those with a ``published`` that
    says nothing."""
    said = (configuration(root, "_config.yml", "_config.yaml") or {}).get("exclude")
    for one in said if isinstance(said, list) else ():
        yield LeftOut(str(one).strip("/"), "the configuration of Jekyll excludes them")
    codes = {code.lower() for code in _polyglot(root)}
    renders_all = bool(_RENDERS_ALL.values(root))
    for file in filter(is_markdown, files):
        beginning = beginning_of(root / file)
        if not renders_all and not beginning.removeprefix("\ufeff").startswith("---"):
            yield LeftOut(literal(file), "Jekyll makes pages of files with front matter only: begin them with two ---")
        elif _SAYS_NOTHING.search(beginning):
            yield LeftOut(literal(file), "to Jekyll, an empty 'published' keeps them back: write true or false")
        elif (
            codes
            and (spoken := _LANGUAGE.search(beginning.partition("\n---")[0])) is not None
            and spoken[1].lower() not in codes
        ):
            yield LeftOut(literal(file), "Polyglot makes no pages in languages that _config.yml does not list")


_RENDERS_ALL = Setting(
    ("_config.yml", "_config.yaml", "Gemfile"), r"^[^#\n]*\b(jekyll-optional-front-matter|github-pages)\b"
)
"""Names what makes pages of files without front matter too."""
_DRAFTS = (
    "Jekyll publishes no drafts, and only their folder says that they are some: to preview them, write "
    "'status: draft' into them, and add their paths to a 'source'"
)
JEKYLL = Generator(
    name="Jekyll",
    understood=("published",),
    known_by=("_config.yml", "_config.yaml", "_posts"),
    not_by=("source/_posts", "scaffolds"),
    left_out=(LeftOut("**/_drafts/**", _DRAFTS),),
    more_left_out=_excluded,
    starts=("date",),
    starts_off=Setting(("_config.yml", "_config.yaml"), r"^future:\s*(true)"),
    addresses=("/:categories/:year/:month/:day/:title.html", "/:collection/:path"),
    address_settings=(permalinks(("_config.yml", "_config.yaml")),),
    tags={"comment": "", "raw": "{inner}", "highlight": "\n```{0}{inner}```\n"},
    read=_read,
)
