"""Divide source files into pieces of work for one process or several, and compile each into chunks of rows."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
from blake3 import blake3

from snapshots.aliases.reading import Renamed
from snapshots.build.cache import AT_WORK, DEADLY, Findings, UnitState
from snapshots.build.cached.chunks import chunk_columns
from snapshots.build.cached.rows import Chunk, write_compiled
from snapshots.build.workers import BuildWorkers, WorkerDied
from snapshots.compile.assets import Assets
from snapshots.compile.entries import ApiCompiler, Repeated
from snapshots.compile.entry_ids import id_maker
from snapshots.compile.links import Links
from snapshots.compile.richtext import RichText
from snapshots.compile.rows import CompiledRows
from snapshots.definitions.model import Definitions
from snapshots.documents.document import Format
from snapshots.documents.read import read_documents
from snapshots.documents.units import Unit, unit_digest
from snapshots.model import Api
from snapshots.problems import ParquetryError, Problems
from snapshots.sources.listing import SourceFile
from snapshots.sources.site_paths import SitePaths

PIECE_BYTES = 32 << 20
"""Source bytes of one piece of work, about."""
BULK_BYTES = 1 << 20
"""A JSONL file of more bytes than this is cut into units."""
PIECE_FILES = 1024
POOL_BYTES = 4 << 20
POOL_FILES = 600
"""From ``POOL_BYTES`` or this many files on, starting processes costs less than it saves."""

MOST_DEADLY = 20
"""Files at which processes may die before that is taken for a fault of the machine."""

GitRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work: some files of one API, or units of a large JSONL file."""

    api: str
    files: tuple[tuple[int, SourceFile, GitRange | None], ...]
    """(file number, file, first and last commit)."""
    units: tuple[tuple[int, Unit], ...] = ()
    """The units of the only file, each with its position in it; none means whole files."""
    uncommitted_at: int | None = None
    """The present, UTC milliseconds, at which a file without commits is new; ``None`` where there is no checkout."""
    renamed: Renamed = field(default_factory=dict)
    """The entries that old IDs lead to."""


@dataclass(slots=True)
class CompiledPiece:
    """The outcome of a piece of work."""

    piece: Piece
    chunk: Chunk | None
    """The rows and references; ``None`` when there are none."""
    findings: dict[int, Findings]
    digests: dict[int, str]
    """Content digest of each file."""
    units: dict[int, UnitState] = field(default_factory=dict)
    """In place of these two, for a piece of units: their states by position."""


def made_ids(definitions: Definitions) -> dict[str, dict[str, str]]:
    """Return, by ``uid``, the ``id_map`` of every API whose IDs, and so references to it, are made by a template or of
    the names that a ``source`` matches.

    An API with an error in its definition may be one of them, so references to it are not reported as wrong.
    """
    targets = {
        uid
        for api in definitions.workspace.apis
        for path in api.references
        for uid in path.field.target_uids
        if uid is not None
    }
    missing: dict[str, dict[str, str]] = {uid: {} for uid in targets if uid not in definitions.sources}
    return missing | {uid: source.id_map for uid, source in definitions.sources.items() if source.id or source.patterns}


def site_paths(definitions: Definitions) -> dict[str, SitePaths]:
    """Return, by ``uid``, the paths of every API that references lead to by path."""
    workspace = definitions.workspace
    by_path = {
        field.target
        for api in workspace.apis
        for field in api.fields
        if field.id in definitions.sources[api.uid].by_path
    }
    return {
        api.uid: SitePaths(
            api.endpoint,
            definitions.sources[api.uid],
            workspace.languages,
            workspace.domains,
            id_maker(definitions.sources[api.uid], workspace.main_language),
        )
        for api in workspace.apis
        if api.uid in by_path
    }


def content_digest(data: bytes) -> str:
    return blake3(data).hexdigest(16)


def file_digest(root: Path, source: SourceFile) -> str:
    """Return the digest of a file as it is now, ``""`` when it cannot be read."""
    try:
        return content_digest((root / source.path).read_bytes())
    except OSError:
        return ""


def is_bulk(source: SourceFile) -> bool:
    """Return whether a file is compiled in units."""
    return source.format is Format.JSONL and source.size > BULK_BYTES


def cut_into_pieces(
    api: Api, files: list[tuple[int, SourceFile, GitRange | None]], uncommitted_at: int | None
) -> Iterator[Piece]:
    """Group files together; ``uncommitted_at`` is as in ``Piece``."""
    batch: list[tuple[int, SourceFile, GitRange | None]] = []
    size = 0
    for item in files:
        batch.append(item)
        size += item[1].size
        if len(batch) >= PIECE_FILES or size >= PIECE_BYTES:
            yield Piece(api.uid, tuple(batch), uncommitted_at=uncommitted_at)
            batch, size = [], 0
    if batch:
        yield Piece(api.uid, tuple(batch), uncommitted_at=uncommitted_at)


def pieces_of_units(
    api: Api, file: tuple[int, SourceFile, GitRange | None], units: list[tuple[int, Unit]], uncommitted_at: int | None
) -> Iterator[Piece]:
    """Group units of a file together."""
    batch: list[tuple[int, Unit]] = []
    size = 0
    for at, unit in units:
        batch.append((at, unit))
        size += unit.end - unit.start
        if size >= PIECE_BYTES:
            yield Piece(api.uid, (file,), tuple(batch), uncommitted_at)
            batch, size = [], 0
    if batch:
        yield Piece(api.uid, (file,), tuple(batch), uncommitted_at)


class PieceCompiler:
    """Compiles pieces of one workspace into chunks in the build cache; lives in each process at work."""

    def __init__(self, root: Path, cache: Path, definitions: Definitions) -> None:
        self.cache = cache
        self._root, self._definitions = root, definitions
        self._zone = ZoneInfo(definitions.workspace.timezone)
        self._made_ids = made_ids(definitions)
        self._site_paths = site_paths(definitions)
        base = definitions.rich_text.assets_url
        self._assets = Assets(
            root,
            base or "",
            strip=definitions.rich_text.strips_assets,
            folders=definitions.rich_text.assets_folders,
        )
        links = Links(definitions, self._assets.named)
        self._rich_text = RichText(definitions.rich_text, links, None if base is None else self._assets)

    def compile(self, piece: Piece) -> CompiledPiece:
        """Compile one piece of work. Files that cannot be read become problems."""
        workspace = self._definitions.workspace
        api = workspace.api_by_uid(piece.api)
        if api is None:
            raise ParquetryError(f"no API with uid {piece.api}: this is a fault of the build, please report it")
        api_source = self._definitions.sources[api.uid]
        compiler = ApiCompiler(
            workspace,
            api,
            api_source,
            self._zone,
            self._made_ids,
            self._rich_text,
            self._site_paths,
            self._definitions.launches,
            piece.renamed,
        )
        self._rich_text.lead_on(piece.renamed)
        if piece.units:
            return self._compile_units(piece, api, compiler)
        findings: dict[int, Findings] = {}
        digests: dict[int, str] = {}
        for at, (number, source, git) in enumerate(piece.files):
            problems = Problems()
            data = self._read(source, problems)
            if data is not None:
                digests[number] = content_digest(data)
            findings[number] = self._compile(piece, compiler, at, source, git, data, problems)
        return CompiledPiece(piece, self._chunk(piece, api, compiler.rows()), findings, digests)

    def _compile_units(self, piece: Piece, api: Api, compiler: ApiCompiler) -> CompiledPiece:
        """Compile units of a file."""
        [(_, source, git)] = piece.files
        units: dict[int, UnitState] = {}
        for at, (position, unit) in enumerate(piece.units):
            problems = Problems()
            data = self._read(source, problems, unit)
            found = self._compile(piece, compiler, at, source, git, data, problems)
            encoded = msgspec.Raw(msgspec.msgpack.encode(found))
            # What could not be read has no digest that a unit has.
            units[position] = UnitState(unit_digest(data) if data else b"", data.count(b"\n") if data else 0, encoded)
        return CompiledPiece(piece, self._chunk(piece, api, compiler.rows()), {}, {}, units)

    def _compile(
        self,
        piece: Piece,
        compiler: ApiCompiler,
        at: int,
        source: SourceFile,
        git: GitRange | None,
        data: bytes | None,
        problems: Problems,
    ) -> Findings:
        """Compile the content of a file, or of a unit, by its position in the piece; return what was found in it."""
        repeated = Repeated()
        if data is not None:
            documents = read_documents(
                source.path,
                source.format,
                data,
                problems,
                self._definitions.sources[piece.api].collection,
                is_translation=source.lang not in (None, self._definitions.workspace.main_language),
            )
            compiler.compile(source, at, documents, problems, repeated, git, piece.uncommitted_at)
        found = Findings(problems.kept, problems.counts, repeated.counts, list(self._assets.used.values()))
        self._assets.used.clear()
        return found

    def _chunk(self, piece: Piece, api: Api, rows: CompiledRows) -> Chunk | None:
        if piece.units:
            sources = [(piece.files[0][0], position) for position, _ in piece.units]
        else:
            sources = [(number, 0) for number, _, _ in piece.files]
        return write_compiled(self.cache, rows, chunk_columns(self._definitions.workspace, api), sources)

    def _read(self, source: SourceFile, problems: Problems, unit: Unit | None = None) -> bytes | None:
        try:
            with open(f"{self._root}/{source.path}", "rb") as file:  # noqa: PTH123 - a Path costs as much as the file
                if unit is None:
                    return file.read()
                file.seek(unit.start)
                return file.read(unit.end - unit.start)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            problems.error(source.path, 1, "unreadable", f"cannot be read: {reason}", in_version=True)
            return None


_compiler: PieceCompiler | None = None


def workers(root: Path, cache: Path, definitions: Definitions) -> BuildWorkers:
    """Return the processes for a build, ready to compile pieces of the workspace and to write data files."""
    return BuildWorkers(_prepare, (root, cache, definitions))


def _prepare(root: Path, cache: Path, definitions: Definitions) -> None:
    global _compiler  # noqa: PLW0603 - a pool's processes have nowhere else to keep what all pieces share
    _compiler = PieceCompiler(root, cache, definitions)


def _compile_in_worker(piece: Piece) -> CompiledPiece:
    if _compiler is None:
        raise ParquetryError("a build process was not prepared: this is a fault of the build, please report it")
    compiled = _compiler.compile(piece)
    gc.collect()
    return compiled


def _is_ready(_: None) -> bool:
    return _compiler is not None


def compile_pieces(
    compiler: PieceCompiler, pieces: list[Piece], workers: BuildWorkers, progress: Callable[[int, int], None]
) -> list[CompiledPiece]:
    """Compile all pieces, on every core where that pays; return the outcomes in the order of ``pieces``.

    A file at which a process dies has no rows, and a problem. Where it is this process, the next build says so, since
    it then finds the note that this one left. ``progress`` is called with (bytes done, bytes in all).
    Raises ``WorkerDied`` where processes die at more than ``MOST_DEADLY`` files, or at none.
    """
    total = sum(_size(piece) for piece in pieces)
    progress(0, total)
    large = total >= POOL_BYTES or sum(len(piece.files) for piece in pieces) >= POOL_FILES
    note = compiler.cache / AT_WORK
    if workers.share(len(pieces), pays=large):
        try:
            return workers.run(_compile_in_worker, pieces, _size, progress)
        except WorkerDied:
            progress(0, total)
            return _compiled_one_by_one(pieces, workers, progress, note)
    if note.exists():  # a build died in here, and this one may
        return _compiled_one_by_one(pieces, workers, progress, note)
    note.touch()
    try:
        return _compiled_here(compiler, pieces, progress)
    finally:
        note.unlink(missing_ok=True)


def _compiled_here(
    compiler: PieceCompiler, pieces: list[Piece], progress: Callable[[int, int], None]
) -> list[CompiledPiece]:
    results, done, total = [], 0, sum(map(_size, pieces))
    for piece in pieces:
        results.append(compiler.compile(piece))
        done += _size(piece)
        progress(done, total)
    return results


def _compiled_one_by_one(
    pieces: list[Piece], workers: BuildWorkers, progress: Callable[[int, int], None], note: Path
) -> list[CompiledPiece]:
    """Compile pieces one after the other, those at which a process dies in halves, down to the file.

    ``note`` is a file that is there afterwards where a process died. Raises ``WorkerDied`` where processes die without
    work, too.
    """
    results, done, total = list[CompiledPiece](), 0, sum(map(_size, pieces))
    deadly = list[Piece]()
    waiting = pieces[::-1]
    while waiting:
        piece = waiting.pop()
        try:
            results += workers.run(_compile_in_worker, [piece], _size, lambda _done, _total: None)
        except WorkerDied:
            halves = _halves(piece)
            if halves:
                waiting += halves
                continue
            # Where processes do not even start, it is no file's fault. Those that do go on with the next piece.
            workers.run(_is_ready, [None], lambda _item: 0, lambda _done, _total: None)
            deadly.append(piece)
            if len(deadly) > MOST_DEADLY:
                raise
            results.append(_without_rows(piece))
        done += _size(piece)
        progress(done, total)
    for piece in deadly:  # without a digest, a file is read again by the next build
        for one in results:
            if one.piece.api == piece.api:
                one.digests.pop(piece.files[0][0], None)
    if deadly:
        note.touch()
    else:
        note.unlink(missing_ok=True)
    return results


def _halves(piece: Piece) -> list[Piece]:
    """Return a piece in two, the second first; none where it is one file or unit."""
    if piece.units:
        half = len(piece.units) // 2
        parts = [replace(piece, units=piece.units[half:]), replace(piece, units=piece.units[:half])]
    else:
        half = len(piece.files) // 2
        parts = [replace(piece, files=piece.files[half:]), replace(piece, files=piece.files[:half])]
    return parts if half else []


def _without_rows(piece: Piece) -> CompiledPiece:
    """Return the outcome of a file at which a process died."""
    ((number, source, _),) = piece.files
    problems = Problems()
    problems.error(
        source.path,
        1,
        DEADLY,
        "the process that compiled this file ended without a word, alone and at the second try. Either its text is "
        "one that the Markdown parser cannot take: halve the file until you find the place, and write that in "
        "another way; or it takes more memory than there is",
        in_version=True,
    )
    found = Findings(problems.kept, problems.counts)
    if piece.units:
        encoded = msgspec.Raw(msgspec.msgpack.encode(found))
        units = {at: UnitState(b"", 0, encoded) for at, _ in piece.units}
        return CompiledPiece(piece, None, {}, {}, units)
    return CompiledPiece(piece, None, {number: found}, {})


def _size(piece: Piece) -> int:
    if piece.units:
        return sum(unit.end - unit.start for _, unit in piece.units)
    return sum(source.size for _, source, _ in piece.files)
