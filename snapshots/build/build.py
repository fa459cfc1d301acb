"""Build a workspace directory into a snapshot version in the store, and make it current (design section 3).

    inputs → compilation → checks → planned files → staged Parquet files and manifest → published → activated

When the inputs are those of the last build, only the first step is done.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from snapshots.build.cache import DEADLY, LAYOUT, BuildCache, LastBuild
from snapshots.build.inputs import SHALLOW_CLONE, Inputs, find_inputs
from snapshots.build.settings import FULL, WriteSettings
from snapshots.columns import SEGMENT_ENTRIES
from snapshots.compile.assets import delivered_file, states
from snapshots.definitions.files import WORKSPACE_FILE
from snapshots.history.git_commit import commit_sentence, described_commit
from snapshots.history.git_refusal import NO_HISTORY
from snapshots.locks import FileLock
from snapshots.problems import ParquetryError, Problems, WorkspaceRefused
from snapshots.store.durable import writing
from snapshots.store.holds.holds import Hold
from snapshots.store.manifest import FORMAT, Manifest
from snapshots.store.objects import StoreUnreachable
from snapshots.store.store import Store, WorkspaceStore
from snapshots.times import format_datetime
from snapshots.translations.model import Translations, lagging_translations
from snapshots.version import PROGRAM, compilers
from snapshots.whoami import whoami

if TYPE_CHECKING:
    from snapshots.build.checks import CheckedApi
    from snapshots.build.file_plans import PlannedFile
    from snapshots.build.steps import Plan
    from snapshots.build.workers import BuildWorkers
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.compile.assets import AssetUse
    from snapshots.model import Workspace
    from snapshots.sources.git_dates import GitDates

Progress = Callable[[str, int, int], None]
"""Called with (step, amount done, amount in all); both amounts are 0 in a step that counts nothing."""
Prepare = Callable[[WorkspaceStore, str], None]
"""Called with a workspace and a version of it that is in the store, and not current yet."""
Record = Callable[[WorkspaceStore, str, str], AbstractContextManager[None]]
"""Called with a workspace, the kind of a change of it and a sentence about that: makes the change in the block."""


class BuildResult(msgspec.Struct, frozen=True):
    """The outcome of a build."""

    workspace: str
    version: str
    changed: bool
    """False when a version with the same content was there already."""
    activated: bool
    """True when this build made the version current."""
    entries: int
    """Versions in the snapshot, over all APIs and languages."""
    seconds: float
    problems: Problems
    assets: tuple[str, ...] = ()
    """The files that texts name, relative to the workspace."""
    translations: tuple[Translations, ...] = ()
    """The state of the translations, by API and language."""
    held: Hold | None = None
    """The reason why the version was not made current: its content was rolled back from."""


class CheckResult(msgspec.Struct, frozen=True):
    """The outcome of a check."""

    problems: Problems
    translations: tuple[Translations, ...]
    """The state of the translations, by API and language; none where the definitions have errors."""
    missing: tuple[str, ...] = ()
    """The entries that are missing in the language asked for: ``posts/hello``."""


class Surveyed(msgspec.Struct, frozen=True):
    """The files of a workspace, as a build would take them."""

    problems: Problems
    inputs: Inputs | None
    """``None`` where workspace.yaml does not even say the languages."""
    checked: list[CheckedApi]
    """The versions without errors."""
    git: GitDates | None


class BreakingChanges(ParquetryError):
    """A version was built but not made current, because clients of the current one would break."""

    def __init__(self, result: BuildResult, current: str, changes: list[tuple[SchemaChange, str, int]]) -> None:
        count = len(changes)
        super().__init__(
            f"{count:,} change{'' if count == 1 else 's'} would break clients, so {current} stays current. "
            f"The new content is built as {result.version}: revert the change{'' if count == 1 else 's'}, or "
            "publish anyway with `cms snapshot build --allow-breaking`."
        )
        self.result = result
        self.changes = changes
        """Each with its definition file, relative to the workspace, and the line in it."""


def build(
    root: Path,
    store: Store,
    *,
    now: int,
    activate: bool = True,
    allow_breaking: bool = False,
    strict: bool = False,
    lenient: bool = False,
    without_history: bool = False,
    again: bool = False,
    public_url: str | None = None,
    settings: WriteSettings = FULL,
    prepare: Prepare | None = None,
    record: Record | None = None,
    progress: Progress | None = None,
    published: Store | None = None,
    segment_entries: int = SEGMENT_ENTRIES,
) -> BuildResult:
    """Build the workspace at ``root`` into ``store`` and make the new version current.

    ``now`` (UTC milliseconds) names the version, and the duration of the build after it is when that becomes current:
    the same content gives the same files at any time. Raises ``WorkspaceRefused`` when the workspace has errors (the
    store stays as it is), ``StoreError`` when the store cannot be written, ``ActivationConflict`` when somebody else
    changed the current version meanwhile, and unless ``allow_breaking`` ``BreakingChanges`` when clients of the current
    version would break: the new one is in the store then, but not current.

    Where the current version has dates from git that this build does not get, the workspace has such an error, unless
    it is built ``without_history``. Content that was rolled back from is not made current, unless it is built
    ``again``.

    ``public_url`` is the server's address, such as ``https://content.example``: with it, the addresses of assets have a
    host. With other ``settings`` than ``FULL`` the version is marked as ``Manifest.quick``; it answers the same.
    ``published`` is the store whose versions tell, without git, which translations are older than their originals:
    ``store`` by default. ``prepare`` is called with a version that is in the store, before it becomes current;
    ``record`` notes what the build changes in the store. ``segment_entries`` are the most entries of a segment: with
    another number, the same content is another version.
    """
    started = time.monotonic()
    tell, versions = progress or _silent, published or store
    with _without_collections(), _locked_cache(store.cache, root, tell) as cache:
        found = Problems()
        cache.save_public_url(public_url)
        inputs = find_inputs(root.resolve(), cache, compilers(), found, public_url)
        if inputs is None or not inputs.definitions.whole:
            every = found if inputs is None else _all(inputs, cache, found, tell, versions).problems
            raise _refusal(every.judged(strict=strict, classes=_classes(inputs), lenient=lenient))
        target = store.workspace(inputs.definitions.workspace.id)
        current = target.current()
        before = current.version if current is not None else None
        last = cache.load_last()
        if last is not None and _unchanged(inputs, last) and before is not None:
            manifest = _whole(target, before)
            is_same = manifest is not None and manifest.content == last.content and (manifest.full or settings != FULL)
            if manifest is not None and is_same and target.has_assets(manifest):
                named = tuple(asset.path for asset in last.assets)
                every = _merged(found, last.recalled(), _strays(inputs, last.assets))
                judged = _judge(inputs, every, named, strict=strict, lenient=lenient)
                seconds = time.monotonic() - started
                return BuildResult(
                    *(target.id, before, False, False, manifest.entries, seconds, judged, named), last.translations
                )
        from snapshots.build import steps  # noqa: PLC0415 - Arrow takes 0.2 s to import, too long for a build with nothing to do

        choices = _Choices(
            *(now, activate, allow_breaking, strict, lenient, without_history, again, started, settings, prepare),
            *(record or _unrecorded, versions, segment_entries),
        )
        with steps.workers(inputs, cache) as workers:
            return _build(inputs, cache, found, target, before, choices, workers, tell)


def check(root: Path, cache_directory: Path, *, strict: bool = False, lenient: bool = False) -> Problems:
    """Return every problem of the workspace at ``root``, as ``examine`` does."""
    return examine(root, cache_directory, strict=strict, lenient=lenient).problems


def examine(
    root: Path,
    cache_directory: Path,
    *,
    strict: bool = False,
    lenient: bool = False,
    progress: Progress | None = None,
    published: Store | None = None,
    missing_in: str | None = None,
) -> CheckResult:
    """Return every problem of the workspace at ``root``, as a build with the same options would find them, and the
    state of its translations.

    ``cache_directory`` is any folder; with a store's ``cache``, a check after a build repeats none of its work.
    ``published`` is the store whose versions tell, without git, which translations are older than their originals;
    ``missing_in`` is the language in which the missing entries are named.
    """
    tell = progress or _silent
    with _without_collections(), _locked_cache(cache_directory, root, tell) as cache:
        found = Problems()
        inputs = find_inputs(root.resolve(), cache, compilers(), found, cache.load_public_url())
        every = CheckResult(found, ()) if inputs is None else _all(inputs, cache, found, tell, published, missing_in)
        judged = every.problems.judged(strict=strict, classes=_classes(inputs), lenient=lenient)
        return replace(every, problems=judged)


def survey(
    root: Path, cache_directory: Path, *, built: Manifest | None = None, progress: Progress | None = None
) -> Surveyed:
    """Return the versions in the files of the workspace at ``root``, and every problem of it.

    Assets have the addresses that they have in the version ``built``, so that the two can be compared.
    ``cache_directory`` is as ``examine`` has it.
    """
    tell = progress or _silent
    with _locked_cache(cache_directory, root, tell) as cache:
        public_url = cache.load_public_url()
        if built is None or not built.asset_names or public_url == built.public_url:
            return _surveyed(root, cache, public_url, tell)
    # `cms dev` compiles with another address in the same cache: with this one, it would compile all again.
    with _locked_cache(cache_directory / "build", root, tell) as cache:
        return _surveyed(root, cache, built.public_url, tell)


def _surveyed(root: Path, cache: BuildCache, public_url: str | None, tell: Progress) -> Surveyed:
    found = Problems()
    inputs = find_inputs(root.resolve(), cache, compilers(), found, public_url)
    if inputs is None:
        return Surveyed(found, None, [], None)
    from snapshots.build import steps  # noqa: PLC0415 - Arrow takes 0.2 s to import, too long for a build with nothing to do

    content = Problems()
    with _without_collections(), steps.workers(inputs, cache) as workers:
        plan = steps.plan(inputs, cache, content, workers, tell, None, SEGMENT_ENTRIES)
    return Surveyed(_merged(found, content).judged(classes=_classes(inputs)), inputs, plan.checked, cache.load_git())


def _all(
    inputs: Inputs,
    cache: BuildCache,
    found: Problems,
    tell: Progress,
    versions: Store | None,
    missing_in: str | None = None,
) -> CheckResult:
    """Return the problems ``found`` with the inputs, and what a check says of their content."""
    last = cache.load_last()
    if last is not None and _unchanged(inputs, last) and missing_in is None:
        return CheckResult(_merged(found, last.recalled(), _strays(inputs, last.assets)), last.translations)
    from snapshots.build import steps  # noqa: PLC0415 - Arrow takes 0.2 s to import, too long for a check with nothing to do

    content = Problems()
    with steps.workers(inputs, cache) as workers:
        plan = steps.plan(inputs, cache, content, workers, tell, versions, SEGMENT_ENTRIES)
    _remember(inputs, cache, _content(inputs.definitions.workspace, plan.files), content, plan)
    missing = () if missing_in is None else steps.missing_entries(inputs.definitions.workspace, plan, missing_in)
    return CheckResult(_merged(found, content, _strays(inputs, plan.assets)), plan.translations, missing)


def _strays(inputs: Inputs, assets: Iterable[AssetUse]) -> Problems:
    """Return a warning for each file in an API's folder that is neither content nor one of the ``assets``."""
    problems = Problems()
    named = {asset.path for asset in assets}
    knows_assets = inputs.definitions.rich_text.assets_url is not None
    for stray in inputs.listing.strays:
        if stray.path not in named and (knows_assets or stray.is_slip):
            problems.warning(stray.path, 1, "stray-file", stray.message)
    return problems


class _Choices(msgspec.Struct, frozen=True):
    now: int
    activate: bool
    allow_breaking: bool
    strict: bool
    lenient: bool
    without_history: bool
    again: bool
    started: float
    settings: WriteSettings
    prepare: Prepare | None
    record: Record
    versions: Store
    segment_entries: int


def _build(
    inputs: Inputs,
    cache: BuildCache,
    found: Problems,
    target: WorkspaceStore,
    before: str | None,
    choices: _Choices,
    workers: BuildWorkers,
    tell: Progress,
) -> BuildResult:
    """Compile changed inputs, publish a version and activate it."""
    from snapshots.build import steps  # noqa: PLC0415 - Arrow takes 0.2 s to import, too long for a build with nothing to do
    from snapshots.history.dates import lost_dates  # noqa: PLC0415 - the same

    problems = Problems()
    plan = steps.plan(inputs, cache, problems, workers, tell, choices.versions, choices.segment_entries)
    planned, assets = plan.files, plan.assets
    named = tuple(asset.path for asset in assets)
    judged = _judge(
        inputs, _merged(found, problems, _strays(inputs, assets)), named, strict=choices.strict, lenient=choices.lenient
    )
    workspace = inputs.definitions.workspace
    lost = None if choices.without_history else lost_dates(plan.history, workspace, target, before)
    if lost is not None:
        judged = judged.without(NO_HISTORY).without(SHALLOW_CLONE)
        judged.error(WORKSPACE_FILE, 1, NO_HISTORY, lost)
        raise _refusal(judged, named)
    content = _content(workspace, planned)
    kept = {asset.name: asset.path for asset in assets if asset.name}
    read = partial(delivered_file, strip=inputs.definitions.rich_text.strips_assets)
    commit = None if inputs.head is None else described_commit(inputs.root, inputs.head)
    with target.keeping_assets(inputs.root, kept, read) as check_time:
        version = _version_with(target, content, before, choices.settings)
        changed = version is None
        if version is None:
            version = target.unused_version(choices.now, content)
            with target.stage(version) as staging:
                files = steps.write(
                    *(plan.planners, inputs, cache, target, staging, workers, tell),
                    *(choices.settings, choices.segment_entries),
                )
                manifest = Manifest(
                    format=FORMAT,
                    version=version,
                    content=content,
                    workspace=workspace,
                    files=tuple(sorted(files, key=lambda file: file.path)),
                    created_at=choices.now,
                    created_by=whoami(),
                    builder=PROGRAM,
                    commit=inputs.head,
                    committed=commit or msgspec.UNSET,
                    sources=plan.sources,
                    history=plan.history.use,
                    quick=msgspec.UNSET if choices.settings == FULL else True,
                    assets=tuple(sorted(kept)) or msgspec.UNSET,
                    assets_url=(inputs.definitions.rich_text.assets_url or msgspec.UNSET) if kept else msgspec.UNSET,
                    lagging=lagging_translations(plan.translations) if plan.translations else msgspec.UNSET,
                )
                check_time()
                target.publish(staging, manifest)
        else:
            target.restore_assets(version)
    replaces = choices.activate and version != before
    hold = target.hold_on(content, plan.sources) if replaces and not choices.again else None
    replaces = replaces and hold is None
    breaking = steps.breaking(inputs, target, before) if replaces and not choices.allow_breaking else []
    activated = replaces and not breaking
    if choices.prepare is not None and (changed or activated):
        choices.prepare(target, version)
    if activated:
        instead = f", instead of {before}" if before is not None else ""
        if changed:
            sentence = f"Built {version} and made it the current snapshot version{instead}."
        else:
            sentence = f"Made {version} the current snapshot version{instead}: a new build has the same content."
        sentence += commit_sentence(inputs.head, commit)
        with choices.record(target, "version_activated", sentence):
            # The present instant: what becomes visible while a build takes minutes belongs to the version before.
            at = choices.now + int((time.monotonic() - choices.started) * 1000)
            target.activate(version, expected=before, by=whoami(), now=at)
    elif changed:
        why = "" if hold is None else f": {hold.by} rolled back from its content on {format_datetime(hold.at)}"
        sentence = f"Built {version}, without making it current{why}.{commit_sentence(inputs.head, commit)}"
        with choices.record(target, "version_built", sentence):
            pass
    _remember(inputs, cache, content, problems, plan)
    entries = sum(file.rows for file in planned)
    seconds = time.monotonic() - choices.started
    result = BuildResult(
        *(target.id, version, changed, activated, entries, seconds, judged, named, plan.translations), hold
    )
    if breaking and before is not None:
        raise BreakingChanges(result, before, breaking)
    return result


def _content(workspace: Workspace, planned: list[PlannedFile]) -> str:
    """Return the SHA-256 over the definitions and every data file's content."""
    files = sorted((file.path, file.content) for file in planned)
    return sha256(msgspec.json.encode([FORMAT, workspace, files], order="deterministic")).hexdigest()


def _version_with(target: WorkspaceStore, content: str, before: str | None, settings: WriteSettings) -> str | None:
    """Return a version with this content, the current one if it has it; ``None`` when the content is new, or all that
    have it are damaged.

    With the settings ``FULL``, versions marked as quick do not count.
    """
    candidates = [version for version in target.versions() if version.endswith(f"-{content[:8]}")]
    for version in sorted(candidates, key=lambda version: version != before):
        manifest = _whole(target, version)
        if manifest is not None and manifest.content == content and (manifest.full or settings != FULL):
            return version
    return None


def _whole(target: WorkspaceStore, version: str) -> Manifest | None:
    """Return the manifest of a version; ``None`` where that, or a file of the version, is damaged."""
    try:
        manifest = target.manifest(version)
        if target.is_whole(manifest):
            return manifest
        target.drop_damaged(manifest)
        return None
    except StoreUnreachable:
        raise
    except ParquetryError:
        return None


def _unchanged(inputs: Inputs, last: LastBuild) -> bool:
    if not inputs.settled or inputs.signature != last.signature:
        return False
    state = states(inputs.root)
    return all(state(asset.path) == asset.state for asset in last.assets)


def _remember(inputs: Inputs, cache: BuildCache, content: str, problems: Problems, plan: Plan) -> None:
    # A change of access rights, or of the memory that there is, does not change the signature.
    may_pass = any(kind in {"unreadable", DEADLY, NO_HISTORY} for _, kind, _ in problems.counts)
    if inputs.settled and not may_pass:
        outcome = (problems.kept, problems.counts, plan.assets, plan.translations)
        cache.save_last(LastBuild(LAYOUT, inputs.signature, content, *outcome))
    else:
        cache.forget_last()


def _merged(*every: Problems) -> Problems:
    merged = Problems()
    for problems in every:
        merged.merge(problems)
    return merged


def _classes(inputs: Inputs | None) -> tuple[str, ...]:
    """Return the classes of warnings that the workspace has as errors."""
    return () if inputs is None else inputs.definitions.strict


def _judge(inputs: Inputs, problems: Problems, assets: tuple[str, ...], *, strict: bool, lenient: bool) -> Problems:
    """Return all problems as the workspace and the options judge them.

    Raises ``WorkspaceRefused`` when there is an error among them.
    """
    judged = problems.judged(strict=strict, classes=_classes(inputs), lenient=lenient)
    if judged.errors:
        raise _refusal(judged, assets)
    return judged


def _refusal(problems: Problems, assets: tuple[str, ...] = ()) -> WorkspaceRefused:
    count = problems.errors
    return WorkspaceRefused(
        f"{count:,} error{'' if count == 1 else 's'}: nothing was built, and what is published stays as it is.",
        problems,
        assets,
    )


@contextmanager
def _without_collections() -> Iterator[None]:
    """Turn the garbage collector off in the block: a build makes tens of thousands of objects and hardly any cycle."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def _locked_cache(directory: Path, root: Path, tell: Progress) -> Iterator[BuildCache]:
    """Hold the build cache of the workspace at ``root`` in the block; other builds of the workspace wait."""
    name = blake2b(str(root.resolve()).encode(), digest_size=8).hexdigest()
    with writing(directory):
        cache = BuildCache(directory / "build" / name)
        lock = FileLock(cache.path("lock"))
        if not lock.take():
            tell("waiting for another build of this workspace", 0, 0)
            lock.take(math.inf)
    try:
        yield cache
    finally:
        lock.leave()


def _unrecorded(_workspace_store: WorkspaceStore, _action: str, _sentence: str) -> AbstractContextManager[None]:
    return nullcontext()


def _silent(_what: str, _done: int, _total: int) -> None:
    return None
