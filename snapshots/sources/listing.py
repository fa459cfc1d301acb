"""List the source files of a workspace's APIs, with the facts in their paths (workspace-format, "Sources").

Two steps: a *listing* of every file that may be content, with size, change time and inode, which is enough to
recognise an unchanged workspace; and the facts in the paths, by the rules of rules.py.

Points that the format page leaves open: ``.draft`` before the extension marks unpublished changes
under a ``source`` pattern too, which is matched as if the mark were not there; names that begin with a dot
and the definitions themselves are never content; links to directories are not followed.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from snapshots.definitions.files import wrong_link
from snapshots.definitions.model import Definitions
from snapshots.definitions.names import nearest
from snapshots.definitions.patterns import Pattern
from snapshots.documents.document import FORMATS, Format, format_of
from snapshots.problems import Problems
from snapshots.sources.rules import Name, SourceRule, SourceRules, rules_of
from snapshots.sources.strays import OF_REPOSITORIES, STRAYS, Stray, names_of_content, stray

if TYPE_CHECKING:
    import numpy as np

MAX_FILE_BYTES = 64 * 1024 * 1024
"""The most bytes of a file that is parsed as a whole; JSONL is read line by line and may have any number."""

_DRAFT = ".draft"
_LOOKED_AT = 10_000
"""In a folder that no API reads, content is searched for among this many files and folders at most."""
_CONTENT_FOLDER = "content/"
_USUAL = frozenset({"md", "yaml", "yml", "json", "jsonl", "toml"})
_NEAR: Final = {
    "markdown": "md",
    "mdx": "md",
    "mdown": "md",
    "mdwn": "md",
    "mkd": "md",
    "mkdn": "md",
    "ymal": "yaml",
    "jsonlines": "jsonl",
    "ndjson": "jsonl",
}
"""The usual extension of files with the same format, by an extension in lower case."""
_UINT64 = 0xFFFF_FFFF_FFFF_FFFF


class SourceFile(NamedTuple):
    """A file as the source of one API's versions; a file that feeds several APIs appears once for each."""

    path: str
    """Relative to the workspace, with forward slashes."""
    api: str
    """The API's ``uid``."""
    format: Format
    size: int
    """Bytes."""
    mtime_ns: int
    inode: int
    lang: str | None
    """The language its path gives, as the workspace spells it."""
    id: str | None
    """The ID its path gives, unchecked; ``None`` for files that hold many versions by their nature."""
    draft: bool
    """True for the unpublished changes of a version (``.draft`` before the extension)."""
    parts: dict[str, str]
    """The pattern's named parts but ``lang``."""
    name: str
    """The file's stem without language and ``.draft`` (decision 41)."""


Listed = tuple[str, int, int, int]
"""Path, size in bytes, change time in ns and inode of a file that can be read, as ``SourceFile`` has them."""
_Reached = list[tuple[SourceRules, list[SourceRule]]]
_State = list[tuple[SourceRule, frozenset[int]]]


class Unused(NamedTuple):
    """A pattern that matches no file."""

    api: str
    """The API's ``uid``."""
    key: str
    """``source`` or ``exclude``."""
    number: int
    """The pattern's position under ``key``."""
    text: str


class Listing(msgspec.Struct):
    """The files that may be content, by path, and the rules to read their paths."""

    files: list[Listed]
    languages: tuple[str, ...]
    reached: dict[str, _Reached] = msgspec.field(default_factory=dict)
    """By directory, the APIs and the rules of each that files directly in the directory can match."""
    stats: bytes = b""
    """Sizes, change times and inodes, one after the other, as uint64."""
    names: bytes = b""
    """A digest over the paths."""
    unused: list[Unused] = msgspec.field(default_factory=list)
    """Patterns of the definitions that match no file."""
    strays: list[Stray] = msgspec.field(default_factory=list)
    _columns: tuple[Any, ...] = ((), (), (), ())

    def finished(self) -> Listing:
        """Complete the listing once all files are added; return it."""
        self.files.sort()
        self._columns = tuple(zip(*self.files, strict=True)) if self.files else ((), (), (), ())
        self.stats = b"".join(map(_as_uint64, self._columns[1:]))
        self.names = blake2b("\0".join(self._columns[0]).encode(), digest_size=16).digest()
        return self

    def digest(self) -> bytes:
        """Return 16 bytes, equal for equal listings."""
        return blake2b(self.names + self.stats, digest_size=16).digest()

    def newest(self) -> int:
        """Return the latest change time of any file, in ns; 0 without files."""
        return max(self._columns[2], default=0)

    def sources(self, problems: Problems) -> list[SourceFile]:
        """Return the files of all APIs, by path, then in the APIs' order; report languages the workspace lacks."""
        return [source for listed in self.files for source in self._sources(listed, problems)]

    def by_api(self, apis: Iterable[str], known: Mapping[str, list[str]], problems: Problems) -> dict[str, ApiFiles]:
        """Return the files of each API, by ``uid``.

        ``known`` maps paths without problems to their APIs, so that those need not be matched with patterns again.
        """
        numbers: dict[str, list[int]] = {uid: [] for uid in apis}
        for number, (path, _, _, _) in enumerate(self.files):
            feeds = known.get(path)
            if feeds is None:
                feeds = [uid for uid, _, _ in self.read(path, problems)]
            for uid in feeds:
                numbers[uid].append(number)
        return {uid: ApiFiles(uid, self, array("I", mine).tobytes()) for uid, mine in numbers.items()}

    def _sources(self, listed: Listed, problems: Problems) -> list[SourceFile]:
        path, size, changed, inode = listed
        kind = _format(path)
        return [
            SourceFile(path, uid, kind, size, changed, inode, lang, entry_id, draft, parts, name)
            for uid, (lang, entry_id, parts, name), draft in self.read(path, problems)
        ]

    def source(self, number: int, uid: str) -> SourceFile:
        """Return a listed file as a source of an API."""
        return next(source for source in self._sources(self.files[number], Problems()) if source.api == uid)

    def read(self, path: str, problems: Problems) -> list[tuple[str, Name, bool]]:
        """Return (API, the facts in the path, whether it is a draft) for every API that a file is a source of."""
        stem, _, extension = path.rpartition(".")
        draft = stem.endswith(_DRAFT)
        undrafted = f"{stem.removesuffix(_DRAFT)}.{extension}" if draft else path
        kind = FORMATS.get(extension) or _format(path)
        found: list[tuple[str, Name, bool]] = []
        directory = path[: path.rfind("/") + 1]
        for rules, mine in self.reached[directory]:
            if rules.excludes and rules.leaves_out(path):
                continue
            for rule in mine:
                said = rule.read(undrafted, kind)
                if said is not None:
                    found.append((rules.api.uid, said, draft))
                    break
            else:
                if rules.unknown:
                    self._check_language(path, undrafted, rules.unknown, problems)
        return found

    def _check_language(self, path: str, undrafted: str, patterns: tuple[Pattern, ...], problems: Problems) -> None:
        """Report a path that matches a pattern but for its language, which the workspace lacks."""
        for pattern in patterns:
            parts = pattern.parts(undrafted)
            if parts is not None:
                message = (
                    f"the path says language {parts['lang']!r}, but the workspace has "
                    f"{', '.join(self.languages)}: add it to 'languages' or 'lang_map', or narrow the pattern"
                )
                problems.error(_shown(path), 1, "unknown-language", message, in_version=True)
                return


def _format(path: str) -> Format:
    """Return the format of a file that may be content."""
    kind = format_of(path.rpartition(".")[2])
    assert kind is not None  # no other files are listed
    return kind


def _as_uint64(numbers: tuple[int, ...]) -> bytes:
    try:
        return array("Q", numbers).tobytes()
    except OverflowError:  # times before 1970
        return array("Q", [number & _UINT64 for number in numbers]).tobytes()


class ApiFiles(msgspec.Struct, frozen=True):
    """The files that are sources of one API, by path."""

    api: str
    """The API's ``uid``."""
    listing: Listing
    numbers: bytes
    """Their positions in the listing, as uint32."""

    def paths(self) -> list[str]:
        files = self.listing.files
        return [files[number][0] for number in memoryview(self.numbers).cast("I")]

    def stats(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Return sizes, change times and inodes: three rows of numbers."""
        import numpy as np  # noqa: PLC0415 - recognising an unchanged workspace needs no NumPy

        return np.frombuffer(self.listing.stats, np.uint64).reshape(3, -1)[:, np.frombuffer(self.numbers, np.uint32)]

    def source(self, number: int) -> SourceFile:
        """Return one of these files by its position."""
        return self.listing.source(memoryview(self.numbers).cast("I")[number], self.api)


class Paths:
    """Reads the paths of content files, whether there are such files or not."""

    def __init__(self, definitions: Definitions) -> None:
        self._apis = rules_of(definitions)
        self._listing = Listing([], definitions.workspace.languages)

    def read(self, path: str) -> list[tuple[str, Name, bool]]:
        """Return (API, the facts in the path, whether it is a draft) for every API that a file there would feed."""
        directory = path[: path.rfind("/") + 1]
        if directory not in self._listing.reached:
            state = [(rule, rule.walk.start()) for rules in self._apis for rule in rules.rules]
            for name in directory.split("/")[:-1]:
                state = [] if name.startswith(".") else _enter(state, name)
            self._listing.reached[directory] = _apis_of_files(self._apis, state)
        return [] if _is_definition(path) else self._listing.read(path, Problems())


def scan(root: Path, definitions: Definitions, problems: Problems) -> list[SourceFile]:
    """Return the files of all APIs, sorted by path, then by the order of the APIs.

    Reported and left out: links that lead out of the workspace, to nothing or to a directory; pipes, sockets and
    devices; files above ``MAX_FILE_BYTES`` unless JSONL; names that are not UTF-8; languages in a name
    that the workspace lacks; directories that cannot be read.
    """
    return list_files(root, definitions, problems).sources(problems)


def list_files(root: Path, definitions: Definitions, problems: Problems) -> Listing:
    """Return the files that may be content. Reports all that ``scan`` does, except languages."""
    walk = _Walk(root, rules_of(definitions), definitions.workspace.languages, definitions.whole, problems)
    walk.run()
    return walk.listing.finished()


def report_unused(root: Path, definitions: Definitions, listing: Listing, problems: Problems) -> None:
    """Report the patterns that match no file, each at its line in its definition."""
    if not listing.unused:
        return
    from snapshots.definitions.current_definition import definition_document  # noqa: PLC0415 - a build with nothing to do parses nothing

    for unused in listing.unused:
        file = definitions.files[unused.api]
        document = definition_document(root, file)
        line = 1 if document is None else document.line_of(unused.key, unused.number)
        message = f"{unused.key}: no file matches {unused.text!r}: correct it or remove it"
        if unused.key == "exclude":
            message = f"exclude: {unused.text!r} matches no file: correct it or remove it"
        problems.warning(file, line, "unused-pattern", message)


class _Walk:
    """One walk over the directories that can hold content; ``listing`` fills as it goes."""

    def __init__(
        self, root: Path, apis: list[SourceRules], languages: tuple[str, ...], whole: bool, problems: Problems
    ) -> None:
        """``whole``: no API is missing for an error, so a folder that no API reads is worth a warning."""
        self.listing = Listing([], languages)
        self._root = os.path.realpath(root)
        self._apis, self._whole, self._problems = apis, whole, problems
        self._unused_rules = {
            (rules.api.uid, rule.number) for rules in apis for rule in rules.rules if rule.number is not None
        }
        self._unused_excludes = {(rules.api.uid, pattern.text) for rules in apis for pattern in rules.excludes}

    def run(self) -> None:
        every = [(rule, rule.walk.start()) for rules in self._apis for rule in rules.rules]
        waiting: list[tuple[str, _State]] = [("", every)]
        while waiting:
            directory, state = waiting.pop()
            try:
                # With a descriptor, statuses of files are looked up in the directory, not along the whole path.
                opened = os.open(f"{self._root}/{directory}", os.O_RDONLY)
                try:
                    with os.scandir(opened) as entries:
                        waiting += self._directory(directory, entries, state)
                finally:
                    os.close(opened)
            except OSError as error:
                shown = directory.rstrip("/") or "."
                self._problems.error(shown, 1, "unreadable", f"the directory cannot be read: {error.strerror}")
        self.listing.unused = list(self._unused())

    def _unused(self) -> Iterator[Unused]:
        for rules in self._apis:
            for rule in rules.rules:
                if rule.number is not None and (rules.api.uid, rule.number) in self._unused_rules:
                    self._unused_rules.discard((rules.api.uid, rule.number))
                    yield Unused(rules.api.uid, "source", rule.number, rules.source[rule.number])
            for number, pattern in enumerate(rules.excludes):
                if (rules.api.uid, pattern.text) in self._unused_excludes:
                    yield Unused(rules.api.uid, "exclude", number, pattern.text)

    def _note_use(self, path: str, apis: _Reached) -> None:
        """Note which patterns match a file."""
        stem, _, extension = path.rpartition(".")
        undrafted, kind = f"{stem.removesuffix(_DRAFT)}.{extension}", _format(path)
        for rules, mine in apis:
            uid = rules.api.uid
            left_out = [pattern.text for pattern in rules.excludes if pattern.whole.fullmatch(path)]
            self._unused_excludes.difference_update((uid, text) for text in left_out)
            for rule in () if left_out else mine:
                if (uid, rule.number) in self._unused_rules and rule.read(undrafted, kind) is not None:
                    self._unused_rules.discard((uid, rule.number))

    def _directory(
        self, directory: str, entries: Iterable[os.DirEntry[str]], state: _State
    ) -> list[tuple[str, _State]]:
        """Add a directory's files; return the directories in it that can hold more, with their states."""
        below: list[tuple[str, _State]] = []
        apis = self.listing.reached[directory] = _apis_of_files(self._apis, state)
        definitions = directory in ("", "apis/")
        add = self.listing.files.append
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            path = directory + name
            _, dot, extension = name.rpartition(".")
            content = dot and (extension in FORMATS or extension.lower() in FORMATS)
            if apis and dot and extension not in _USUAL and (content or extension.lower() in _NEAR):
                self._near_miss(path, extension)
            if apis and dot and directory and extension.lower() in STRAYS and entry.is_file(follow_symlinks=False):
                self._stray(path)
            if content and entry.is_file(follow_symlinks=False):
                if not apis or (definitions and _is_definition(path)):
                    continue
                if directory == _CONTENT_FOLDER and self._whole:
                    self._unread_file(path)
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    status = None
                usable = status is not None and (status.st_size <= MAX_FILE_BYTES or extension == "jsonl")
                if status is not None and usable and (path.isascii() or _is_utf8(path)):
                    add((path, status.st_size, status.st_mtime_ns, status.st_ino))
                    if self._unused_rules or self._unused_excludes:
                        self._note_use(path, apis)
                else:
                    self._unusual(path, extension, entry)
            elif entry.is_dir(follow_symlinks=False):
                inside = self._not_excluded(_enter(state, name), path)
                if inside and self._is_text(path):
                    below.append((path + "/", inside))
                elif not inside and self._whole and (path + "/").startswith(_CONTENT_FOLDER):
                    self._unread_folder(path)
            elif content:
                if apis and not (definitions and _is_definition(path)):
                    self._unusual(path, extension, entry)
            elif entry.is_symlink() and entry.is_dir() and _enter(state, name) and self._leads_to_content(path):
                message = "a link to a directory is not followed: name the directory itself in 'source'"
                self._problems.warning(path, 1, "link", message)
        return below

    def _not_excluded(self, state: _State, path: str) -> _State:
        """Return the state in a directory without the APIs that leave out all of it."""
        for rules in self._apis:
            left_out = rules.patterns_over(path) if rules.excludes else []
            if left_out:
                self._unused_excludes.difference_update((rules.api.uid, text) for text in left_out)
                state = [(rule, reached) for rule, reached in state if rule.api is not rules.api]
        return state

    def _unread_folder(self, path: str) -> None:
        """Warn of a directory with content that no API reads, unless an API excludes it."""
        if any(rules.patterns_over(path) for rules in self._apis) or not self._holds_content(path):
            return
        hint = nearest(path.rpartition("/")[2], [rules.api.endpoint for rules in self._apis])
        message = f"no API reads this folder: name it in a 'source', or leave it out with an 'exclude'{hint}"
        self._problems.warning(_shown(path), 1, "unread-folder", message)

    def _holds_content(self, path: str) -> bool:
        """Return whether a directory that no API reads has a file that could be content, among the first thousands."""
        seen = 0
        for _, directories, files in os.walk(f"{self._root}/{path}"):
            directories[:] = [name for name in directories if not name.startswith(".")]
            if any(format_of(name.rpartition(".")[2]) for name in files if "." in name.lstrip(".")):
                return True
            seen += len(files) + len(directories)
            if seen > _LOOKED_AT:
                break
        return False

    def _unread_file(self, path: str) -> None:
        """Warn of a file directly in the folder of the content that no API reads."""
        name = path.removeprefix(_CONTENT_FOLDER).rpartition(".")[0]
        if name.startswith("_") or name.upper() in OF_REPOSITORIES or self.listing.read(path, Problems()):
            return
        if any(rules.leaves_out(path) for rules in self._apis):
            return
        from snapshots.sources.unknown_languages import unknown_language, what_to_do  # noqa: PLC0415 - for this only

        endpoints = [rules.api.endpoint for rules in self._apis]
        unknown = unknown_language(name, self.listing.languages, {})
        if unknown is not None and name.removesuffix(f".{unknown}") in endpoints:
            message = f"is not read: its name says language {unknown!r}, and "
            message += what_to_do(unknown, self.listing.languages)
        else:
            message = (
                "no API reads this file: move it into the folder of an API, or leave it out with an 'exclude'"
                f"{nearest(name, endpoints)}"
            )
        self._problems.warning(_shown(path), 1, "unread-file", message)

    def _stray(self, path: str) -> None:
        """Note a file that an API would read if it were content."""
        quiet = Problems()
        if not any(self.listing.read(one, quiet) for one in names_of_content(path)) or not _is_utf8(path):
            return
        left_out = False
        for rules in self._apis:
            matching = [pattern.text for pattern in rules.excludes if pattern.whole.fullmatch(path)]
            self._unused_excludes.difference_update((rules.api.uid, text) for text in matching)
            left_out = left_out or bool(matching)
        if not left_out:
            self.listing.strays.append(stray(path))

    def _near_miss(self, path: str, extension: str) -> None:
        """Warn of a file that an API would read if its extension were spelled as usual."""
        lower = extension.lower()
        usual = _NEAR.get(lower, lower)
        quiet = Problems()
        if any(rules.leaves_out(path) for rules in self._apis):
            return
        if format_of(extension) is not None and self.listing.read(path, quiet):
            return
        renamed = path.removesuffix(extension) + usual
        if extension != usual and self.listing.read(renamed, quiet):
            message = f"is not read: name it {renamed.rpartition('/')[2]}"
            if format_of(extension) is not None:
                message += f", or add a 'source' that ends with .{extension}"
            self._problems.warning(_shown(path), 1, "near-miss", message)

    def _unusual(self, path: str, extension: str, entry: os.DirEntry[str]) -> None:
        """Add a file that needs a closer check, or report why it cannot be used, if it would be content."""
        quiet = Problems()
        if not self.listing.read(path, quiet):
            self._problems.merge(quiet)
            return
        status = self._status(path, extension, entry) if self._is_text(path) else None
        if status is None:
            self._problems.merge(quiet)
        else:
            self.listing.files.append((path, status.st_size, status.st_mtime_ns, status.st_ino))

    def _status(self, path: str, extension: str, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Return the status of a file that can be read as content; ``None``, and a problem, for anything else."""
        if entry.is_symlink() and not self._leads_to_content(path):
            return None
        try:
            status = entry.stat()
        except OSError as error:
            self._problems.error(path, 1, "unreadable", f"cannot be read: {error.strerror}", in_version=True)
            return None
        if not stat.S_ISREG(status.st_mode):
            message = f"is {_kind_of(status.st_mode)}, not a file: remove it, or leave it out of the API's sources"
            self._problems.error(path, 1, "no-file", message)
            return None
        if status.st_size > MAX_FILE_BYTES and extension != "jsonl":
            message = (
                f"has {status.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read: "
                "divide it, or write it as JSONL, one language version per line"
            )
            self._problems.error(path, 1, "too-large", message, in_version=True)
            return None
        return status

    def _is_text(self, path: str) -> bool:
        """Return whether a name is UTF-8; other names can stand in no problem and no snapshot, and are reported."""
        if not _is_utf8(path):
            self._problems.error(_shown(path), 1, "encoding", "the name is not valid UTF-8: rename it")
            return False
        return True

    def _leads_to_content(self, path: str) -> bool:
        """Return whether a link ends at a file that may be content; report the reason if not."""
        message = wrong_link(self._root, path)
        if message is not None:
            self._problems.error(path, 1, "link", message)
        return message is None


def _apis_of_files(apis: list[SourceRules], state: _State) -> _Reached:
    """Return the APIs that files directly in a directory of this state can belong to."""
    found: _Reached = []
    for rules in apis:
        mine = [rule for rule, reached in state if rule.api is rules.api and rule.walk.takes_files(reached)]
        if mine:
            found.append((rules, mine))
    return found


def _enter(state: _State, directory: str) -> _State:
    return [(rule, inside) for rule, reached in state if (inside := rule.walk.enter(reached, directory))]


def _is_definition(path: str) -> bool:
    if path == "workspace.yaml":
        return True
    return path.startswith("apis/") and path.endswith((".yaml", ".yml")) and path.count("/") == 1


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    """Return a path as text, with bytes that are not UTF-8 as escapes."""
    return path if path.isascii() else os.fsencode(path).decode(errors="backslashreplace")


def _kind_of(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
