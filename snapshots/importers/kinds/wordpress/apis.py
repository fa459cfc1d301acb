"""The APIs of a WordPress site: post types, taxonomies, authors and attachments, with the fields that are in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from posixpath import splitext
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from snapshots.compile.assets import TYPES
from snapshots.ids import slug_id, valid_id
from snapshots.importers.losses import Losses
from snapshots.importers.model import ApiPlan, FieldPlan, ImportedVersion
from snapshots.importers.names import digest, endpoints, field_ids
from snapshots.importers.reading.xml_items import Element
from snapshots.model import FieldType

MEDIA, AUTHORS = "media", "authors"
_USUAL = {"post": "posts", "page": "pages", "category": "categories", "post_tag": "tags", "attachment": MEDIA}
_NOT_CONTENT = frozenset(
    {
        "nav_menu",
        "language",
        "post_translations",
        "term_language",
        "term_translations",
        "wp_theme",
        "wp_template_part_area",
    }
)
_POST_FIELDS = (
    FieldPlan("title", FieldType.TEXT),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("link", FieldType.TEXT, "Address on the old site"),
    FieldPlan("body", FieldType.RICHTEXT),
    FieldPlan("excerpt", FieldType.TEXTAREA),
    FieldPlan("cover", FieldType.IMAGE, "Featured image"),
    FieldPlan("author", FieldType.REFERENCE, apis=[AUTHORS]),
    FieldPlan("parent", FieldType.REFERENCE),
    FieldPlan("order", FieldType.NUMBER),
    FieldPlan("sticky", FieldType.BOOLEAN),
    FieldPlan("custom", FieldType.JSON, "Custom fields"),
)
_MEDIA_FIELDS = (
    FieldPlan("title", FieldType.TEXT),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("link", FieldType.TEXT, "Address on the old site"),
    FieldPlan("image", FieldType.IMAGE),
    FieldPlan("file", FieldType.FILE),
    FieldPlan("caption", FieldType.RICHTEXT),
    FieldPlan("description", FieldType.RICHTEXT),
)
_TERM_FIELDS = (
    FieldPlan("name", FieldType.TEXT, required=True),
    FieldPlan("slug", FieldType.TEXT),
    FieldPlan("description", FieldType.TEXTAREA),
    FieldPlan("parent", FieldType.REFERENCE),
)
_ALWAYS = frozenset({"title", "slug", "link", "body"})


class TaxonomyTerm(msgspec.Struct):
    """A category, tag, or entry of another taxonomy."""

    id: str
    slug: str
    name: str
    description: str = ""
    parent: str = ""
    """The slug of the term above it."""


class Apis:
    """Gathers in a first reading of the export what there is, and says then what becomes of it."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._used: dict[str, set[str]] = {}
        """The fields and taxonomies in use, by post type."""
        self._terms: dict[str, dict[str, TaxonomyTerm]] = {}
        self._authors: dict[str, dict[str, Any]] = {}
        self._endpoints: dict[str, str] = {}

    def note_header(self, element: Element) -> None:
        """Note a term or an author of the export's beginning."""
        match element.name:
            case "wp:author":
                login = element.first("wp:author_login")
                if element.first("wp:author_email"):
                    self._losses.add(f"author {login}", "an e-mail address", "content is public, so it is left out")
                self._authors[login] = {
                    "name": unescape(element.first("wp:author_display_name")) or login,
                    "firstName": element.first("wp:author_first_name"),
                    "lastName": element.first("wp:author_last_name"),
                }
            case "wp:category":
                names = ("wp:category_nicename", "wp:cat_name", "wp:category_description", "wp:category_parent")
                self._note(element, "category", *names)
            case "wp:tag":
                self._note(element, "post_tag", "wp:tag_slug", "wp:tag_name", "wp:tag_description", "")
            case _:
                names = ("wp:term_slug", "wp:term_name", "wp:term_description", "wp:term_parent")
                self._note(element, element.first("wp:term_taxonomy"), *names)

    def _note(self, element: Element, taxonomy: str, slug: str, name: str, description: str, parent: str) -> None:
        if not taxonomy or taxonomy in _NOT_CONTENT or not element.first(slug):
            return
        made = self._term(taxonomy, element.first(slug), element.first("wp:term_id"))
        made.name = unescape(element.first(name)) or made.slug
        made.description = element.first(description)
        made.parent = element.first(parent) if parent else ""

    def _term(self, taxonomy: str, slug: str, number: str = "") -> TaxonomyTerm:
        terms, plain = self._terms.setdefault(taxonomy, {}), unquote(slug)
        made = plain if valid_id(plain) else slug_id(f"{taxonomy}-{number or digest(plain)}")
        return terms.setdefault(slug, TaxonomyTerm(made, plain, plain))

    def note_term(self, taxonomy: str, slug: str, name: str) -> None:
        """Note a term that a post has; one that the beginning of the export has too is known already."""
        if slug and taxonomy not in _NOT_CONTENT and slug not in self._terms.get(taxonomy, {}):
            self._term(taxonomy, slug).name = unescape(name) or unquote(slug)

    def note_post(self, kind: str, item: Element, meta: Mapping[str, str]) -> None:
        """Note which fields a post has."""
        used = self._used.setdefault(kind, set(_ALWAYS))
        given = {
            "excerpt": item.first("excerpt:encoded"),
            "cover": meta.get("_thumbnail_id"),
            "author": item.first("dc:creator"),
            "parent": kind != "attachment" and item.first("wp:post_parent") not in ("", "0"),
            "order": kind != "attachment" and item.first("wp:menu_order") not in ("", "0"),
            "sticky": item.first("wp:is_sticky") == "1",
            "custom": any(not name.startswith("_") for name in meta),
        }
        used |= {name for name, value in given.items() if value}
        used |= {one.attributes.get("domain", "category") for one in item.every("category")} - _NOT_CONTENT
        login = item.first("dc:creator")
        if login and kind != "attachment":
            self._authors.setdefault(login, {"name": login})

    def plans(self) -> list[ApiPlan]:
        """Return the APIs of all that was noted."""
        kinds = [*self._used, *self._terms, *([AUTHORS] if self._authors else ())]
        made = endpoints(_USUAL.get(kind, kind) for kind in kinds)
        self._endpoints = {kind: made[_USUAL.get(kind, kind)] for kind in kinds}
        plans = []
        for kind, used in self._used.items():
            if kind == "attachment":
                plans.append(ApiPlan(self._endpoints[kind], "Media", _copies(_MEDIA_FIELDS)))
                continue
            fields = [field for field in _copies(_POST_FIELDS) if field.id in used]
            taxonomies = [name for name in self._terms if name in used]
            ids = self._taxonomy_ids(taxonomies)
            fields += [FieldPlan(ids[name], FieldType.REFERENCES, apis=[self._endpoints[name]]) for name in taxonomies]
            plans.append(ApiPlan(self._endpoints[kind], self._endpoints[kind].title(), fields))
        plans += [
            ApiPlan(self._endpoints[name], self._endpoints[name].title(), _copies(_TERM_FIELDS)) for name in self._terms
        ]
        if self._authors:
            fields = [FieldPlan("name", FieldType.TEXT, required=True)]
            fields += [FieldPlan(name, FieldType.TEXT) for name in ("firstName", "lastName")]
            plans.append(ApiPlan(self._endpoints[AUTHORS], "Authors", fields))
        for plan in plans:
            for field in plan.fields:
                if field.id == "parent":
                    field.apis = [plan.endpoint]
        return plans

    def _taxonomy_ids(self, taxonomies: Iterable[str]) -> dict[str, str]:
        names = [field.id for field in _POST_FIELDS]
        plain = {name: _USUAL.get(name, name) for name in taxonomies}
        made = field_ids([*names, *(f"{one}_terms" if one in names else one for one in plain.values())])
        return {name: made[f"{one}_terms" if one in names else one] for name, one in plain.items()}

    def endpoint(self, kind: str) -> str:
        """Return the endpoint of a post type."""
        return self._endpoints[kind]

    def kept(self, kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a post's values without those of fields that no post of its type uses."""
        ids = {*self._used[kind], *self._taxonomy_ids(self._terms).values()}
        return {name: value for name, value in values.items() if kind == "attachment" or name in ids}

    def author_id(self, login: str) -> str | None:
        """Return the ID of an author's entry."""
        return _author_id(login) if login in self._authors else None

    def terms_of(self, item: Element, tell: Callable[[str, str], None]) -> dict[str, list[str]]:
        """Return the terms of a post: the IDs of entries, by field ID."""
        made: dict[str, list[str]] = {}
        ids = self._taxonomy_ids(self._terms)
        for category in item.every("category"):
            taxonomy, slug = category.attributes.get("domain", "category"), category.attributes.get("nicename", "")
            if taxonomy in _NOT_CONTENT:
                continue
            if not slug:
                tell(f"a term of {taxonomy}", "the export does not contain its slug")
                continue
            made.setdefault(ids[taxonomy], []).append(self._terms[taxonomy][slug].id)
        return made

    def is_image(self, url: str) -> bool:
        """Return whether an address names an image, by its extension."""
        return TYPES.get(splitext(urlsplit(url).path)[1].lower()[1:], "").startswith("image/")

    def versions(self) -> Iterator[ImportedVersion]:
        """Return the versions of terms and authors, which have no dates of their own."""
        for taxonomy, terms in self._terms.items():
            for term in terms.values():
                values = {"name": term.name, "slug": term.slug, "description": term.description}
                above = terms.get(term.parent)
                yield ImportedVersion(
                    self._endpoints[taxonomy], term.id, {**values, "parent": above.id if above else None}
                )
        for login, values in self._authors.items():
            yield ImportedVersion(self._endpoints[AUTHORS], _author_id(login), values)


def _author_id(login: str) -> str:
    return login if valid_id(login) else slug_id(f"author-{digest(login)}")


def _copies(fields: Iterable[FieldPlan]) -> list[FieldPlan]:
    return [msgspec.structs.replace(field) for field in fields]
