"""``cms snapshot activate`` and ``rollback``: another version made current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion
from cli.location import ChosenWorkspace, choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines
from cli.snapshot.on_publish import OnPublish, run_on_publish
from cli.snapshot.versions import current_if_known, warn_of_damaged_holds
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime, now_ms

if TYPE_CHECKING:
    from snapshots.store.current import Current


def activate(
    version: Annotated[
        str,
        typer.Argument(help="A snapshot version, or an unambiguous prefix.", autocompletion=completion.versions),
    ],
    on_publish: OnPublish = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Make another snapshot version current.

    Going back to an earlier one holds the content that was current until then, as `cms snapshot rollback` does.
    """
    from engine.administration.administrator import operator
    from engine.administration.versions import activate as make_current
    from snapshots.store.objects import ANY

    chosen = choose_workspace(store, workspace_id)
    before = current_if_known(chosen)
    warn_of_damaged_holds(chosen)
    found = chosen.workspace_store.find(version)
    is_recorded = before is not None and found in before.manifests
    if before is not None and before.version == found and is_recorded:
        chosen.workspace_store.open_current(before)
        _report_current(chosen, before, f"Snapshot version {found} is current already.", json=json)
        return
    by = operator(chosen.workspace_store, now_ms())
    after = make_current(by, found, expected=before.version if before else ANY)
    if before is not None and before.version == found:
        sentence = f"Snapshot version {found} is current already. The SHA-256 of its manifest is recorded now."
        _report_current(chosen, after, sentence, json=json)
        return
    _warn_of_breaking(chosen, before, after)
    _report_current(chosen, after, f"Snapshot version {after.version} is now current{_instead_of(before)}.", json=json)
    if before is not None and before.is_return(before.version, after.version):
        _tell_of_hold(before)
    run_on_publish(on_publish, chosen.workspace_store, after, before.version if before else None)


def rollback(
    on_publish: OnPublish = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Go back to the snapshot version that was current before.

    The content that was current until then is held: no build makes it current again, unless `cms snapshot build
    --again` asks for that, or `cms snapshot activate`.
    """
    from engine.administration.administrator import operator
    from engine.administration.versions import roll_back

    chosen = choose_workspace(store, workspace_id)
    before = chosen.workspace_store.current()
    after = roll_back(operator(chosen.workspace_store, now_ms()))
    _warn_of_breaking(chosen, before, after)
    _report_current(
        chosen, after, f"Snapshot version {after.version} is current again{_instead_of(before)}.", json=json
    )
    _tell_of_hold(before)
    run_on_publish(on_publish, chosen.workspace_store, after, before.version if before else None)


def _tell_of_hold(before: Current | None) -> None:
    if before is not None:
        lines.message(
            f"The content of {before.version} is held: no build makes it current again, but `cms snapshot build "
            f"--again` or `cms snapshot activate {before.version}`."
        )


def _warn_of_breaking(chosen: ChosenWorkspace, before: Current | None, after: Current) -> None:
    """Warn of the changes that break clients of the version current before; activating by hand is not refused."""
    from snapshots.compare.compatibility import breaking_changes

    if before is None:
        return
    try:
        old = chosen.workspace_store.manifest(before.version)
    except ParquetryError:
        return
    for change in breaking_changes(old.workspace, chosen.workspace_store.manifest(after.version).workspace):
        lines.warning(f"this breaks clients: {change}")


def _instead_of(before: Current | None) -> str:
    return f", instead of {before.version}" if before else ""


def _report_current(chosen: ChosenWorkspace, current: Current, sentence: str, *, json: bool) -> None:
    if not json:
        lines.answer(sentence)
        return
    documents.write_json(
        {
            "workspace": chosen.workspace_store.id,
            "version": current.version,
            "previous": list(current.previous),
            "activatedAt": format_datetime(current.activated_at),
            "activatedBy": current.activated_by,
        }
    )
