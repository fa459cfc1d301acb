"""Directus: a template folder, as ``directus-template-cli extract`` writes it.

Collections, fields and relations are described in files of their own; every collection has its rows in
``content/<collection>.json``. Relations are told by the rows of the other side, or of a table between the two;
translations are rows of a table with a language each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from snapshots.importers.export import Export
from snapshots.importers.kinds.directus.fields import Model, Type
from snapshots.importers.kinds.directus.relations import Relations
from snapshots.importers.kinds.directus.rows import ExportRows
from snapshots.importers.kinds.directus.states import least_public, state
from snapshots.importers.kinds.directus.values import Values
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import language
from snapshots.importers.reading.json_items import document
from snapshots.importers.reading.shapes import mapping, mappings, text
from snapshots.model import Status

_FILE = re.compile(r"/assets/([0-9a-fA-F-]{36})(?=[/?#]|$)")
_PUBLISHED_AT = ("date_published", "published_at", "publish_date", "published_on", "published")


def read(export: Export) -> Imported:
    """Return the content of a Directus template."""
    root = _root(export.path)
    described = {name: mappings(document(root / f"{name}.json")) for name in ("collections", "fields", "relations")}
    rows = ExportRows(export, root)
    relations = Relations(described["relations"], described["fields"])
    model = Model(described["collections"], described["fields"], relations, rows, export.losses)
    codes = [code for one in model.languages() if (code := language(one)) is not None]
    main = export.language or language(model.default_language()) or next(iter(codes), "en")
    languages = list(dict.fromkeys([main, *codes]))

    def address(url: str) -> str | None:
        found = _FILE.search(url)
        return rows.address(found[1]) if found is not None and export.copies.wanted else None

    versions = _versions(model, Values(model, relations, rows), rows, main, languages, export)
    return Imported(model.plans(), versions, languages, address=address, has_empty_texts=True)


def _root(path: Path) -> Path:
    for root in (path, path / "src"):
        if (root / "fields.json").is_file() and (root / "collections.json").is_file():
            if not (root / "relations.json").is_file():
                raise Unreadable(f"{root} has no relations.json. Extract the template again.")
            return root
    raise Unreadable(f"{path} is not a template of Directus: it has no collections.json and fields.json.")


def _versions(
    model: Model, reader: Values, rows: ExportRows, main: str, languages: list[str], export: Export
) -> Iterator[ImportedVersion]:
    for made in model.types():
        translations = reader.translations(made)
        related = reader.related(made)
        for row in rows.of(made.collection):
            number = text(row.get(made.key))
            where = f"{made.collection} {number}"
            by_language: dict[str, Mapping[str, Any]] = {}
            for code, translation in translations.get(number, []):
                if language(code) in languages:
                    by_language[str(language(code))] = translation
                else:
                    export.losses.add(where, f"the language {code[:60]!r}", "the table of languages does not have it")
            written = [code for code, one in by_language.items() if _known(made, one)]

            def tell(what: str, why: str, where: str = where, endpoint: str = made.plan.endpoint) -> None:
                export.losses.add(where, what, why, scope=endpoint)

            of_row = state(row, made.states, tell)
            for code in dict.fromkeys([main, *written]):
                values = {**row, **_known(made, by_language.get(main)), **_known(made, by_language.get(code))}
                here, own = partial(tell, where=f"{where} {code}"), by_language.get(code, {})
                # Where the row has a state, a language without one of its own has the same.
                fields = [one for one in made.translated_states if not made.states or own.get(one.name) is not None]
                status = least_public([of_row, state(own, fields, here)])
                version = _version(made, reader, values, related, number, code, status, where)
                if version.status is not status:
                    here("the status 'scheduled'", "no field says from when: the entry is a draft")
                yield version


def _known(made: Type, translation: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of a translation, those that it has."""
    return {name: value for name in made.translated if (value := mapping(translation).get(name)) not in (None, "")}


def _version(
    made: Type,
    reader: Values,
    row: Mapping[str, Any],
    related: Mapping[str, Mapping[str, list[Any]]],
    number: str,
    code: str,
    status: Status,
    where: str,
) -> ImportedVersion:
    stated = next((row[name] for name in _PUBLISHED_AT if row.get(name) and isinstance(row[name], str)), None)
    if status is Status.SCHEDULED and stated is None:
        status = Status.DRAFT
    return ImportedVersion(
        made.plan.endpoint,
        number or made.plan.endpoint,
        reader.values(made, row, related, number, where),
        lang=code,
        status=status,
        created=row.get(made.created) if made.created else None,
        updated=row.get(made.updated) if made.updated else None,
        published=stated if status is Status.PUBLISHED else None,
        publish_start=stated if status is Status.SCHEDULED else None,
        where=where,
    )
