"""Run the steps of a build that has something to do: inputs, planned files, files of a staged version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from snapshots.build import pieces
from snapshots.build.cache import BuildCache
from snapshots.build.cached.rows import CacheDamaged
from snapshots.build.checks import CheckedApi, check, check_references
from snapshots.build.data_files import CacheUnreadable, write_files
from snapshots.build.file_plans import PlannedFile, Planner
from snapshots.build.file_states import assets_of, sources_digest
from snapshots.build.incremental import compile_workspace
from snapshots.build.inputs import Inputs, commit_dates
from snapshots.build.settings import WriteSettings
from snapshots.build.workers import BuildWorkers
from snapshots.columns import FileKind
from snapshots.compare.compatibility import SchemaChange, breaking_changes, definition_position
from snapshots.compile.assets import AssetUse
from snapshots.compile.dates import CHANGED_BY_GIT, CREATED_BY_GIT
from snapshots.history.dates import DatedRows, History, history_of, told
from snapshots.history.git_refusal import git_refusal
from snapshots.history.git_shallow import cut_off_files
from snapshots.model import Workspace
from snapshots.problems import ParquetryError, Problems
from snapshots.sources.git_dates import GitDates, uncommitted
from snapshots.sources.listing import Listed
from snapshots.store.durable import writing
from snapshots.store.manifest import DataFile
from snapshots.store.staging import Staging
from snapshots.store.store import Store, WorkspaceStore
from snapshots.translations.history import VersionHistory
from snapshots.translations.lagging import NOW, ChangedAt, Marks, Pairs, compared_translations, missing_translations
from snapshots.translations.lost_references import LostReferences
from snapshots.translations.model import Translations


class Plan(msgspec.Struct, frozen=True):
    """The checked versions of a workspace, the data files to make of them, and what they come from."""

    checked: list[CheckedApi]
    planners: list[Planner]
    assets: list[AssetUse]
    """The files that texts name, by path."""
    history: History
    translations: tuple[Translations, ...]
    sources: str
    """``Manifest.sources``."""

    @property
    def files(self) -> list[PlannedFile]:
        """The data files."""
        return [file for planner in self.planners for file in planner.files()]


def workers(inputs: Inputs, cache: BuildCache) -> BuildWorkers:
    """Return the processes of a build of the inputs."""
    return pieces.workers(inputs.root, cache.directory, inputs.definitions)


def plan(
    inputs: Inputs,
    cache: BuildCache,
    problems: Problems,
    workers: BuildWorkers,
    tell: Callable[[str, int, int], None],
    published: Store | None,
    segment_entries: int,
) -> Plan:
    """Compile the changed files and check all versions. Where git has no dates, the versions in the store ``published``
    tell which translations are older than their originals."""
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
        planners = _planners(workspace, cache, checked, segment_entries)
        translations = _translations(inputs, git, checked, planners, published, problems)
        problems.merge(references.result())
    assets = {asset.path: asset for api in state.apis.values() for asset in assets_of(api.files)}
    written = {uid: api.files for uid, api in state.apis.items()}
    sources = sources_digest(inputs.written, written, {path: asset.name for path, asset in assets.items()})
    return Plan(checked, planners, [assets[path] for path in sorted(assets)], history, translations, sources)


def _planners(
    workspace: Workspace, cache: BuildCache, checked: list[CheckedApi], segment_entries: int
) -> list[Planner]:
    """Plan the data files of each API, and remember them for the next build."""
    before = cache.load_planned()
    planners = {api.api.uid: Planner(workspace, api, segment_entries, before.get(api.api.uid)) for api in checked}
    now = {uid: planned for uid, planner in planners.items() if (planned := planner.planned()) is not None}
    if now != before:
        with writing(cache.directory):
            cache.save_planned(now)
    return list(planners.values())


def missing_entries(workspace: Workspace, plan: Plan, lang: str) -> tuple[str, ...]:
    """Return the entries that are missing in a language, by API and ID: ``posts/hello``."""
    return tuple(
        f"{api.api.endpoint}/{entry}"
        for api in plan.checked
        if lang in workspace.languages_of(api.api)[1:]
        for entry in missing_translations(workspace, api, lang)
    )


def _translations(
    inputs: Inputs,
    git: GitDates | None,
    checked: list[CheckedApi],
    planners: list[Planner],
    published: Store | None,
    problems: Problems,
) -> tuple[Translations, ...]:
    """Compare translations with their originals; report those that are older, and the references that they lose."""
    workspace = inputs.definitions.workspace
    if not any(len(workspace.languages_of(api.api)) > 1 and len(api.index) for api in checked):
        return ()
    LostReferences(workspace, {api.api.uid: api for api in checked}).report(problems)
    versions = None
    if published is not None:
        contents: dict[tuple[str, str], dict[str, str]] = {}
        for file in (file for planner in planners for file in planner.files()):
            if file.kind is FileKind.PUBLISHED:
                contents.setdefault((file.api.uid, file.lang), {})[file.segment] = file.content
        versions = VersionHistory(published.workspace(workspace.id), workspace.main_language, contents)

    def in_versions(pairs: Pairs) -> Marks:
        later = np.zeros(len(pairs.originals), dtype=bool)
        if versions is not None:
            # What has its dates from git has others with every commit, and versions differ that say the same.
            is_dated = np.isin(pairs.api.index["dated"].to_numpy(), (CHANGED_BY_GIT, CREATED_BY_GIT))
            told = ~is_dated[pairs.originals] & ~is_dated[pairs.translations]
            later[told] = versions.are_later(pairs.chosen(told))
        return later

    return compared_translations(
        workspace, checked, _changed_at(inputs.root, inputs.listing.files, git), in_versions, problems
    )


def _changed_at(root: Path, files: list[Listed], git: GitDates | None) -> ChangedAt:
    """Return the function that dates the last change of a file."""
    if git is None:
        return lambda _path: None
    differing = uncommitted(root, [path for path, *_ in files if path not in git.dates])

    def changed_at(path: str) -> int:
        at = None if path in differing.changed else git.changed_at(differing.renamed.get(path, path))
        return NOW if at is None else at

    return changed_at


@contextmanager
def _swept_on_failure(cache: BuildCache, root: Path) -> Iterator[None]:
    """Delete the files of a failed compilation at once: the disk may be full because of them."""
    try:
        yield
    except BaseException:
        cache.sweep(cache.load_state(root))
        raise


def write(
    planners: list[Planner],
    inputs: Inputs,
    cache: BuildCache,
    target: WorkspaceStore,
    staging: Staging,
    workers: BuildWorkers,
    tell: Callable[[str, int, int], None],
    settings: WriteSettings,
    segment_entries: int,
) -> list[DataFile]:
    """Put the planned files into a staged version, compiling all once more if rows in the cache are damaged."""
    try:
        return write_files(planners, target, staging, workers, tell, settings, cache)
    except CacheUnreadable:
        cache.clear()
        again = plan(inputs, cache, Problems(), workers, tell, None, segment_entries)
        return write_files(again.planners, target, staging, workers, tell, settings, cache)


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
