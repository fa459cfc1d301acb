"""``cms store``: what a store permits, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import nearest_workspace, store_at
from cli.options import Json, StoreLocation, new_app
from cli.output import documents, lines, wording

if TYPE_CHECKING:
    from snapshots.store.buckets.checking import StoreCheck
    from snapshots.store.buckets.costs import Costs

app = new_app("Check what a store permits, and what it costs.")


@app.callback()
def _store() -> None:
    """Keep ``check`` a subcommand although it is the only one."""


@app.command()
def check(
    store: StoreLocation = None,
    readers: Annotated[
        int, typer.Option("--readers", min=1, metavar="N", help="How many servers to estimate the cost for.")
    ] = 3,
    json: Json = False,
) -> None:
    """Test what a store permits, and estimate what its servers cost.

    The test writes small objects and deletes them again. The exit status is 1 if the store cannot be used: it cannot be
    read, or two writers could undo each other's changes.
    """
    from engine.webhooks.webhooks_file import WEBHOOKS
    from snapshots.store.buckets.bucket_url import kind_of
    from snapshots.store.buckets.checking import check_store
    from snapshots.store.buckets.costs import costs

    opened = store_at(store, nearest_workspace())
    found = check_store(opened.objects)
    workspaces = len(opened.workspaces()) if found.list is None else 0
    kind = kind_of(opened.location)
    has_webhooks = WEBHOOKS in found.names
    spent = None
    if kind is not None and found.list is None:
        spent = costs(kind, readers, workspaces, found.bytes, webhooks=has_webhooks)
    if json:
        documents.write_json(_document(opened.location, found, workspaces, spent))
    else:
        lines.answer(opened.location, style="bold")
        for name, text in _lines(found, workspaces, spent, readers, has_webhooks=has_webhooks):
            lines.answer(f"  {name:<9}{text}")
    if not found.usable:
        reason = found.read or found.list or ""
        if found.conditions is not None and not found.conditions.kept:
            reason = f"it {found.conditions.fault}, so that two writers could undo each other's changes."
        lines.failure(f"This store cannot be used: {reason}")
        raise typer.Exit(1)


def _lines(
    found: StoreCheck, workspaces: int, spent: Costs | None, readers: int, *, has_webhooks: bool
) -> list[tuple[str, str]]:
    speed = "" if found.milliseconds is None else f", in {found.milliseconds:.1f} ms (the median of five)"
    lines = [
        ("read", f"yes{speed}" if found.read is None else f"no: {found.read}"),
        ("list", "yes" if found.list is None else f"no: {found.list}"),
        ("write", _written(found)),
    ]
    if found.conditions is not None:
        lines.append(("copy", "yes" if found.copy is None and found.conditions.kept else f"no: {found.copy}"))
        lines.append(("delete", "yes" if found.delete is None else f"no: {found.delete}"))
    if found.list is None:
        held = f"{wording.plural(workspaces, 'workspace')}, {wording.plural(found.objects, 'object')}"
        lines.append(("holds", f"{held}, {wording.size(found.bytes)}"))
    if spent is not None:
        lines.append(
            ("costs", f"{wording.plural(readers, 'reader')}: {spent.requests:,} requests an hour, ${spent.hour:.4f};")
        )
        whatever = "the storage and webhooks" if has_webhooks else "the storage"
        lines.append(("", f"${spent.month:,.2f} a month with {whatever}, while nothing changes,"))
        lines.append(("", f"at the list prices of {spent.service}"))
    return lines


def _written(found: StoreCheck) -> str:
    if found.conditions is None:
        return f"no: {found.write}"
    if not found.conditions.kept:
        return f"unsafe: it {found.conditions.fault}"
    return "yes, under conditions" + ("" if found.conditions.quoted else ", with tags out of quotes")


def _document(location: str, found: StoreCheck, workspaces: int, spent: Costs | None) -> dict[str, object]:
    conditions = found.conditions
    return {
        "location": location,
        "usable": found.usable,
        "read": found.read is None,
        "list": found.list is None,
        "write": conditions is not None,
        "conditions": None if conditions is None else conditions.kept,
        "copy": conditions is not None and conditions.kept and found.copy is None,
        "delete": conditions is not None and found.delete is None,
        "milliseconds": None if found.milliseconds is None else round(found.milliseconds, 2),
        "reasons": [reason for reason in (found.read, found.list, found.write, found.copy, found.delete) if reason],
        "workspaces": workspaces,
        "objects": found.objects,
        "bytes": found.bytes,
        "costs": None
        if spent is None
        else {
            "requestsAnHour": spent.requests,
            "dollarsAnHour": round(spent.hour, 6),
            "dollarsAMonth": round(spent.month, 2),
            "pricesOf": spent.service,
        },
    }
