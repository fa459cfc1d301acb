"""WordPress: an export in WXR, the XML that ``Tools → Export`` saves. It is read twice, item by item.

Elements are known by their names as written: the addresses of their namespaces differ from export to export.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from snapshots.ids import slug_id, valid_id
from snapshots.importers.export import Export
from snapshots.importers.kinds.wordpress.apis import Apis
from snapshots.importers.kinds.wordpress.post_text import ALIGNMENTS, Tell, post_html
from snapshots.importers.losses import Losses, Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import digest, language
from snapshots.importers.reading.xml_items import Element, elements
from snapshots.model import Status

_ITEM_LEVEL = 2
_NOT_CONTENT = {
    "nav_menu_item": "menus are not content: write them as entries of an API of their own",
    "revision": "earlier states of a post are not carried over",
    "custom_css": "styles are not content",
    "customize_changeset": "settings of a theme are not content",
    "oembed_cache": "caches are not content",
    "wp_global_styles": "styles are not content",
    "wp_template": "templates of a theme are not content",
    "wp_template_part": "templates of a theme are not content",
    "wp_navigation": "menus are not content: write them as entries of an API of their own",
    "acf-field": "definitions of a plugin are not content",
    "acf-field-group": "definitions of a plugin are not content",
}
_LANGUAGES, _TRANSLATIONS = "language", "post_translations"
_INTERNAL = ("_edit_", "_wp_", "_thumbnail_id", "_menu_item_", "_oembed_", "_pingme", "_encloseme", "_trackbackme")
"""Beginnings of the names in which WordPress itself keeps what is no content, or is imported otherwise."""
_SERIALISED = re.compile(r'(?:a:\d+:\{|O:\d+:"|s:\d+:")')
_NO_DATE = "0000-00-00 00:00:00"


class _Post(msgspec.Struct):
    """The facts about an item that other items need."""

    id: str
    type: str
    url: str = ""
    alt: str = ""


class _Site(msgspec.Struct):
    """The facts that the first reading gathers."""

    apis: Apis
    posts: dict[str, _Post] = {}
    """By number."""
    title: str = ""
    home: str = ""
    language: str = ""
    exported: int | None = None
    languages: dict[str, None] = {}
    version: str = ""


def read(export: Export) -> Imported:
    """Return the posts, pages, terms, authors and attachments of a WXR file."""
    if export.path.is_dir():
        raise Unreadable(f"{export.path} is a folder. Name the XML file that WordPress exported.")
    site = _first_reading(export)
    main = export.language or next(iter(site.languages), None) or language(site.language) or "en"
    languages = list(dict.fromkeys([main, *site.languages]))

    def address(url: str) -> str | None:
        absolute = (
            urljoin(site.home, url) if site.home and not urlsplit(url).scheme and not url.startswith("#") else url
        )
        return absolute if absolute != url else None

    return Imported(
        site.apis.plans(),
        _versions(export, site, main),
        languages,
        site.title,
        site.exported,
        address,
        classes=ALIGNMENTS,
    )


def _first_reading(export: Export) -> _Site:
    site = _Site(Apis(export.losses))
    groups: dict[str, str] = {}
    taken: set[tuple[str, str, str]] = set()
    for element in elements(export.path, _ITEM_LEVEL):
        if element.name in ("wp:category", "wp:tag", "wp:term", "wp:author"):
            site.apis.note_header(element)
        elif element.name == "item":
            _note_item(element, site, groups, taken)
        elif element.name == "title":
            site.title = unescape(element.text.strip())
        elif element.name in ("wp:base_blog_url", "link") and element.text.strip():
            site.home = element.text.strip().rstrip("/") + "/"
        elif element.name == "language":
            site.language = element.text.strip()
        elif element.name == "pubDate":
            site.exported = _rfc_date(element.text)
        elif element.name == "wp:wxr_version":
            site.version = element.text.strip()
    if not site.version and not any(post.type for post in site.posts.values()):
        raise Unreadable(
            f"{export.path.name}: not an export of WordPress: it has no <wp:wxr_version>. Save it by Tools → Export."
        )
    return site


def _note_item(item: Element, site: _Site, groups: dict[str, str], taken: set[tuple[str, str, str]]) -> None:
    number, kind = _number(item), item.first("wp:post_type") or "post"
    if kind in _NOT_CONTENT:
        return
    lang, group = "", ""
    for category in item.every("category"):
        name = category.attributes.get("nicename", "")
        match category.attributes.get("domain", "category"):
            case "language":
                lang = language(name) or ""
                site.languages |= {lang: None} if lang else {}
            case "post_translations":
                group = f"{kind}:{name}"
            case domain:
                site.apis.note_term(domain, name, category.text.strip())
    made = _post_id(item, kind)
    if group:
        made = groups.setdefault(group, made)
    if (kind, made, lang) in taken:
        made = f"{made[:50]}-{slug_id(number)[-12:]}"
    taken.add((kind, made, lang))
    post = site.posts.setdefault(number, _Post(made, kind))
    if kind == "attachment":
        post.url = item.first("wp:attachment_url") or item.first("guid")
        post.alt = _meta(item).get("_wp_attachment_image_alt", "")
    site.apis.note_post(kind, item, _meta(item))


def _number(item: Element) -> str:
    """Return the number of an item; where the export has none, its line stands for it."""
    return item.first("wp:post_id") or f"line-{item.line}"


def _post_id(item: Element, kind: str) -> str:
    """Return the ID of a post: its slug, or where that has letters that no ID can hold, its type and number."""
    slug = unquote(item.first("wp:post_name"))
    if valid_id(slug):
        return slug
    named = item.first("guid") or item.first("link") or item.first("title")
    return slug_id(f"{kind}-{item.first('wp:post_id') or digest(named)}")


def _versions(export: Export, site: _Site, main: str) -> Iterator[ImportedVersion]:
    yield from site.apis.versions()
    seen: set[str] = set()
    for item in elements(export.path, _ITEM_LEVEL):
        if item.name != "item":
            continue
        kind, number = item.first("wp:post_type") or "post", _number(item)
        where = f"{export.path.name}:{item.line}"
        if kind in _NOT_CONTENT:
            export.losses.add(where, f"an item of the type {kind}", _NOT_CONTENT[kind])
        elif item.first("wp:status") in ("trash", "auto-draft"):
            export.losses.add(where, f"an item of the type {kind}", "it is in the trash, or was never saved")
        elif number in seen:
            export.losses.add(where, f"an item of the type {kind}", f"the number {number} appears twice")
        else:
            seen.add(number)
            yield _version(item, kind, site, where, export.losses, main)


def _version(item: Element, kind: str, site: _Site, where: str, losses: Losses, main: str) -> ImportedVersion:
    post = site.posts[_number(item)]
    endpoint = site.apis.endpoint(kind)

    def tell(what: str, why: str) -> None:
        losses.add(f"{where} ({post.id})", what, why, scope=endpoint)

    def media(number: str) -> tuple[str, str] | None:
        found = site.posts.get(number)
        return (found.url, found.alt) if found is not None and found.url else None

    meta = _meta(item)
    link = item.first("link") or site.home
    text = next((child.text for child in item.every("content:encoded")), "")
    values: dict[str, Any] = {
        "title": unescape(item.first("title")),  # WordPress keeps it with the entities of HTML
        "slug": unquote(item.first("wp:post_name")),
        "link": link,
        "excerpt": item.first("excerpt:encoded"),
    }
    custom = _custom_fields(item, tell)
    comments = sum(1 for _ in item.every("wp:comment"))
    if comments:
        losses.add(f"{where} ({post.id})", "comments", "comments are not imported", scope=endpoint, count=comments)
    if kind == "attachment":
        for name in custom or ():
            tell(f"the custom field {name!r}", "custom fields of attachments are not imported")
        for taxonomy in site.apis.terms_of(item, tell):
            tell(f"the terms of {taxonomy!r}", "terms of attachments are not imported")
        record = {"url": urljoin(site.home, post.url), "alt": post.alt}
        values |= {"caption": values.pop("excerpt"), "description": text}
        if site.apis.is_image(post.url):
            values["image"] = record
        else:
            values["file"] = {"url": record["url"]}
        return _dated(ImportedVersion(endpoint, post.id, values, where=where), item, losses)
    version = ImportedVersion(endpoint, post.id, dict(values), where=where)
    version.values["body"] = post_html(text, media, tell)
    if media(meta.get("_thumbnail_id", "")) is not None:
        thumbnail = site.posts[meta["_thumbnail_id"]]
        version.values["cover"] = {"url": urljoin(site.home, thumbnail.url), "alt": thumbnail.alt}
    elif meta.get("_thumbnail_id"):
        tell("a featured image", "the export does not contain its attachment: export all content")
    parent = site.posts.get(item.first("wp:post_parent"))
    if parent is not None and parent.type == kind:
        version.values["parent"] = parent.id
    version.values |= site.apis.terms_of(item, tell)
    version.values["order"] = int(order) if (order := item.first("wp:menu_order")).lstrip("-").isdecimal() else 0
    version.values["sticky"] = item.first("wp:is_sticky") == "1"
    version.values["author"] = site.apis.author_id(item.first("dc:creator"))
    version.values["custom"] = custom
    version.values = site.apis.kept(kind, version.values)
    lang = next(
        (
            one.attributes.get("nicename", "")
            for one in item.every("category")
            if one.attributes.get("domain") == _LANGUAGES
        ),
        "",
    )
    version.lang = language(lang) if lang else main
    version.status = _status(item, tell)
    if version.status is Status.SCHEDULED:
        version.publish_start = _date(item, "wp:post_date")
    return _dated(version, item, losses)


def _dated(version: ImportedVersion, item: Element, losses: Losses) -> ImportedVersion:
    version.created = _date(item, "wp:post_date") or _rfc_date(item.first("pubDate"))
    version.updated = _date(item, "wp:post_modified")
    version.published = version.created if version.status is Status.PUBLISHED else None
    if version.created is None:
        losses.add(version.where, "the date of a language version", "it has none: it is now that of the export")
    return version


def _status(item: Element, tell: Tell) -> Status:
    said = item.first("wp:status")
    if item.first("wp:post_password"):
        tell("a password", "nothing here is protected by one: the entry is a draft")
        return Status.DRAFT
    if said == "private":
        tell("a private post", "the entry is a draft, which only its draft key opens")
        return Status.DRAFT
    if said == "future":
        return Status.SCHEDULED
    if not said:
        tell("a missing status", "nothing says that the item is published: the entry is a draft")
    elif said not in ("publish", "inherit", "draft", "pending"):
        tell(f"the status {said[:60]!r}", "it is not one of WordPress itself: the entry is a draft")
    return Status.PUBLISHED if said in ("publish", "inherit") else Status.DRAFT


def _date(item: Element, name: str) -> str | None:
    """Return a date as text: the one in UTC, else that of the site's own time zone, which the export does not name."""
    for written in (item.first(f"{name}_gmt"), item.first(name)):
        if written and written != _NO_DATE:
            return f"{written}Z"
    return None


def _rfc_date(text: str) -> int | None:
    try:
        return round(parsedate_to_datetime(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _meta(item: Element) -> dict[str, str]:
    """Return the first value of every custom field, which is the one that WordPress itself takes."""
    return {name: values[0] for name, values in _all_meta(item).items()}


def _all_meta(item: Element) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in item.every("wp:postmeta"):
        value = next((child.text for child in one.every("wp:meta_value")), "")
        found.setdefault(one.first("wp:meta_key"), []).append(value)
    return found


def _custom_fields(item: Element, tell: Tell) -> dict[str, Any] | None:
    """Return the custom fields of a post for people, by name: the value, or a list where there are several."""
    made: dict[str, Any] = {}
    for name, values in _all_meta(item).items():
        if name.startswith("_"):
            if not name.startswith(_INTERNAL):
                tell(f"the hidden custom field {name!r}", "plugins keep data for themselves in names that begin with _")
            continue
        plain = [value for value in values if not _SERIALISED.match(value)]
        for _ in range(len(values) - len(plain)):
            tell(f"the custom field {name!r}", "a plugin saved it in a form of its own")
        if plain:
            made[name] = plain if len(values) > 1 else plain[0]
    return made or None
