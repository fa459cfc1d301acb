"""Divide source files into pieces of work for one process or several, and compile each into chunks of rows."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
from blake3 import blake3

from snapshots.aliases.reading import Renamed
from snapshots.build.cache import AT_WORK, DEADLY, BuildCache, Findings
from snapshots.build.chunks import REFERENCES, chunk_columns, references_of, write_chunk
from snapshots.build.workers import BuildWorkers, WorkerDied
from snapshots.compile.assets import Assets
from snapshots.compile.entries import ApiCompiler, Repeated
from snapshots.compile.entry_ids import id_maker
from snapshots.compile.links import Links
from snapshots.compile.richtext import RichText
from snapshots.definitions.model import Definitions
from snapshots.documents.document import Format
from snapshots.documents.read import read_documents
from snapshots.model import Api
from snapshots.problems import ParquetryError, Problems
from snapshots.sources.listing import SourceFile
from snapshots.sources.site_paths import SitePaths

PIECE_BYTES = 32 << 20
"""Source bytes of one piece of work: a larger JSONL file is cut into ranges of about this size."""
PIECE_FILES = 1024
POOL_BYTES = 4 << 20
POOL_FILES = 600
"""From ``POOL_BYTES`` or this many files on, starting processes costs less than it saves."""

MOST_DEADLY = 20
"""Files at which processes may die before that is taken for a fault of the machine."""

GitRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work: some files of one API, or a byte range of a JSONL file that ends at a line's end."""

    api: str
    files: tuple[tuple[int, SourceFile, GitRange | None], ...]
    """(file number, file, first and last commit)."""
    start: int = 0
    end: int | None = None
    """The byte range of the only file; ``None`` means whole files."""
    uncommitted_at: int | None = None
    """The present, UTC milliseconds, at which a file without commits is new; ``None`` where there is no checkout."""
    renamed: Renamed = field(default_factory=dict)
    """The entries that old IDs lead to."""


@dataclass(slots=True)
class CompiledPiece:
    """The outcome of a piece of work."""

    piece: Piece
    chunk: tuple[str, pa.Table] | None
    """Name and index of the chunk; ``None`` when there is no row."""
    references: pa.Table
    findings: dict[int, Findings]
    digests: dict[int, str]
    """Content digest of each file, or of the byte range."""
    lines: int
    """Line ends in the byte range, by which the next range's line numbers are moved."""


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


def joined_digest(parts: list[str]) -> str:
    """Return a file's digest, made of the digests of its ranges; a file read whole has one range."""
    return parts[0] if len(parts) == 1 else content_digest("".join(parts).encode())


def file_digest(root: Path, source: SourceFile) -> str:
    """Return the digest of a file as it is now, ``""`` when it cannot be read."""
    path = root / source.path
    try:
        ranges = list(_ranges(path, source))
        with path.open("rb") as file:
            return joined_digest([content_digest(file.read(end - start)) for start, end in ranges])
    except OSError:
        return ""


def cut_into_pieces(
    root: Path, api: Api, files: list[tuple[int, SourceFile, GitRange | None]], uncommitted_at: int | None
) -> Iterator[Piece]:
    """Group small files together and cut bulk files at line ends; ``uncommitted_at`` is as in ``Piece``."""
    batch: list[tuple[int, SourceFile, GitRange | None]] = []
    size = 0
    for item in files:
        source = item[1]
        if _is_bulk(source):
            for start, end in _ranges(root / source.path, source):
                yield Piece(api.uid, (item,), start, end, uncommitted_at)
            continue
        batch.append(item)
        size += source.size
        if len(batch) >= PIECE_FILES or size >= PIECE_BYTES:
            yield Piece(api.uid, tuple(batch), uncommitted_at=uncommitted_at)
            batch, size = [], 0
    if batch:
        yield Piece(api.uid, tuple(batch), uncommitted_at=uncommitted_at)


def _is_bulk(source: SourceFile) -> bool:
    return source.format is Format.JSONL and source.size > PIECE_BYTES


def _ranges(path: Path, source: SourceFile) -> Iterator[tuple[int, int]]:
    """Return the byte ranges in which a file is compiled: all of it, or parts of a bulk file that end with a line."""
    if not _is_bulk(source):
        yield 0, source.size
        return
    with path.open("rb") as file:
        start = 0
        while start < source.size:
            file.seek(min(source.size, start + PIECE_BYTES))
            file.readline()
            end = max(file.tell(), start + 1)
            yield start, end
            start = end


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
        findings: dict[int, Findings] = {}
        digests: dict[int, str] = {}
        lines = 0
        for number, source, git in piece.files:
            problems, repeated = Problems(), Repeated()
            data = self._read(source, piece, problems)
            if data is not None:
                digests[number] = content_digest(data)
                if piece.end is not None:
                    lines = data.count(b"\n")
                documents = read_documents(
                    source.path,
                    source.format,
                    data,
                    problems,
                    api_source.collection,
                    is_translation=source.lang not in (None, workspace.main_language),
                )
                compiler.compile(source, number, documents, problems, repeated, git, piece.uncommitted_at)
            findings[number] = Findings(
                problems.kept, problems.counts, repeated.counts, list(self._assets.used.values())
            )
            self._assets.used.clear()
        rows = compiler.rows()
        chunk = None
        if rows.lang:
            name = BuildCache.new_name("rows")
            chunk = (name, write_chunk(rows, chunk_columns(workspace, api), self.cache / name))
        return CompiledPiece(piece, chunk, references_of(rows), findings, digests, lines)

    def _read(self, source: SourceFile, piece: Piece, problems: Problems) -> bytes | None:
        try:
            with open(f"{self._root}/{source.path}", "rb") as file:  # noqa: PTH123 - a Path costs as much as the file
                if piece.end is None:
                    return file.read()
                file.seek(piece.start)
                return file.read(piece.end - piece.start)
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


def compile_pieces(
    compiler: PieceCompiler, pieces: list[Piece], workers: BuildWorkers, progress: Callable[[int, int], None]
) -> list[CompiledPiece]:
    """Compile all pieces, on every core where that pays; return the outcomes in the order of ``pieces``.

    A file at which a process dies has no rows, and a problem. Where it is this process, the next build says so, since
    it then finds the note that this one left. ``progress`` is called with (bytes done, bytes in all).
    Raises ``WorkerDied`` where processes die at more than ``MOST_DEADLY`` files.
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

    ``note`` is a file that is there afterwards where a process died.
    """
    results, done, total = list[CompiledPiece](), 0, sum(map(_size, pieces))
    deadly = list[Piece]()
    waiting = pieces[::-1]
    while waiting:
        piece = waiting.pop()
        try:
            results += workers.run(_compile_in_worker, [piece], _size, lambda _done, _total: None)
        except WorkerDied:
            half = len(piece.files) // 2
            if half:
                waiting += [replace(piece, files=piece.files[half:]), replace(piece, files=piece.files[:half])]
                continue
            deadly.append(piece)
            if len(deadly) > MOST_DEADLY:
                raise
            results.append(_without_rows(piece))
        done += _size(piece)
        progress(done, total)
    for piece in deadly:  # without a digest of any of its ranges, a file is read again by the next build
        for one in results:
            if one.piece.api == piece.api:
                one.digests.pop(piece.files[0][0], None)
    if deadly:
        note.touch()
    else:
        note.unlink(missing_ok=True)
    return results


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
    return CompiledPiece(
        piece, None, REFERENCES.empty_table(), {number: Findings(problems.kept, problems.counts)}, {}, 0
    )


def _size(piece: Piece) -> int:
    if piece.end is not None:
        return piece.end - piece.start
    return sum(source.size for _, source, _ in piece.files)
