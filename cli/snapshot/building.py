"""``cms snapshot build``: compile content files into a new version."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo

import typer

from cli.changes.documents import endings_document, page_urls
from cli.changes.report import Report
from cli.location import NoWorkspace, begin_store, defined_id, store_at, workspace_directory
from cli.options import AssetsHost, Json, StoreLocation, Strict, WorkspaceDirectory, assets_host
from cli.output import documents, lines, wording
from cli.output.passages import print_passages
from cli.output.problems import print_problems, problem_documents
from cli.output.progress import progress
from cli.snapshot.held import held_document
from cli.snapshot.on_publish import OnPublish, run_on_publish
from cli.snapshot.retention import KEEP_VARIABLE, delete_old, pruned_sentence
from snapshots.problems import ParquetryError, WorkspaceRefused
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.administration.versions import Pruned
    from snapshots.build.build import BreakingChanges, BuildResult, Progress
    from snapshots.store.holds.holds import Hold
    from snapshots.store.store import Store, WorkspaceStore


def build(
    workspace: WorkspaceDirectory = None,
    store: StoreLocation = None,
    no_activate: Annotated[bool, typer.Option("--no-activate", help="Build only.")] = False,
    strict: Strict = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out language versions with errors, and build the rest.")
    ] = False,
    allow_breaking: Annotated[
        bool, typer.Option("--allow-breaking", help="Make it current even if that breaks clients.")
    ] = False,
    without_history: Annotated[
        bool,
        typer.Option("--without-history", help="Publish other dates where git no longer has those of before."),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Make it current even if its content was rolled back from.")
    ] = False,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            envvar=KEEP_VARIABLE,
            min=1,
            metavar="N",
            help="Then delete all but the newest N snapshot versions, as `cms snapshot prune` does.",
            show_default=False,
        ),
    ] = None,
    on_publish: OnPublish = None,
    public_url: AssetsHost = None,
    with_cache: Annotated[
        bool | None,
        typer.Option(
            "--with-cache/--without-cache",
            help="Prepare the servers' cache before making it current.  [default: for a store in a bucket]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Build a new snapshot version, and make it current.

    If the content has errors, nothing is built, and neither if git, which gave the current snapshot version its dates,
    does not tell them any more. If the new snapshot version would break clients of the current one, it
    is built but not made current. The exit status is 1 in all of these cases.

    Content that was rolled back from is built, but not made current, unless `--again` asks for that.
    """
    from engine.administration.versions import recorded_build
    from snapshots.build.build import BreakingChanges
    from snapshots.build.build import build as build_workspace

    if strict and lenient:
        raise typer.BadParameter("--strict and --lenient contradict each other: choose one.")
    root = workspace_directory(workspace)
    host = assets_host(public_url)
    target = store_at(store, root)
    wants_cache = target.bucket is not None if with_cache is None else with_cache
    begin_store(target)
    started, now = time.monotonic(), now_ms()
    served = _current_version(root, target)
    try:
        with progress() as tell:
            result = build_workspace(
                root,
                target,
                now=now,
                activate=not no_activate,
                allow_breaking=allow_breaking,
                strict=strict,
                lenient=lenient,
                without_history=without_history,
                again=again,
                public_url=host,
                prepare=partial(_make_cache, target.cache, tell) if wants_cache else None,
                record=recorded_build(now),
                progress=tell,
            )
    except WorkspaceRefused as refusal:
        if json:
            documents.write_json(_refusal_document(refusal, root, time.monotonic() - started))
        else:
            print_problems(refusal.problems, stderr=True)
            lines.message("Nothing was built, and what is published stays as it is.")
        raise typer.Exit(1) from None
    except BreakingChanges as refusal:
        _report_breaking(refusal, json=json)
        raise typer.Exit(1) from None
    if target.bucket is None:
        _tell_of_owners(target, result)
    ended = _ended(root, target, result, served)
    pruned = None if keep is None else _pruned(target, result.workspace, keep)
    if json:
        deleted = {} if keep is None else {"pruned": [] if pruned is None else pruned.removed}
        documents.write_json({**build_document(result), **endings_document(ended), **deleted})
    else:
        if result.problems.warnings:
            print_problems(result.problems, stderr=True)
        lines.answer(_build_sentence(result))
        for section in () if ended is None else ended.endings:
            lines.answer(section.title, style="bold")
            print_passages(section.passages)
        if pruned is not None and pruned.removed:
            lines.answer(f"Of the old ones, {pruned_sentence(pruned)}")
    if result.held is not None:
        lines.warning(_held_sentence(result.version, result.held))
    current = target.workspace(result.workspace).current() if result.activated else None
    if current is not None:
        before = current.previous[0] if current.previous else None
        _tell_of_a_lost_host(target.workspace(result.workspace), current.version, before)
        run_on_publish(on_publish, target.workspace(result.workspace), current, before)


def _pruned(target: Store, workspace: str, keep: int) -> Pruned | None:
    """Delete old versions after a build; ``None`` where that fails, which undoes nothing of the build."""
    try:
        return delete_old(target, target.workspace(workspace), keep)
    except ParquetryError as error:
        lines.warning(f"Old snapshot versions were not deleted: {error}")
        return None


def _tell_of_owners(target: Store, result: BuildResult) -> None:
    """Give the cache of a store to its owner, and warn where whoever serves it may not read what was built."""
    from snapshots.ownership import follow_all, is_foreign, owner_of

    follow_all(target.cache, target.root)
    built = target.workspace(result.workspace).snapshots / result.version
    if result.changed and is_foreign(built, target.root):
        user = owner_of(target.root)
        lines.warning(
            f"{built} belongs to {owner_of(built)}, and {target.root} to {user}, who cannot read it: a server that "
            f"runs as {user} goes on with the version before. Publish as that user "
            f"(`sudo -u {user} cms snapshot build …`), or join its group."
        )


MOST_FETCHED: Final = 50_000_000
"""Bytes of data files that differ, up to which a build into a bucket looks for renamed and removed entries."""


def _current_version(root: Path, target: Store) -> str | None:
    """Return the version that is current before a build; ``None`` for none, or where the build is going to fail."""
    with suppress(ParquetryError):
        current = target.workspace(defined_id(root)).current()
        return None if current is None else current.version
    return None


def _ended(root: Path, target: Store, result: BuildResult, before: str | None) -> Report | None:
    """Return the report of what was renamed and removed since the version ``before``; ``None`` where nothing was, or
    where that would take reading too much from a bucket."""
    if before is None or result.version == before or not (result.changed or result.activated):
        return None
    from snapshots.compare.diff import diff

    workspace_store = target.workspace(result.workspace)
    with suppress(ParquetryError):  # pruned meanwhile, or damaged: that is not about this build
        old, new = (workspace_store.manifest(version) for version in (before, result.version))
        kept = {file.content for file in new.files}
        fetched = sum(file.bytes for file in old.files if file.content not in kept)
        if target.bucket is not None and fetched > MOST_FETCHED:
            return None
        found = diff(workspace_store, before, result.version, entries_only=True)
        if not found.removed:
            return None
        zone = ZoneInfo(found.new.workspace.timezone)
        report = Report(found, found.new.workspace, zone, now_ms(), page_urls(root))
        return report if report.endings else None
    return None


def _tell_of_a_lost_host(workspace_store: WorkspaceStore, version: str, before: str | None) -> None:
    """Warn where addresses of images and files had a host in the version before, and have none in this one."""
    if before is None or not workspace_store.manifest(version).assets_lack_host:
        return
    with suppress(ParquetryError):  # pruned meanwhile, or damaged: that is not about this build
        host = workspace_store.manifest(before).public_url
        if host is not None:
            lines.warning(
                f"Addresses of images and files began with {host} and have no host now, so pages on another host do "
                "not show them. Build again with CMS_PUBLIC_URL or --public-url set to that address."
            )


def _make_cache(cache: Path, tell: Progress, workspace_store: WorkspaceStore, version: str) -> None:
    """Make what readers open of a version, and open it. Where it cannot be made here, each of them does it; raises
    ``CacheUnfit`` where no reader could open it."""
    from engine.read.files.paths import cache_paths
    from engine.read.files.unusable import CacheUnfit
    from engine.read.materialise.shared_parts import make_and_push

    tell("making the readers' cache", 0, 0)
    try:
        make_and_push(workspace_store, cache_paths(cache, workspace_store.id), version)
    except CacheUnfit:
        raise
    except ParquetryError as error:
        lines.warning(f"Each server prepares its own cache, because this failed: {error}")


def build_document(result: BuildResult) -> dict[str, object]:
    """Return the outcome of a build as ``--json`` prints it (decision 49)."""
    return {
        "workspace": result.workspace,
        "version": result.version,
        "changed": result.changed,
        "activated": result.activated,
        "entries": result.entries,
        "seconds": round(result.seconds, 3),
        "problems": problem_documents(result.problems),
        "held": None if result.held is None else held_document(result.held),
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
        "problems": problem_documents(refusal.problems),
    }


def _report_breaking(refusal: BreakingChanges, *, json: bool) -> None:
    if json:
        from snapshots.compare.compatibility import change_document

        breaking = [{**change_document(change), "file": file, "line": line} for change, file, line in refusal.changes]
        documents.write_json({**build_document(refusal.result), "breaking": breaking})
        return
    if refusal.result.problems.warnings:
        print_problems(refusal.result.problems, stderr=True)
    for change, file, line in refusal.changes:
        lines.located(file, line, "breaking", str(change))
    lines.failure(str(refusal))


def _held_sentence(version: str, held: Hold) -> str:
    return (
        f"{version} was not made current: its content was rolled back from on {wording.instant(held.at)} by {held.by}, "
        f"so it is held. `cms snapshot build --again` or `cms snapshot activate {version}` makes it current."
    )


def _build_sentence(result: BuildResult) -> str:
    facts = f"{wording.plural(result.entries, 'language version')}, {result.seconds:.2f} s"
    if result.held is not None:
        return f"{'Built' if result.changed else 'There is already'} {result.version}, not made current: {facts}."
    if not result.changed:
        if result.activated:
            return f"{result.version} has this content already and is now current: {facts}."
        return f"Nothing changed since {result.version}: {facts}."
    if result.activated:
        return f"Built {result.version}, now current: {facts}."
    return f"Built {result.version}: {facts}.\n`cms snapshot activate {result.version}` makes it current."
