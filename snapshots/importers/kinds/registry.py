"""The formats of exports, each with its reader."""

from __future__ import annotations

from snapshots.importers.export import Reader
from snapshots.importers.kinds.contentful.export import read_contentful
from snapshots.importers.kinds.directus.template import read_directus
from snapshots.importers.kinds.microcms import read_microcms
from snapshots.importers.kinds.sanity.dataset import read_sanity
from snapshots.importers.kinds.strapi.export import read_strapi
from snapshots.importers.kinds.wordpress.export import read_wordpress

READERS: dict[str, Reader] = {
    "microcms": read_microcms,
    "wordpress": read_wordpress,
    "contentful": read_contentful,
    "strapi": read_strapi,
    "sanity": read_sanity,
    "directus": read_directus,
}
