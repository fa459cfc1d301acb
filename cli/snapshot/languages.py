"""``cms snapshot show --languages``: how far the translations in a version are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.options import no_such_language
from cli.output import documents, lines, tables

if TYPE_CHECKING:
    from snapshots.store.manifest import LaggingTranslations, Manifest
    from snapshots.store.store import WorkspaceStore

Languages: TypeAlias = Annotated[
    bool,
    typer.Option("--languages", help="Show how many entries are not translated, and how many are older."),
]

NAMED = 5
"""Older translations that are named, of each API and language."""


def show_languages(workspace_store: WorkspaceStore, manifest: Manifest, missing_in: str | None, *, json: bool) -> None:
    """Print, for each API and language, how many entries are missing, and how many older than the original; with
    ``missing_in`` also the names of those that are missing in that language."""
    from snapshots.translations.stored import StoredTranslations

    stored = StoredTranslations(workspace_store, manifest)
    workspace = manifest.workspace
    languages = [(api, lang) for api in workspace.apis for lang in workspace.languages_of(api)[1:]]
    if missing_in is not None and missing_in not in {lang for _, lang in languages}:
        raise no_such_language(missing_in, (lang for _, lang in languages))
    listed: list[dict[str, object]] = []
    rows: list[tuple[str, ...]] = []
    names: list[str] = []
    for api, lang in languages:
        missing, older = stored.missing(api, lang), stored.lagging(api, lang)
        document: dict[str, object] = {"api": api.endpoint, "lang": lang, "missing": len(missing)}
        document |= {"older": older and older.count, "olderIds": older and older.first}
        listed.append(document | ({"missingIds": missing} if lang == missing_in else {}))
        rows.append((api.endpoint, lang, f"{len(missing):,}", "not known" if older is None else _older(older)))
        names += [f"{api.endpoint}/{entry}" for entry in missing if lang == missing_in]
    if json:
        documents.write_json(listed)
        return
    if not rows:
        lines.answer(f'No API of "{workspace.id}" has translations.')
        return
    tables.table(("API", "LANGUAGE", "NOT TRANSLATED", "OLDER THAN THE ORIGINAL"), rows, right=("NOT TRANSLATED",))
    for name in names:
        lines.answer(f"not translated into {missing_in}: {name}")


def _older(found: LaggingTranslations) -> str:
    if not found.count:
        return "none"
    rest = found.count - len(found.first[:NAMED])
    return f"{found.count:,}: {', '.join(found.first[:NAMED])}{f' and {rest:,} more' if rest else ''}"
