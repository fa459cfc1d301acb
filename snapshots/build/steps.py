"""Run the steps of a build that has something to do: inputs, planned files, files of a staged version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from snapshots.build import pieces
from snapshots.build.cache import BuildCache
from snapshots.build.checks import check, check_references
from snapshots.build.data_files import CacheUnreadable, write_files
from snapshots.build.file_plans import PlannedFile, planned_files
from snapshots.build.file_states import assets_of
from snapshots.build.incremental import CacheDamaged, compile_workspace
from snapshots.build.inputs import Inputs, commit_dates
from snapshots.build.settings import WriteSettings
from snapshots.build.workers import BuildWorkers
from snapshots.compare.compatibility import SchemaChange, breaking_changes, definition_position
from snapshots.compile.assets import AssetUse
from snapshots.history.dates import DatedRows, History, history_of, told
from snapshots.history.git_refusal import git_refusal
from snapshots.history.git_shallow import cut_off_files
from snapshots.problems import ParquetryError, Problems
from snapshots.store.durable import writing
from snapshots.store.manifest import DataFile
from snapshots.store.staging import Staging
from snapshots.store.store import WorkspaceStore


class Plan(msgspec.Struct, frozen=True):
    """The data files to make of a workspace, and what they come from."""

    files: list[PlannedFile]
    assets: list[AssetUse]
    """The files that texts name, by path."""
    history: History


def workers(inputs: Inputs, cache: BuildCache) -> BuildWorkers:
    """Return the processes of a build of the inputs."""
    return pieces.workers(inputs.root, cache.directory, inputs.definitions)


def plan(
    inputs: Inputs, cache: BuildCache, problems: Problems, workers: BuildWorkers, tell: Callable[[str, int, int], None]
) -> Plan:
    """Compile the changed files and check all versions."""
    tell("reading", 0, 0)
    git, dates = commit_dates(inputs, cache.load_git(), problems)
    for attempt in (1, 2):
        found = Problems()
        try:
            with writing(cache.directory), _swept_on_failure(cache, inputs.root):
                compiled, state = compile_workspace(
                    inputs.root,
                    cache,
                    inputs.definitions,
                    inputs.listing,
                    dates,
                    inputs.started_ns,
                    found,
                    workers,
                    tell,
                )
                cache.save_state(state)
                cache.save_git(git)
            break
        except CacheDamaged:
            if attempt == 2:
                raise
            cache.clear()
    tell("checking", 0, 0)
    workspace = inputs.definitions.workspace
    checked = check(workspace, compiled, found)
    refusal = git_refusal(inputs.root) if git is None else None
    rows = [DatedRows(api.api.uid, api.index, api.files) for api in checked]
    history = history_of(rows, git, partial(cut_off_files, inputs.root), refusal)
    problems.merge(told(history, found))
    with ThreadPoolExecutor(1) as beside:
        references = beside.submit(check_references, workspace, checked)
        planned = [file for api in checked for file in planned_files(workspace, api)]
        problems.merge(references.result())
    assets = {asset.path: asset for api in state.apis.values() for asset in assets_of(api.files)}
    return Plan(planned, [assets[path] for path in sorted(assets)], history)


@contextmanager
def _swept_on_failure(cache: BuildCache, root: Path) -> Iterator[None]:
    """Delete the files of a failed compilation at once: the disk may be full because of them."""
    try:
        yield
    except BaseException:
        cache.sweep(cache.load_state(root))
        raise


def write(
    planned: list[PlannedFile],
    inputs: Inputs,
    cache: BuildCache,
    target: WorkspaceStore,
    staging: Staging,
    workers: BuildWorkers,
    tell: Callable[[str, int, int], None],
    settings: WriteSettings,
) -> list[DataFile]:
    """Put the planned files into a staged version, compiling all once more if rows in the cache are damaged."""
    try:
        return write_files(planned, target, staging, workers, tell, settings)
    except CacheUnreadable:
        cache.clear()
        again = plan(inputs, cache, Problems(), workers, tell)
        return write_files(again.files, target, staging, workers, tell, settings)


def breaking(inputs: Inputs, target: WorkspaceStore, before: str | None) -> list[tuple[SchemaChange, str, int]]:
    """Return the changes that break clients of the version ``before``, each with its definition file and line."""
    if before is None:
        return []
    try:
        old = target.manifest(before).workspace
    except ParquetryError:
        return []  # a version without a manifest has no clients
    changes = breaking_changes(old, inputs.definitions.workspace)
    return [(change, *definition_position(inputs.root, inputs.definitions, change)) for change in changes]
