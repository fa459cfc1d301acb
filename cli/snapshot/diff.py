"""``cms snapshot diff``: tell what changed between two versions, for people, for machines, and as an exit status."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import completion
from cli.location import ChosenWorkspace, NoWorkspace, choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables, wording
from cli.snapshot.commits import commit_document, commit_sentence

if TYPE_CHECKING:
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.compare.diff import EntryDifference, FileDiff, SnapshotDiff, ValueChange

SHOWN = 20
"""Entries shown for each API and language, unless ``--limit`` is given."""
VALUE_CELLS = 30
"""Columns of the terminal for a value: two values and a field's name fit into 80."""
SAME_BEFORE = 8
"""Characters shown of the common beginning of two long values."""

BREAKING = "BREAKING"

_NAMES = {"_liveFrom": "live from", "_liveUntil": "live until", "_draftKey": "draft key"}


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

    The list has language versions added (+), changed (~, field by field) and removed (-), and changes to the
    definitions, with those that break clients marked. --json lists every entry, with whole values.
    """
    from snapshots.compare.diff import diff as compare

    chosen = choose_workspace(store, workspace_id)
    old, new = _versions(chosen, a, b)
    found = compare(chosen.workspace_store, old, new)
    if json:
        documents.write_json_parts(_json_parts(found))
    else:
        _show(found, limit or None)
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
    """Return the text of ``{from, to, entries: {added, changed, removed}, schema}``, an entry at a time."""
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


def _value_document(value: ValueChange) -> dict[str, object]:
    return {"field": value.field, "from": value.before, "to": value.after}


def _json(value: object) -> str:
    return json_text.dumps(value, ensure_ascii=False)


def _show(found: SnapshotDiff, limit: int | None) -> None:
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
    for file in found.files:
        _show_file(file, limit)
    lines.answer("")
    lines.answer(_sentence(found))


def show_schema(changes: Iterable[SchemaChange]) -> None:
    """Print schema changes, the breaking ones first and marked."""
    ordered = sorted(changes, key=lambda change: not change.breaking)
    width = len(BREAKING) if any(change.breaking for change in ordered) else 0
    lines.answer(f"{'':{width}}  DEFINITIONS", style="bold")
    for change in ordered:
        mark = BREAKING if change.breaking else ""
        lines.answer(f"{mark:{width}}  {change}", style="red" if mark else "")


def _sizes(file: FileDiff) -> tuple[int, int, int]:
    return len(file.added), file.changed, len(file.removed)


def _count(number: int) -> str:
    return f"{number:,}"


def _show_file(file: FileDiff, limit: int | None) -> None:
    lines.answer("")
    lines.answer(f"{file.api}, {file.lang}{', drafts' if file.draft else ''}", style="bold")
    left = sum(_sizes(file)) if limit is None else limit
    shown = 0
    for entry in file.added[:left]:
        lines.answer(f"  + {entry}", style="green")
        shown += 1
    for change in islice(file.changes(), left - shown):
        lines.answer(f"  ~ {change.id}", style="yellow")
        for line in _value_lines(change):
            lines.answer(line)
        shown += 1
    for entry in file.removed[: left - shown]:
        lines.answer(f"  - {entry}", style="red")
        shown += 1
    rest = sum(_sizes(file)) - shown
    if rest:
        lines.answer(f"  … and {_count(rest)} more; --limit 0 shows all, --json shows whole values", style="dim")


def _value_lines(change: EntryDifference) -> Iterator[str]:
    for value in change.values:
        name = value_name(value.field)
        if value.field == "_draftKey":
            yield f"      {name}: another one"
            continue
        yield f"      {name}: {' → '.join(shortened(value.before, value.after))}"


def value_name(field: str) -> str:
    """Return the name of a ``ValueChange.field`` for people."""
    return _NAMES.get(field, field)


def shortened(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as one short line each; of long texts, the part where the two begin to differ."""
    texts = [_one_line(value) for value in (before, after)]
    start = 0
    if max(map(len, texts)) > VALUE_CELLS:
        same = next((at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), None)
        start = max(0, (min(map(len, texts)) if same is None else same) - SAME_BEFORE)
    first, second = (_cut(text, start) for text in texts)
    return first, second


def _one_line(value: Any) -> str:
    return "-" if value is None else " ".join(_json(value).split())


def _cut(text: str, start: int) -> str:
    from rich.cells import cell_len, set_cell_size

    if start > 1:
        text = f"…{text[start:]}"
    # Cut before measuring: a text may be megabytes long.
    text = text[: VALUE_CELLS + 1]
    return text if cell_len(text) <= VALUE_CELLS else f"{set_cell_size(text, VALUE_CELLS - 1).rstrip()}…"


def _sentence(found: SnapshotDiff) -> str:
    if found.same:
        return "Nothing changed: the two snapshot versions have the same content."
    entries = f"{_count(found.added)} added, {_count(found.changed)} changed, {_count(found.removed)} removed"
    if not found.schema:
        return f"{entries}."
    schema = wording.plural(len(found.schema), "change")
    return f"{entries}; {schema} to the definitions, {found.breaking or 'none'} of them breaking."
