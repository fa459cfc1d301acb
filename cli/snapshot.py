"""``cms snapshot``: build, list, show, activate, verify, compare and drop versions."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion, output
from cli.location import NoWorkspace, Place, begin_store, defined_id, find_place, store_at, workspace_directory
from cli.options import Json, StoreLocation, Strict, WorkspaceDirectory, WorkspaceId, new_app
from cli.snapshot_diff import diff, schema_document
from snapshots.problems import ParquetryError, WorkspaceRefused
from snapshots.times import format_datetime, now_ms

if TYPE_CHECKING:
    from engine.overview.summary import Summary
    from snapshots.build.build import BreakingChanges, BuildResult
    from snapshots.store.manifest import Manifest
    from snapshots.store.store import Current

app = new_app("Build versions, look at them, make one current.")

Version = Annotated[
    str | None,
    typer.Argument(
        metavar="VERSION",
        show_default=False,
        help="A version or an unambiguous beginning of it. Default: the current one.",
        autocompletion=completion.versions,
    ),
]


@app.command()
def build(
    workspace: WorkspaceDirectory = None,
    store: StoreLocation = None,
    no_activate: Annotated[bool, typer.Option("--no-activate", help="Leave the current version current.")] = False,
    strict: Strict = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out entry versions with errors, and build the rest.")
    ] = False,
    allow_breaking: Annotated[
        bool, typer.Option("--allow-breaking", help="Make it current even where that breaks clients.")
    ] = False,
    json: Json = False,
) -> None:
    """Build the content into a new version, made current.

    With errors in the content nothing is built, and the exit status is 1. A version that would break clients of the
    current one is built but not made current, and the exit status is 1.
    """
    from snapshots.build.build import BreakingChanges
    from snapshots.build.build import build as build_workspace

    if strict and lenient:
        raise typer.BadParameter("--strict and --lenient contradict each other: choose one.")
    root = workspace_directory(workspace)
    target = store_at(store, root)
    begin_store(target)
    started = time.monotonic()
    try:
        with output.progress() as tell:
            result = build_workspace(
                root,
                target,
                now=now_ms(),
                activate=not no_activate,
                allow_breaking=allow_breaking,
                strict=strict,
                lenient=lenient,
                progress=tell,
            )
    except WorkspaceRefused as refusal:
        if json:
            output.write_json(_refusal_document(refusal, root, time.monotonic() - started))
        else:
            output.problems(refusal.problems, stderr=True)
            output.message("Nothing was built; the current version stays as it is.")
        raise typer.Exit(1) from None
    except BreakingChanges as refusal:
        _report_breaking(refusal, json=json)
        raise typer.Exit(1) from None
    if json:
        output.write_json(build_document(result))
        return
    if result.problems.warnings:
        output.problems(result.problems, stderr=True)
    output.answer(_build_sentence(result))


def build_document(result: BuildResult) -> dict[str, object]:
    """Return the outcome of a build as ``--json`` prints it (decision 49)."""
    return {
        "workspace": result.workspace,
        "version": result.version,
        "changed": result.changed,
        "activated": result.activated,
        "entries": result.entries,
        "seconds": round(result.seconds, 3),
        "problems": output.problem_documents(result.problems),
    }


def _refusal_document(refusal: WorkspaceRefused, root: Path, seconds: float) -> dict[str, object]:
    try:
        workspace = defined_id(root)
    except NoWorkspace:
        workspace = None
    return {
        "workspace": workspace,
        "version": None,
        "changed": False,
        "activated": False,
        "entries": 0,
        "seconds": round(seconds, 3),
        "problems": output.problem_documents(refusal.problems),
    }


def _report_breaking(refusal: BreakingChanges, *, json: bool) -> None:
    if json:
        breaking = [{**schema_document(change), "file": file, "line": line} for change, file, line in refusal.changes]
        output.write_json({**build_document(refusal.result), "breaking": breaking})
        return
    if refusal.result.problems.warnings:
        output.problems(refusal.result.problems, stderr=True)
    for change, file, line in refusal.changes:
        output.located(file, line, "breaking", str(change))
    output.failure(str(refusal))


def _build_sentence(result: BuildResult) -> str:
    facts = f"{output.plural(result.entries, 'entry version')}, {result.seconds:.2f} s"
    if not result.changed:
        if result.activated:
            return f"{result.version} has this content already and is current again: {facts}."
        return f"Nothing changed since {result.version}: {facts}."
    if result.activated:
        return f"Built {result.version}, now current: {facts}."
    return f"Built {result.version}: {facts}.\n`cms snapshot activate {result.version}` makes it current."


app.command()(diff)


@app.command("list")
def list_versions(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """List the versions, newest first.

    The current one is marked with an asterisk.
    """

    place = find_place(store, workspace_id)
    current = _current_if_known(place)
    documents: list[dict[str, object]] = []
    rows: list[tuple[str, ...]] = []
    for version in place.inside.versions():
        mark = "*" if current is not None and version == current.version else ""
        document: dict[str, object] = {"version": version, "current": bool(mark)}
        try:
            manifest = place.inside.manifest(version)
        except ParquetryError as error:
            documents.append({**document, "problem": str(error)})
            rows.append((mark, version, "cannot be read", "", "", ""))
            output.warning(str(error))
            continue
        size = sum(file.bytes for file in manifest.files)
        documents.append(
            {
                **document,
                "createdAt": format_datetime(manifest.created_at),
                "createdBy": manifest.created_by,
                "commit": manifest.commit,
                "entries": manifest.entries,
                "bytes": size,
                "quick": not manifest.full,
                "problem": None,
            }
        )
        built, by = output.moment(manifest.created_at), manifest.created_by
        if not manifest.full:
            by += ", quick"
        rows.append((mark, version, built, f"{manifest.entries:,}", output.size(size), by))
    if json:
        output.write_json(documents)
    elif rows:
        columns = ("", "VERSION", "BUILT (UTC)", "ENTRIES", "SIZE", "BY")
        output.table(columns, rows, right=("ENTRIES", "SIZE"), whole=("VERSION", "BUILT (UTC)"), spare=("SIZE",))
    else:
        output.message(f'Workspace "{place.inside.id}" has no versions yet. `cms snapshot build` makes one.')


@app.command()
def show(
    version: Version = None, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Show what a version holds, and what goes live or ends next.

    By API and language: how many entry versions are live now, scheduled, ended, and drafts.
    """
    from engine.overview.summary import summarise

    place = find_place(store, workspace_id)
    found = named_version(place, version)
    manifest = place.inside.manifest(found)
    summary = summarise(place.inside.snapshots / found, manifest, now_ms())
    if json:
        output.write_json(summary_document(manifest, summary))
        return
    size = sum(file.bytes for file in manifest.files)
    kind = "" if manifest.full else "; quick, by `cms dev`: without search indexes"
    output.facts(
        [
            ("Workspace", f"{manifest.workspace.name} ({manifest.workspace.id})"),
            ("Version", found),
            ("Built", f"{output.instant(manifest.created_at)} by {manifest.created_by}, {manifest.builder}{kind}"),
            ("Commit", manifest.commit or "-"),
            ("Holds", f"{output.plural(manifest.entries, 'entry version')}, {output.size(size)}"),
        ]
    )
    output.answer("")
    output.table(
        ("API", "LANGUAGE", "LIVE", "SCHEDULED", "ENDED", "DRAFTS"),
        [
            (one.api, one.lang, *(f"{count:,}" for count in (one.live, one.scheduled, one.ended, one.drafts)))
            for one in summary.counts
        ],
        right=("LIVE", "SCHEDULED", "ENDED", "DRAFTS"),
    )
    output.answer("")
    if summary.flips:
        output.table(
            ("NEXT (UTC)", "API", "LANGUAGE", "ENTRY", ""),
            [
                (output.moment(flip.at), flip.api, flip.lang, flip.entry, "goes live" if flip.live else "ends")
                for flip in summary.flips
            ],
            whole=("NEXT (UTC)", ""),
        )
    else:
        output.answer("No version goes live or ends after this.")


def summary_document(manifest: Manifest, summary: Summary) -> dict[str, object]:
    """Return a version at an instant as ``--json`` prints it."""
    return {
        "workspace": manifest.workspace.id,
        "version": manifest.version,
        "createdAt": format_datetime(manifest.created_at),
        "createdBy": manifest.created_by,
        "builder": manifest.builder,
        "commit": manifest.commit,
        "entries": manifest.entries,
        "bytes": sum(file.bytes for file in manifest.files),
        "quick": not manifest.full,
        "at": format_datetime(summary.now),
        "counts": [
            {
                "api": one.api,
                "lang": one.lang,
                "rows": one.rows,
                "live": one.live,
                "scheduled": one.scheduled,
                "ended": one.ended,
                "drafts": one.drafts,
            }
            for one in summary.counts
        ],
        "nextFlips": [
            {"at": format_datetime(flip.at), "api": flip.api, "lang": flip.lang, "id": flip.entry, "live": flip.live}
            for flip in summary.flips
        ],
    }


@app.command()
def activate(
    version: Annotated[
        str,
        typer.Argument(help="A version or an unambiguous beginning of it.", autocompletion=completion.versions),
    ],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Make another version current."""
    from snapshots.store.store import ANY
    from snapshots.whoami import whoami

    place = find_place(store, workspace_id)
    before = _current_if_known(place)
    found = place.inside.find(version)
    if before is not None and before.version == found:
        _report_current(place, before, f"Version {found} is current already.", json=json)
        return
    after = place.inside.activate(found, expected=before.version if before else ANY, by=whoami(), now=now_ms())
    _warn_of_breaking(place, before, after)
    _report_current(place, after, f"Version {after.version} is current now{_instead_of(before)}.", json=json)


@app.command()
def rollback(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Go back to the version that was current before."""
    from snapshots.whoami import whoami

    place = find_place(store, workspace_id)
    before = place.inside.current()
    after = place.inside.rollback(by=whoami(), now=now_ms())
    _warn_of_breaking(place, before, after)
    _report_current(place, after, f"Version {after.version} is current again{_instead_of(before)}.", json=json)


def _warn_of_breaking(place: Place, before: Current | None, after: Current) -> None:
    """Warn of the changes that break clients of the version current before; activating by hand is not refused."""
    from snapshots.compare.compatibility import breaking_changes

    if before is None:
        return
    try:
        old = place.inside.manifest(before.version)
    except ParquetryError:
        return
    for change in breaking_changes(old.workspace, place.inside.manifest(after.version).workspace):
        output.warning(f"this breaks clients: {change}")


def _current_if_known(place: Place) -> Current | None:
    """Return the current version; ``None`` before the first, and, with a warning, for a damaged pointer.

    So the versions can still be listed, and one of them activated, which mends the pointer.
    """
    from snapshots.store.store import DamagedCurrent

    try:
        return place.inside.current()
    except DamagedCurrent as error:
        output.warning(str(error))
        return None


def _instead_of(before: Current | None) -> str:
    return f", instead of {before.version}" if before else ""


def _report_current(place: Place, current: Current, sentence: str, *, json: bool) -> None:
    if not json:
        output.answer(sentence)
        return
    output.write_json(
        {
            "workspace": place.inside.id,
            "version": current.version,
            "previous": list(current.previous),
            "activatedAt": format_datetime(current.activated_at),
            "activatedBy": current.activated_by,
        }
    )


@app.command()
def verify(
    version: Version = None, store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False
) -> None:
    """Check every file of a version.

    Each has to be of its recorded size and SHA-256, and readable. Exit status 1 when something is wrong.
    """
    place = find_place(store, workspace_id)
    found = named_version(place, version)
    with output.progress() as tell:
        complaints = place.inside.verify(found, tell)
    if json:
        output.write_json(
            {"workspace": place.inside.id, "version": found, "ok": not complaints, "complaints": complaints}
        )
    else:
        for complaint in complaints:
            output.answer(complaint)
        if complaints:
            output.failure(f"Version {found} is damaged: {output.plural(len(complaints), 'complaint')}.")
        else:
            files = output.plural(len(place.inside.manifest(found).files), "file")
            output.answer(f"Version {found} is intact: {files}.")
    if complaints:
        raise typer.Exit(1)


@app.command()
def prune(
    keep: Annotated[int, typer.Option("--keep", min=1, metavar="N", help="How many of the newest to keep.")] = 10,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Drop old versions, and what the cache has for them alone.

    The current one and the one current before it always stay.
    """
    from engine.cache.places import cache_places
    from engine.making.materialise import drop_pruned

    place = find_place(store, workspace_id)
    with output.progress() as tell:
        tell("removing", 0, 0)
        removed, freed = place.inside.prune(keep)
        with suppress(ParquetryError):  # the cache of a server, which frees it itself
            freed += drop_pruned(cache_places(place.store.cache, place.inside.id), place.inside.snapshots)
    if json:
        output.write_json({"workspace": place.inside.id, "removed": removed, "bytes": freed})
        return
    for version in removed:
        output.message(f"removed {version}")
    output.answer(f"{output.plural(len(removed), 'version')} removed, {output.size(freed)} freed.")


def named_version(place: Place, version: str | None) -> str:
    """Return the version that begins with ``version``, or for ``None`` the current one.

    Raises ``MissingVersion``, ``StoreError`` for several, and ``NoWorkspace`` when none is current.
    """
    if version is not None:
        return place.inside.find(version)
    return place.current_version()
