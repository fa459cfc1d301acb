"""Ghost: the JSON that Settings → Import/Export saves, or a folder that has it beside ``content/images``.

The export is the tables of the database, with posts and pages in one. Their HTML names the site by a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from snapshots.importers.export import Export
from snapshots.importers.losses import Losses, Unreadable
from snapshots.importers.model import ApiPlan, FieldPlan, Imported, ImportedVersion
from snapshots.importers.names import language
from snapshots.importers.reading.json_items import document
from snapshots.importers.reading.shapes import at, listed, mapping, mappings, text
from snapshots.model import FieldType, Status

_SITE: Final = "__GHOST_URL__"
_STORED: Final = re.compile(r"^(?:__GHOST_URL__)?/content/(images|media|files)/([^?#]+)")
_CLASS: Final = re.compile(r'class="([^"]*)"')
_MOST_CLASSES: Final = 200
"""Classes of Ghost's own cards that are kept."""
_POSTS: Final[tuple[FieldPlan, ...]] = (
    FieldPlan("title", FieldType.TEXT, required=True),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("body", FieldType.RICHTEXT),
    FieldPlan("excerpt", FieldType.TEXTAREA),
    FieldPlan("cover", FieldType.IMAGE, "Feature image"),
    FieldPlan("caption", FieldType.RICHTEXT, "Caption of the feature image"),
    FieldPlan("featured", FieldType.BOOLEAN),
    FieldPlan("tags", FieldType.REFERENCES, apis=["tags"]),
    FieldPlan("authors", FieldType.REFERENCES, apis=["authors"]),
    FieldPlan("metaTitle", FieldType.TEXT),
    FieldPlan("metaDescription", FieldType.TEXTAREA),
    FieldPlan("canonicalUrl", FieldType.TEXT),
)
_TAGS: Final[tuple[FieldPlan, ...]] = (
    FieldPlan("name", FieldType.TEXT, required=True),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("description", FieldType.TEXTAREA),
    FieldPlan("image", FieldType.IMAGE),
)
_AUTHORS: Final[tuple[FieldPlan, ...]] = (
    FieldPlan("name", FieldType.TEXT, required=True),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("bio", FieldType.TEXTAREA),
    FieldPlan("location", FieldType.TEXT),
    FieldPlan("website", FieldType.TEXT),
    FieldPlan("image", FieldType.IMAGE),
)
_NOT_IMPORTED: Final = {
    "codeinjection_head": "scripts of a page are not content",
    "codeinjection_foot": "scripts of a page are not content",
    "custom_template": "templates of a theme are not content",
    "og_image": "what social networks show is not imported: add fields for it",
    "og_title": "what social networks show is not imported: add fields for it",
    "og_description": "what social networks show is not imported: add fields for it",
    "twitter_image": "what social networks show is not imported: add fields for it",
    "twitter_title": "what social networks show is not imported: add fields for it",
    "twitter_description": "what social networks show is not imported: add fields for it",
    "email_subject": "newsletters are not content",
}


class _Site(msgspec.Struct):
    """The tables of the export that are read."""

    posts: list[Mapping[str, Any]]
    meta: dict[str, Mapping[str, Any]]
    """By the number of the post."""
    tags: dict[str, Mapping[str, Any]]
    """The public ones, by number."""
    users: dict[str, Mapping[str, Any]]
    tags_of: dict[str, list[str]]
    """The slugs of tags, in order, by the number of the post."""
    authors_of: dict[str, list[str]]


def read(export: Export) -> Imported:
    """Return the posts, pages, tags and authors of a Ghost export."""
    path = _file(export.path)
    said = document(path)
    database = next(iter(mappings(mapping(said).get("db"))), mapping(said))
    tables = mapping(database.get("data"))
    if not isinstance(tables.get("posts"), list):
        raise Unreadable(f"{path.name}: not an export of Ghost: it has no list of posts. Save it by Settings → Export.")
    settings = {text(one.get("key")): one.get("value") for one in mappings(tables.get("settings"))}
    site = _site(tables, export.losses)
    main = export.language or language(text(settings.get("locale")) or text(settings.get("lang"))) or "en"
    root = export.path if export.path.is_dir() else export.path.parent
    images = _Files(export, root)
    for name in ("members", "subscribers", "newsletters", "products", "offers"):
        if listed(tables.get(name)):
            export.losses.add(path.name, f"the table {name}", "members and what they get are not content")
    codes = [code for post in site.posts if (code := language(text(post.get("locale")))) is not None]
    return Imported(
        _plans(site),
        _versions(site, main, images, export.losses),
        list(dict.fromkeys([main, *codes])),
        text(settings.get("title")),
        at(database, "meta", "exported_on"),
        images.address,
        classes=_own_classes(site.posts),
    )


def _plans(site: _Site) -> list[ApiPlan]:
    """Return the APIs of what the site has."""
    kinds = {_endpoint(post) for post in site.posts}
    found = {"posts": ("posts" in kinds, _POSTS), "pages": ("pages" in kinds, _POSTS)}
    found |= {"tags": (bool(site.tags), _TAGS), "authors": (bool(site.users), _AUTHORS)}
    there = {endpoint: fields for endpoint, (is_there, fields) in found.items() if is_there}
    return [
        ApiPlan(
            endpoint, endpoint.title(), [msgspec.structs.replace(one) for one in fields if there.keys() >= {*one.apis}]
        )
        for endpoint, fields in there.items()
    ]


def _endpoint(post: Mapping[str, Any]) -> str:
    return "pages" if text(post.get("type")) == "page" or post.get("page") in (1, True) else "posts"


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(one for one in (*path.glob("*.json"), *path.glob("content/data/*.json")) if one.is_file())
    if len(found) != 1:
        raise Unreadable(f"{path} has {len(found) or 'no'} JSON files. Put the one that Ghost exported there, alone.")
    return found[0]


def _site(tables: Mapping[str, Any], losses: Losses) -> _Site:
    tags = {}
    for tag in mappings(tables.get("tags")):
        if text(tag.get("visibility")) in ("", "public") and not text(tag.get("name")).startswith("#"):
            tags[text(tag.get("id"))] = tag
        else:
            losses.add(f"tag {text(tag.get('slug'))}", "an internal tag", "only the old site's theme used it")
    users = {text(user.get("id")): user for user in mappings(tables.get("users"))}
    site = _Site(
        mappings(tables["posts"]),
        {text(one.get("post_id")): one for one in mappings(tables.get("posts_meta"))},
        tags,
        users,
        _joined(tables.get("posts_tags"), "tag_id", tags),
        _joined(tables.get("posts_authors"), "author_id", users),
    )
    for user in users.values():
        if text(user.get("email")):
            losses.add(f"author {text(user.get('slug'))}", "an e-mail address", "content is public, so it is left out")
    return site


def _joined(table: Any, key: str, targets: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the IDs of what a table joins with posts, by post."""
    found: dict[str, list[tuple[float, str]]] = {}
    for one in mappings(table):
        target = targets.get(text(one.get(key)))
        order = one.get("sort_order")
        place = float(order) if isinstance(order, (int, float)) else 0.0
        if target is not None:
            found.setdefault(text(one.get("post_id")), []).append((place, _id(target)))
    return {post: [name for _, name in sorted(some, key=lambda pair: pair[0])] for post, some in found.items()}


def _id(row: Mapping[str, Any]) -> str:
    return text(row.get("slug")) or text(row.get("id"))


def _own_classes(posts: list[Mapping[str, Any]]) -> frozenset[str]:
    """Return the classes by which Ghost's cards are laid out, as far as they are in use."""
    used = {
        name
        for post in posts
        for written in _CLASS.findall(text(post.get("html")))
        for name in written.split()
        if name.startswith("kg-") and name.isascii()
    }
    return frozenset(sorted(used)[:_MOST_CLASSES])


class _Files:
    """The addresses of images and files that the site itself has."""

    def __init__(self, export: Export, root: Path) -> None:
        self._export, self._root = export, root

    def address(self, url: str) -> str | None:
        """Return the address of a copy, or one from the root of the site; ``None`` for one that is neither."""
        stored = _STORED.match(url)
        if stored is not None and self._export.copies.wanted and ".." not in stored[2].split("/"):
            source = self._root / "content" / stored[1] / stored[2]
            other = self._root / stored[1] / stored[2]
            made = self._export.copies.address([source, other], self._root, stored[2].rpartition("/")[2], url, url)
            if made != url:
                return made
        if not url.startswith(_SITE):
            return None
        why = "the export does not say where the site is: they begin with / now"
        self._export.losses.add(url[:200], "addresses of the site itself", why)
        return url.removeprefix(_SITE) or "/"

    def record(self, url: Any, alt: Any = None) -> dict[str, Any] | None:
        """Return an image; ``None`` where there is none."""
        said = text(url)
        return {"url": self.address(said) or said, "alt": text(alt) or None} if said else None


def _versions(site: _Site, main: str, files: _Files, losses: Losses) -> Iterator[ImportedVersion]:
    for tag in site.tags.values():
        values = {name: tag.get(name) for name in ("name", "slug", "description")}
        yield _dated(
            ImportedVersion("tags", _id(tag), {**values, "image": files.record(tag.get("feature_image"))}), tag
        )
    for user in site.users.values():
        values = {name: user.get(name) for name in ("name", "slug", "bio", "location", "website")}
        image = files.record(user.get("profile_image") or user.get("image"))
        yield _dated(ImportedVersion("authors", _id(user), {**values, "image": image}), user)
    for post in site.posts:
        yield _post(post, site, main, files, losses)


def _post(post: Mapping[str, Any], site: _Site, main: str, files: _Files, losses: Losses) -> ImportedVersion:
    number = text(post.get("id"))
    endpoint = _endpoint(post)
    where = f"{endpoint} {_id(post)}"
    facts = {**site.meta.get(number, {}), **{name: value for name, value in post.items() if value not in (None, "")}}
    for name, why in _NOT_IMPORTED.items():
        if facts.get(name):
            losses.add(where, name, why)
    values: dict[str, Any] = {
        "title": facts.get("title"),
        "slug": facts.get("slug"),
        "body": _body(facts, where, losses),
        "excerpt": facts.get("custom_excerpt"),
        "cover": files.record(facts.get("feature_image") or facts.get("image"), facts.get("feature_image_alt")),
        "caption": facts.get("feature_image_caption"),
        "featured": facts.get("featured") in (1, True),
        "tags": site.tags_of.get(number),
        "authors": site.authors_of.get(number) or _single_author(post, site),
        "metaTitle": facts.get("meta_title"),
        "metaDescription": facts.get("meta_description"),
        "canonicalUrl": facts.get("canonical_url"),
    }
    version = ImportedVersion(endpoint, _id(post) or f"post-{number}", values, where=where)
    version.lang = language(text(post.get("locale"))) or main
    version.status = _status(facts, where, losses)
    if version.status is Status.SCHEDULED:
        version.publish_start = facts.get("published_at")
    version = _dated(version, post)
    version.published = facts.get("published_at") if version.status is Status.PUBLISHED else None
    return version


def _single_author(post: Mapping[str, Any], site: _Site) -> list[str]:
    """Return the author of a post of an old version, which has one."""
    user = site.users.get(text(post.get("author_id")))
    return [] if user is None else [_id(user)]


def _body(facts: Mapping[str, Any], where: str, losses: Losses) -> str | None:
    html = text(facts.get("html"))
    if not html and any(facts.get(name) for name in ("lexical", "mobiledoc", "markdown")):
        why = "the export has it in the form of the editor alone: open it in Ghost, save it, and export again"
        losses.add(where, "the text of a post", why)
    return html or None


def _status(facts: Mapping[str, Any], where: str, losses: Losses) -> Status:
    """Return whether a post is for everybody: what is for members alone, or went out as a letter, is a draft."""
    said, audience = text(facts.get("status")), text(facts.get("visibility"))
    if said not in ("published", "scheduled", "draft"):
        losses.add(where, f"the status {said[:60]!r}", "it is not one of a page of the site: the entry is a draft")
        return Status.DRAFT
    if said != "draft" and audience not in ("", "public"):
        losses.add(where, f"a post for {audience[:60]!r}", "content is public: the entry is a draft")
        return Status.DRAFT
    return Status(said)


def _dated(version: ImportedVersion, row: Mapping[str, Any]) -> ImportedVersion:
    version.created, version.updated = row.get("created_at"), row.get("updated_at")
    return version
