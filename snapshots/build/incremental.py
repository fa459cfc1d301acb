"""Compile a workspace's source files into the rows of every API; only files that changed are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import replace as replace_chunk

from snapshots.aliases.reading import ODD_ALIAS, Renamed
from snapshots.build.cache import LAYOUT, ApiState, BuildCache, BuildState, Findings, UnitState
from snapshots.build.cached.rows import GONE, CachedRows, Chunk, remembered
from snapshots.build.file_states import compare, report
from snapshots.build.old_ids.gathering import Refers, files_by_old_ids, renamed_entries
from snapshots.build.pieces import (
    CompiledPiece,
    GitRange,
    Piece,
    PieceCompiler,
    compile_pieces,
    cut_into_pieces,
    file_digest,
    is_bulk,
    made_ids,
    pieces_of_units,
)
from snapshots.build.workers import BuildWorkers
from snapshots.compile.assets import states
from snapshots.compile.dates import GIVEN, GUESSED, NOT_KNOWN
from snapshots.compile.entries import UNKNOWN_KEY
from snapshots.compile.richtext import NO_PAGE_URL, SHORTCODE, ImageDoubt
from snapshots.definitions.model import Definitions
from snapshots.definitions.names import nearest
from snapshots.documents.units import CutFile, cut_file, kept_units
from snapshots.model import Api, Workspace
from snapshots.problems import Problems
from snapshots.sources.listing import ApiFiles, Listing, SourceFile
from snapshots.version import compilers

Progress = Callable[[str, int, int], None]
"""Called with (step, amount done, amount in all)."""


class RowsChange(msgspec.Struct, frozen=True):
    """What changed in the rows of an API since a build before."""

    before: str
    """``ApiState.version`` of the rows then; empty where nothing is known of them."""
    now: str
    """The same of the rows now."""
    entries: np.ndarray[Any, np.dtype[Any]]
    """The numbers of the entries of which some version came, went, or says something else."""


class CompiledApi(msgspec.Struct):
    """The rows of one API's versions that have no error."""

    api: Api
    index: pa.Table
    """Rows as ``CachedRows.rows`` has them: ``file`` is a position in ``files``, ``chunk`` one in ``chunks``."""
    references: pa.Table
    files: list[str]
    chunks: list[Path]
    change: RowsChange


def compile_workspace(
    root: Path,
    cache: BuildCache,
    definitions: Definitions,
    listing: Listing,
    git: Mapping[str, GitRange] | None,
    started_ns: int,
    problems: Problems,
    workers: BuildWorkers,
    progress: Progress,
) -> tuple[list[CompiledApi], BuildState]:
    """Compile the changed files, keep the rows of the others, and report the problems of all.

    ``git`` maps paths to first and last commit; ``started_ns`` is when the files were listed.
    Returns the rows, and the state to remember, which the caller saves.
    """
    state = cache.load_state(root)
    cache.sweep(state)
    by_api = _files_of_apis(definitions, listing, state, problems)
    updates = [
        _ApiUpdate(root, cache, definitions, by_api[api.uid], api, state.apis.get(api.uid), git, started_ns)
        for api in definitions.workspace.apis
    ]
    now = None if git is None else started_ns // 1_000_000
    pieces = [piece for update in updates for piece in update.work(now)]
    compiled: list[CompiledPiece] = []
    if pieces:
        compiler = PieceCompiler(root, cache.directory, definitions)
        tell = partial(progress, "compiling")
        compiled = compile_pieces(compiler, pieces, workers, tell)
    for update in updates:
        update.join([piece for piece in compiled if piece.piece.api == update.api.uid])
    renamed = renamed_entries(definitions.workspace, [update.refers() for update in updates])
    again = [piece for update in updates for piece in update.by_old_ids(definitions.workspace, renamed, now)]
    if again:
        compiler = PieceCompiler(root, cache.directory, definitions)
        compiled = compile_pieces(compiler, again, workers, partial(progress, "compiling"))
        for update in updates:
            update.join_again([piece for piece in compiled if piece.piece.api == update.api.uid])
    results = []
    for update in updates:
        result, update_state = update.finish()
        report(update_state.files, update.api, problems, _repeated)
        state.apis[update.api.uid] = update_state
        results.append(result)
    if definitions.whole:  # otherwise an API may be missing only until its definition is fixed
        for uid in set(state.apis) - set(by_api):
            del state.apis[uid]
    return results, state


def _files_of_apis(
    definitions: Definitions, listing: Listing, state: BuildState, problems: Problems
) -> dict[str, ApiFiles]:
    """Return the files of each API. Where the same rules hold, remembered paths are not matched again."""
    workspace = definitions.workspace
    facts = [[(api.uid, api.endpoint, api.kind) for api in workspace.apis], workspace.languages, definitions.sources]
    rules = blake2b(msgspec.msgpack.encode(facts, order="deterministic"), digest_size=16).hexdigest()
    known: dict[str, list[str]] = {}
    if state.rules == rules and all(api.uid in state.apis for api in workspace.apis):
        if state.names == listing.names and not state.odd:
            return {api.uid: ApiFiles(api.uid, listing, state.apis[api.uid].numbers) for api in workspace.apis}
        for api in workspace.apis:
            if (before := state.apis.get(api.uid)) is not None:
                for path in before.files.paths:
                    known.setdefault(path, []).append(api.uid)
        for path in state.odd:
            known.pop(path, None)
    found = Problems()
    by_api = listing.by_api([api.uid for api in workspace.apis], known, found)
    problems.merge(found)
    state.odd = sorted({problem.file for problem in found.kept})
    state.rules, state.names = rules if not found.hidden() else "", listing.names
    return by_api


class _ApiUpdate:
    """Brings one API's rows up to date: keeps those of unchanged files and adds those just compiled."""

    def __init__(
        self,
        root: Path,
        cache: BuildCache,
        definitions: Definitions,
        files: ApiFiles,
        api: Api,
        previous: ApiState | None,
        git: Mapping[str, GitRange] | None,
        started_ns: int,
    ) -> None:
        self.api, self._cache = api, cache
        self._digest = _digest(definitions, api)
        self._listed, self._dates = files, git or {}
        if previous is not None and previous.digest != self._digest:
            previous = None
        self._previous, self._numbers = previous, files.numbers
        before = previous.files if previous is not None else None
        self._root, self._state_of = root, states(root)
        self._rows = CachedRows(cache)
        self._refers: Refers | None = None
        self._remembered = [] if previous is None else [remembered(chunk) for chunk in previous.chunks]
        self._cut: dict[int, CutFile | None] = {}
        """The large files that were read, by number; ``None`` for one that could not be."""
        self._files = compare(files, git, before, started_ns, self._digest_of, self._state_of)
        self._units: dict[str, list[UnitState]] = {}
        self._kept_units = self._unchanged_units(has_git=git is not None)
        self.changed = self._sources(self._files.changed)

    def _sources(self, numbers: list[int]) -> list[tuple[int, SourceFile, GitRange | None]]:
        sources = [(number, self._listed.source(number)) for number in numbers]
        return [(number, source, self._dates.get(source.path)) for number, source in sources]

    def _digest_of(self, number: int) -> str:
        source = self._listed.source(number)
        if not is_bulk(source):
            return file_digest(self._root, source)
        cut = self._cut_of(number)
        return cut.digest if cut is not None else ""

    def _cut_of(self, number: int) -> CutFile | None:
        if number not in self._cut:
            path = self._listed.source(number).path
            before = [] if self._previous is None else self._previous.units.get(path, [])
            try:
                self._cut[number] = cut_file(self._root / path, {unit.digest: unit.lines for unit in before})
            except OSError:
                self._cut[number] = None
        return self._cut[number]

    def _unchanged_units(self, *, has_git: bool) -> dict[int, tuple[int, dict[int, int]]]:
        """Return the remembered number, and the units that are as they were, of each large file that changed."""
        found: dict[int, tuple[int, dict[int, int]]] = {}
        if self._previous is None:
            return found
        before = {path: number for number, path in enumerate(self._previous.files.paths)}
        for number in self._files.changed:
            path = self._files.paths[number]
            if path not in before or path not in self._previous.units or not is_bulk(self._listed.source(number)):
                continue
            cut = self._cut_of(number)
            if cut is not None and self._has_own_dates(before[path], has_git=has_git):
                units = self._previous.units[path]
                digests = [unit.digest if self._is_usable(unit) else None for unit in units]
                found[number] = (before[path], kept_units(cut, digests))
        return found

    def _has_own_dates(self, number: int, *, has_git: bool) -> bool:
        """Return whether no version in a file had a date from git, or would have one now."""
        ways = (GIVEN,) if has_git else (GIVEN, GUESSED, NOT_KNOWN)
        for chunk in self._remembered:
            if number in chunk.files:
                index = self._rows.index_of(chunk)
                is_of_file = chunk.files[index["source"].to_numpy()] == number
                if not np.isin(index["dated"].to_numpy()[is_of_file], ways).all():
                    return False
        return True

    def _is_usable(self, unit: UnitState) -> bool:
        findings = msgspec.msgpack.decode(unit.findings, type=Findings)
        return all(self._state_of(asset.path) == asset.state for asset in findings.assets)

    def work(self, now: int | None) -> Iterator[Piece]:
        """Return the work to compile what changed. ``now`` is as in ``Piece``."""
        yield from self._work(self.changed, now)

    def _work(self, files: list[tuple[int, SourceFile, GitRange | None]], now: int | None) -> Iterator[Piece]:
        small = []
        for file in files:
            cut = self._cut_of(file[0]) if is_bulk(file[1]) else None
            if cut is None:
                small.append(file)
                continue
            _, kept = self._kept_units.get(file[0], (0, {}))
            units = [(at, unit) for at, unit in enumerate(cut.units) if at not in kept]
            yield from pieces_of_units(self.api, file, units, now)
        yield from cut_into_pieces(self.api, small, now)

    def refers(self) -> Refers:
        """Return the rows as they are now."""
        if self._refers is None:
            firsts = self._firsts()
            self._refers = Refers(self.api, self._rows.rows(firsts), self._rows.references(firsts))
        return self._refers

    def join(self, compiled: list[CompiledPiece]) -> None:
        """Join the rows that were kept and the rows just compiled."""
        for chunk in self._remembered:
            self._rows.keep(self._moved(chunk))
        if self._previous is not None and self._previous.units:
            kept = {self._files.paths[number] for number in self._files.moved.tolist() if number >= 0}
            self._units = {path: units for path, units in self._previous.units.items() if path in kept}
        self._add(compiled)

    def _moved(self, chunk: Chunk) -> Chunk:
        """Return a chunk of the last build with the present numbers of its files and units."""
        there = chunk.files != GONE
        files = np.full(len(chunk.files), GONE, dtype=np.int32)
        files[there] = self._files.moved[chunk.files[there]]
        units = chunk.units.copy()
        for number, (before, kept) in self._kept_units.items():
            now = {old: at for at, old in kept.items()}
            for at in np.flatnonzero(chunk.files == before).tolist():
                unit = now.get(int(chunk.units[at]))
                files[at], units[at] = (GONE, 0) if unit is None else (number, unit)
        return replace_chunk(chunk, files=files, units=units)

    def by_old_ids(self, workspace: Workspace, renamed: Renamed, now: int | None) -> list[Piece]:
        """Return the work to compile the files again that refer to entries by old IDs.

        Their rows until now are forgotten. The next build compiles them again too, since it depends on other files
        what they become.
        """
        numbers = files_by_old_ids(workspace, self.refers(), renamed) if renamed else []
        if not numbers:
            return []
        self._rows.drop(numbers)
        for number in numbers:
            self._files.forget(number)
            self._units.pop(self._files.paths[number], None)
            self._kept_units.pop(number, None)
        return [replace(piece, renamed=renamed) for piece in self._work(self._sources(numbers), now)]

    def join_again(self, compiled: list[CompiledPiece]) -> None:
        """Join the rows of files compiled again."""
        for piece in compiled:
            piece.digests.clear()
            for unit in piece.units.values():
                unit.digest = b""
        self._add(compiled)

    def _add(self, compiled: list[CompiledPiece]) -> None:
        self._refers = None
        units: dict[int, dict[int, UnitState]] = {number: {} for number in self._kept_units}
        for piece in compiled:
            for number, found in piece.findings.items():
                self._files.add(number, found, 0)
            for number, digest in piece.digests.items():
                self._files.read(number, digest)
            if piece.units:
                units.setdefault(piece.piece.files[0][0], {}).update(piece.units)
            if piece.chunk is not None:
                self._rows.add(piece.chunk)
        for number, of_file in units.items():
            self._add_units(number, of_file)

    def _add_units(self, number: int, compiled: dict[int, UnitState]) -> None:
        """Note the units of a large file, those that were just compiled and those that are as they were."""
        cut, path = self._cut_of(number), self._files.paths[number]
        assert cut is not None  # it was cut to be compiled, for mypy
        _, kept = self._kept_units.pop(number, (0, {}))
        if kept and self._previous is not None:
            before = self._previous.units[path]
            compiled |= {at: before[old] for at, old in kept.items()}
        self._units[path] = [compiled[at] for at in range(len(cut.units))]
        for unit, state in zip(cut.units, self._units[path], strict=True):
            self._files.add(number, msgspec.msgpack.decode(state.findings, type=Findings), unit.first)
        if all(unit.digest == state.digest for unit, state in zip(cut.units, self._units[path], strict=True)):
            self._files.read(number, cut.digest)  # else it changed since, and is read again by the next build

    def finish(self) -> tuple[CompiledApi, ApiState]:
        """Return the rows, and the state to remember."""
        if self._rows.join_small():
            self._refers = None
        change, refers = self._change(), self.refers()
        chunks = [chunk.state() for chunk in self._rows.chunks]
        state = ApiState(self._digest, self._numbers, self._files.states(), chunks, self._units, change.now)
        paths = self._files.paths, self._rows.paths()
        return CompiledApi(self.api, refers.index, refers.references, *paths, change), state

    def _change(self) -> RowsChange:
        if self._previous is None:
            return RowsChange("", uuid4().hex, np.zeros(0, dtype=np.uint64))
        changed, before = self._rows.changed(), self._previous.version
        return RowsChange(before, uuid4().hex if len(changed) else before, changed)

    def _firsts(self) -> dict[int, np.ndarray[Any, Any]]:
        """Return the lines before each unit of large files, by the number of the file."""
        numbers = {path: number for number, path in enumerate(self._files.paths)} if self._units else {}
        return {
            numbers[path]: np.cumsum([0, *(unit.lines for unit in units)])[:-1] for path, units in self._units.items()
        }


def _digest(definitions: Definitions, api: Api) -> str:
    """Return the digest of the facts, besides its files, that an API's compiled rows depend on."""
    workspace = definitions.workspace
    facts: list[Any] = [
        LAYOUT,
        compilers(),
        api,
        definitions.sources[api.uid],
        workspace.languages,
        workspace.timezone,
        definitions.rich_text,
        _pages(definitions),
        {
            uid: ids
            for uid, ids in made_ids(definitions).items()
            if any(uid in path.field.target_uids for path in api.references)
        },
        _reached_by_path(definitions, api),
        definitions.launches,
    ]
    return blake2b(msgspec.msgpack.encode(facts, order="deterministic"), digest_size=16).hexdigest()


def _reached_by_path(definitions: Definitions, api: Api) -> list[Any]:
    """Return the facts that decide which IDs an API's references by path become."""
    by_path = definitions.sources[api.uid].by_path
    targets = sorted({field.target for field in api.fields if field.id in by_path and field.target is not None})
    return [
        (target.endpoint, definitions.sources[uid], definitions.workspace.domains)
        for uid in targets
        if (target := definitions.workspace.api_by_uid(uid)) is not None
    ]


def _pages(definitions: Definitions) -> list[Any]:
    """Return the facts that decide to which pages links lead; an empty list where no API has pages."""
    if not any(source.page_url for source in definitions.sources.values()):
        return []
    return [[(api.uid, api.endpoint, api.kind) for api in definitions.workspace.apis], definitions.sources]


def _repeated(api: Api, kind: str, what: str, count: int) -> str:
    """Return the message on findings of one kind and subject, reported once for all files of an API."""
    times = f" ({count:,} times, first here)" if count > 1 else ""
    if kind == UNKNOWN_KEY:
        hint = nearest(what, [path.name for path in api.every_field()])
        return f"key {what!r} is not a field of {api.endpoint}{times}{hint}"
    if kind == SHORTCODE:
        shown, _, name = what.partition("\n")
        return (
            f"{shown} stays in the text{times}: under 'shortcodes' in workspace.yaml, set what to do with {name!r} "
            "(leave, drop or replace)"
        )
    if kind == NO_PAGE_URL:
        return f"a link {what}{times}: it is delivered as written"
    if kind == ODD_ALIAS:
        return (
            f"{what}: what is neither an ID nor an address that begins with / means nothing here{times}: correct it, "
            f"or write 'meta: {{aliases: null}}' in the definition if {what!r} means something else"
        )
    if kind == ImageDoubt.NO_ALT:
        return f"an image has no text for those who cannot see it{times}: {what}"
    if kind == ImageDoubt.LARGE:
        return (
            f"{what} is larger than 20 MB or 50 megapixels{times}: save a smaller one. Above 50 megapixels, no other "
            "sizes of it are made"
        )
    if kind == ImageDoubt.POSITION:
        return (
            f"{what} says where it was taken, and is published with that{times}: save it without, or write "
            "'assets: {strip: true}' in workspace.yaml, which leaves this off JPEG, PNG and WebP files"
        )
    if kind == ImageDoubt.FIXED_POSITION:
        return (
            f"{what} says where it was taken, and is published with that{times}: save it without, or as JPEG, PNG or "
            "WebP, which 'assets: {strip: true}' in workspace.yaml leaves this off"
        )
    if kind == ImageDoubt.NO_SIZE:
        return (
            f"the width and height of {what} cannot be told{times}: save it again as PNG, JPEG, GIF, WebP, AVIF or SVG "
            "(an SVG needs a viewBox), or write them where it is named"
        )
    hint = ""
    if what == "<iframe>":
        hint = ": name the host under 'markdown: {iframe_hosts: […]}' in workspace.yaml to keep it"
    elif what.startswith("class "):
        hint = ": name it under 'markdown: {classes: […]}' in workspace.yaml to keep it"
    return f"{what} is not delivered{times}{hint}"
