"""A file's path → the ID of its entry, by the rules of an API alone, without a look at the file."""

from __future__ import annotations

from collections.abc import Callable

from snapshots.compile.expressions import Place, parse_expression
from snapshots.compile.values import slug_id
from snapshots.definitions.model import ApiSource
from snapshots.documents.document import Document


def id_maker(source: ApiSource, lang: str) -> Callable[[dict[str, str], str], str | None]:
    """Return the function that makes IDs of the named parts and the last name of a path, as ``source`` does."""
    template = parse_expression(source.id, languages=()) if source.id else None

    def make(parts: dict[str, str], name: str) -> str | None:
        if template is None or (source.implied_id and "path" not in parts):
            return parts.get("id") or parts.get("name") or name
        raw = template.read(Document({}, 1), Place("", name, parts, lang, (lang,)))
        return source.id_map.get(raw) or slug_id(raw) if isinstance(raw, str) and raw else None

    return make
