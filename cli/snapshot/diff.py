"""``cms snapshot diff``: tell what changed between two versions, for people, for machines, and as an exit status."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from cli import completion
from cli.changes.documents import page_urls
from cli.changes.report import Report, counted
from cli.changes.schema import show_schema
from cli.changes.values import changed_values, tells_nothing
from cli.location import ChosenWorkspace, NoWorkspace, choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables, wording
from cli.output.passages import print_passages
from cli.snapshot.commits import commit_document, commit_sentence
from snapshots.times import now_ms

if TYPE_CHECKING:
    from snapshots.compare.diff import FileDiff, SnapshotDiff, ValueChange
    from snapshots.compare.renames import Rename

SHOWN = 20
"""Entries shown for each API and language, unless ``--limit`` is given."""


def diff(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="[A]",
            show_default=False,
            help="The snapshot version to compare from, or an unambiguous prefix. Default: the one current before.",
            autocompletion=completion.versions,
        ),
    ] = None,
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]",
            show_default=False,
            help="The snapshot version to compare to. Default: the current one.",
            autocompletion=completion.versions,
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", min=0, metavar="N", help="Entries to show for each API and language; 0 shows all."),
    ] = SHOWN,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 1 if anything differs.")] = False,
    exit_code_breaking: Annotated[
        bool, typer.Option("--exit-code-breaking", help="Exit with status 1 only if a change breaks clients.")
    ] = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Show what changed from one snapshot version to another.

    The list has language versions added (+), changed (~, field by field) and removed (-), entries that only have
    another ID now, and changes to the definitions, with those that break clients marked. Words are shown in plain text,
    times in the workspace's time zone. --json lists every entry, with whole values.
    """
    from snapshots.compare.diff import diff as compare

    chosen = choose_workspace(store, workspace_id)
    old, new = _versions(chosen, a, b)
    found = compare(chosen.workspace_store, old, new)
    if json:
        documents.write_json_parts(_json_parts(found))
    else:
        _show(found, limit or None, page_urls(chosen.directory))
    if (exit_code and not found.same) or (exit_code_breaking and found.breaking):
        raise typer.Exit(1)


def _versions(chosen: ChosenWorkspace, a: str | None, b: str | None) -> tuple[str, str]:
    if a is not None:
        return chosen.workspace_store.find(a), chosen.workspace_store.find(
            b
        ) if b is not None else chosen.current_version()
    current = chosen.current_version()
    found = chosen.workspace_store.current()
    if found is None or not found.previous:
        raise NoWorkspace(
            f"No snapshot version was current before {current}. Name two: `cms snapshot list` shows them."
        )
    return chosen.workspace_store.find(found.previous[0]), current


def _json_parts(found: SnapshotDiff) -> Iterator[str]:
    """Return the text of ``{from, to, entries: {added, changed, removed, renamed}, schema}``, an entry at a time.

    The versions of a renamed entry are among the added and the removed ones too.
    """
    from snapshots.compare.compatibility import change_document

    yield f'{{\n  "from": {_json(found.old.version)},\n  "to": {_json(found.new.version)},\n'
    yield f'  "fromCommit": {_json(commit_document(found.old))},\n  "toCommit": {_json(commit_document(found.new))},\n'
    yield '  "entries": {\n'
    yield from _json_list("added", _with_ids(found.files, "added"))
    yield ",\n"
    changed = (
        {**_where(file), "id": change.id, "fields": [_value_document(value) for value in change.values]}
        for file in found.files
        for change in file.changes()
    )
    yield from _json_list("changed", changed)
    yield ",\n"
    yield from _json_list("removed", _with_ids(found.files, "removed"))
    yield ",\n"
    yield from _json_list("renamed", map(_rename_document, found.renames))
    yield "\n  },\n"
    yield from _json_list("schema", map(change_document, found.schema), "  ")
    yield "\n}"


def _json_list(name: str, documents: Iterable[dict[str, object]], indent: str = "    ") -> Iterator[str]:
    yield f'{indent}"{name}": ['
    separator, end = "", ""
    for document in documents:
        yield f"{separator}\n{indent}  {_json(document)}"
        separator, end = ",", f"\n{indent}"
    yield f"{end}]"


def _with_ids(files: Iterable[FileDiff], which: str) -> Iterator[dict[str, object]]:
    for file in files:
        for entry in getattr(file, which):
            yield {**_where(file), "id": entry.as_py()}


def _where(file: FileDiff) -> dict[str, object]:
    return {"api": file.api, "lang": file.lang, "draft": file.draft}


def _rename_document(one: Rename) -> dict[str, object]:
    languages = {is_draft: [lang for lang, draft in one.places if draft is is_draft] for is_draft in (False, True)}
    return {
        "api": one.api,
        "from": one.before,
        "to": one.after,
        "languages": languages[False],
        "drafts": languages[True],
        "exact": one.exact,
    }


def _value_document(value: ValueChange) -> dict[str, object]:
    return {"field": value.field, "from": value.before, "to": value.after}


def _json(value: object) -> str:
    return json_text.dumps(value, ensure_ascii=False)


def _show(found: SnapshotDiff, limit: int | None, pages: Mapping[str, str]) -> None:
    zone = ZoneInfo(found.new.workspace.timezone)
    report = Report(found, found.new.workspace, zone, now_ms(), pages)
    lines.answer(f"{found.old.version} → {found.new.version}", style="bold")
    if found.new.described_commit is not None:
        lines.answer(f"Commit {commit_sentence(found.new)}", style="dim")
    if found.schema:
        lines.answer("")
        show_schema(found.schema)
    if found.files:
        lines.answer("")
        columns = ("ADDED", "CHANGED", "REMOVED")
        rows = [
            (file.api, f"{file.lang}{' drafts' if file.draft else ''}", *map(_count, _sizes(file)))
            for file in found.files
        ]
        tables.table(("API", "LANGUAGE", *columns), rows, right=columns)
        lines.answer(f"Times are {report.zone}.", style="dim")
    for section in report.summary:
        lines.answer("")
        lines.answer(section.title, style="bold")
        print_passages(section.passages)
    for file in found.files:
        _show_file(file, limit, report)
    lines.answer("")
    lines.answer(_sentence(found, report))


def _sizes(file: FileDiff) -> tuple[int, int, int]:
    return len(file.added), file.changed, len(file.removed)


def _count(number: int) -> str:
    return f"{number:,}"


def _show_file(file: FileDiff, limit: int | None, report: Report) -> None:
    lines.answer("")
    lines.answer(f"{file.api}, {file.lang}{', drafts' if file.draft else ''}", style="bold")
    left = sum(_sizes(file)) if limit is None else limit
    api = report.workspace.api(file.api)
    after = {one.after: one.before for one in report.renames if one.api == file.api}
    before = {one.before: one.after for one in report.renames if one.api == file.api}
    shown = 0
    for entry in file.added[:left].to_pylist():
        lines.answer(f"  + {entry}" + (f" (was {after[entry]})" if entry in after else ""), style="green")
        shown += 1
    for change in islice(file.changes(), left - shown):
        lines.answer(f"  ~ {change.id}", style="yellow")
        if tells_nothing(change):
            lines.answer("      only the date of the last change")
        print_passages(changed_values(api, change, report.zone), indent="      ")
        shown += 1
    for entry in file.removed[: left - shown].to_pylist():
        lines.answer(f"  - {entry}" + (f" (now {before[entry]})" if entry in before else ""), style="red")
        shown += 1
    rest = sum(_sizes(file)) - shown
    if rest:
        lines.answer(f"  … and {_count(rest)} more; --limit 0 shows all, --json shows whole values", style="dim")


def _sentence(found: SnapshotDiff, report: Report) -> str:
    if found.same:
        return "Nothing changed: the two snapshot versions have the same content."
    entries = counted(report.counts)
    if not found.schema:
        return f"{entries}."
    schema = wording.plural(len(found.schema), "change")
    return f"{entries}; {schema} to the definitions, {found.breaking or 'none'} of them breaking."
