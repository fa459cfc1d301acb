"""Join the pages of several languages that say so in their front matter: a ``lang``, and the same ``slug``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from snapshots.adoption.folders import is_markdown
from snapshots.adoption.languages import is_tag, main_first
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import Collection, Site, spelled


def join_by_keys(root: Path, site: Site, keys: tuple[str, ...], known: Iterable[str] = ()) -> None:
    """Have the files of a site's collections that name a language be language versions, joined by the first of ``keys``
    that they have.

    ``known`` are the languages of the site, where its configuration says them; others are none.
    """
    said = {code for one in site.collections for code in _languages(root, one, frozenset(known))}
    if said <= {site.languages[0]}:
        return
    for one in site.collections:
        if one.multilingual or _languages(root, one, frozenset(known)):
            one.multilingual = True
            one.translation_keys = keys
            # A part of a path would be read before the key of its name.
            one.source = [pattern.replace("{slug}", "{named}") for pattern in one.source]
            one.id = None if one.id is None else one.id.replace("{slug}", "{named}").replace("-slug}", "-named}")
    main = site.languages[0]
    site.languages, lang_map = spelled(main_first([*site.languages, *sorted(said)], main))
    site.lang_map |= lang_map


def _languages(root: Path, one: Collection, known: frozenset[str]) -> set[str]:
    """Return the languages that the files of a collection name."""
    found: set[str] = set()
    for file in filter(is_markdown, one.files):
        for document in documents_of(root, file):
            code = document.values.get("lang")
            if isinstance(code, str) and (code in known if known else is_tag(code)):
                found.add(code)
    return found
