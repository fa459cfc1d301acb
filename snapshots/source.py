"""A workspace directory → the files that hold its versions, each with what its path says (workspace-format, "Sources").

What the format page leaves open is settled so: ``.draft`` before the extension marks unpublished changes
under a ``source`` pattern too, which is matched as if the mark were not there; a file gives versions to an
API by the first pattern that matches; without ``{id}`` in it, the ID comes from ``$name``; names that begin
with a dot and the definitions themselves are never content; links to directories are not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from snapshots.definitions import ApiSource, Definitions
from snapshots.documents import Format
from snapshots.model import Api
from snapshots.patterns import Pattern, compile_pattern
from snapshots.problems import Problems

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A file that is parsed as a whole may have this many bytes; JSONL is read line by line and may have any number."""

FORMATS = {
    "md": Format.MARKDOWN,
    "yaml": Format.YAML,
    "yml": Format.YAML,
    "json": Format.JSON,
    "jsonl": Format.JSONL,
}
"""Extension → format. Files with any other extension are no content."""
_DRAFT = ".draft"


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


class _Name(NamedTuple):
    """What a path says."""

    lang: str | None
    id: str | None
    parts: dict[str, str]
    name: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern of one API, or one of its default sources."""

    api: Api
    walk: Pattern
    read: Callable[[str, str], _Name | None]
    """(path without ``.draft``, extension) → what it says, ``None`` when it is none of the API's."""


@dataclass(frozen=True, slots=True)
class _Rules:
    api: Api
    rules: tuple[_Rule, ...]
    unknown: tuple[Pattern, ...]
    """The patterns with ``{lang}`` taking any language: what only these match is in an unknown one."""


def scan(root: Path, definitions: Definitions, problems: Problems) -> list[SourceFile]:
    """The files of all APIs, sorted by path, then by the order of the APIs.

    Reported and left out: links that lead out of the workspace, to nothing or to a directory; what is no
    regular file; files above ``MAX_FILE_BYTES`` unless JSONL; names that are not UTF-8; languages in a name
    that the workspace lacks; directories that cannot be read.
    """
    languages = definitions.workspace.languages
    apis = [_rules(api, definitions.sources[api.uid], languages) for api in definitions.workspace.apis]
    walk = _Scan(root, apis, languages, problems)
    walk.run()
    walk.found.sort(key=itemgetter(0))
    return walk.found


def _rules(api: Api, source: ApiSource, languages: tuple[str, ...]) -> _Rules:
    known = {written: lang for written, lang in source.lang_map.items() if lang in languages}
    known |= {lang: known.get(lang, lang) for lang in languages}
    if not source.patterns:
        folder = compile_pattern(f"content/{api.endpoint}/**", known)
        beside = compile_pattern("content/*", known)
        return _Rules(api, (_Rule(api, folder, _in_folder(known)), _Rule(api, beside, _beside(api, known))), ())
    rules, unknown = [], []
    for text in source.patterns:
        anything = compile_pattern(text, known, others=True)
        rules.append(_Rule(api, anything, _by_pattern(compile_pattern(text, known), known)))
        if "lang" in anything.names:
            unknown.append(anything)
    return _Rules(api, tuple(rules), tuple(unknown))


def _without_language(stem: str, known: dict[str, str]) -> tuple[str, str | None]:
    """``hello.en`` → ``hello`` and the language, where it is one that is known."""
    name, dot, written = stem.rpartition(".")
    if dot and name and written in known:
        return name, known[written]
    return stem, None


def _in_folder(known: dict[str, str]) -> Callable[[str, str], _Name | None]:
    """``content/<endpoint>/**/<id>[.<lang>][.draft].<ext>``."""

    def read(path: str, extension: str) -> _Name:
        name, lang = _without_language(_stem(path), known)
        return _Name(lang, None if extension == "jsonl" else name, {}, name)

    return read


def _beside(api: Api, known: dict[str, str]) -> Callable[[str, str], _Name | None]:
    """``content/<endpoint>[.<lang>][.draft].<ext>``: many versions of a list, or an object (decision 39)."""

    def read(path: str, extension: str) -> _Name | None:
        name, lang = _without_language(_stem(path), known)
        if name != api.endpoint or (extension == "md" and api.kind == "list"):
            return None
        return _Name(lang, None, {}, name)

    return read


def _by_pattern(pattern: Pattern, known: dict[str, str]) -> Callable[[str, str], _Name | None]:
    match = pattern.whole.fullmatch

    def read(path: str, extension: str) -> _Name | None:
        found = match(path)
        if found is None:
            return None
        parts = found.groupdict()
        written = parts.pop("lang", None)
        name = _stem(path)
        if written is not None:
            name = name.removesuffix(f".{written}")
        entry_id = None if extension == "jsonl" else parts.get("id") or parts.get("name") or name
        return _Name(None if written is None else known[written], entry_id, parts, name)

    return read


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


_State = list[tuple[_Rule, frozenset[int]]]


class _Scan:
    """One walk over the directories that can hold content; ``found`` fills as it goes."""

    def __init__(self, root: Path, apis: list[_Rules], languages: tuple[str, ...], problems: Problems) -> None:
        self.found: list[SourceFile] = []
        self._root = os.path.realpath(root)
        self._apis, self._languages, self._problems = apis, languages, problems

    def run(self) -> None:
        every = [(rule, rule.walk.start()) for rules in self._apis for rule in rules.rules]
        waiting: list[tuple[str, _State]] = [("", every)]
        while waiting:
            directory, state = waiting.pop()
            try:
                with os.scandir(os.path.join(self._root, directory)) as entries:  # noqa: PTH118 - a Path each is slow
                    waiting += self._directory(directory, entries, state)
            except OSError as error:
                shown = directory.rstrip("/") or "."
                self._problems.error(shown, 1, "unreadable", f"the directory cannot be read: {error.strerror}")

    def _directory(
        self, directory: str, entries: Iterable[os.DirEntry[str]], state: _State
    ) -> list[tuple[str, _State]]:
        """Take a directory's files; returns the directories in it that can hold more, with their states."""
        below: list[tuple[str, _State]] = []
        apis = self._apis_of_files(state)
        definitions = directory in ("", "apis/")
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            path = directory + name
            if entry.is_dir(follow_symlinks=False):
                inside = _enter(state, name)
                if inside and self._is_text(path):
                    below.append((path + "/", inside))
                continue
            stem, _, extension = path.rpartition(".")
            kind = FORMATS.get(extension)
            if kind is None:
                if entry.is_symlink() and entry.is_dir() and _enter(state, name) and self._leads_to_content(path):
                    message = "a link to a directory is not followed: name the directory itself in 'source'"
                    self._problems.warning(path, 1, "link", message)
            elif apis and not (definitions and _is_definition(path)):
                self._file(path, stem, extension, kind, entry, apis)
        return below

    def _apis_of_files(self, state: _State) -> list[tuple[_Rules, list[_Rule]]]:
        """The APIs that files directly in a directory of this state can belong to."""
        found: list[tuple[_Rules, list[_Rule]]] = []
        for rules in self._apis:
            mine = [rule for rule, reached in state if rule.api is rules.api and rule.walk.takes_files(reached)]
            if mine:
                found.append((rules, mine))
        return found

    def _file(
        self,
        path: str,
        stem: str,
        extension: str,
        kind: Format,
        entry: os.DirEntry[str],
        apis: list[tuple[_Rules, list[_Rule]]],
    ) -> None:
        draft = stem.endswith(_DRAFT)
        undrafted = f"{stem.removesuffix(_DRAFT)}.{extension}" if draft else path
        found: list[tuple[str, _Name]] = []
        for rules, mine in apis:
            for rule in mine:
                said = rule.read(undrafted, extension)
                if said is not None:
                    found.append((rules.api.uid, said))
                    break
            else:
                if rules.unknown:
                    self._check_language(path, undrafted, rules.unknown)
        if not found or not self._is_text(path):
            return
        status = self._status(path, kind, entry)
        if status is None:
            return
        size, changed, inode = status.st_size, status.st_mtime_ns, status.st_ino
        for uid, (lang, entry_id, parts, name) in found:
            self.found.append(SourceFile(path, uid, kind, size, changed, inode, lang, entry_id, draft, parts, name))

    def _status(self, path: str, kind: Format, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The status of a file that can be read as content; ``None``, and a problem, for anything else."""
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
        if status.st_size > MAX_FILE_BYTES and kind is not Format.JSONL:
            message = (
                f"has {status.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read: "
                "divide it, or write it as JSONL, one version a line"
            )
            self._problems.error(path, 1, "too-large", message, in_version=True)
            return None
        return status

    def _check_language(self, path: str, undrafted: str, patterns: tuple[Pattern, ...]) -> None:
        """Report a path that would be a source if its language were one of the workspace's."""
        for pattern in patterns:
            parts = pattern.parts(undrafted)
            if parts is not None:
                message = (
                    f"the path says language {parts['lang']!r}, but the workspace has "
                    f"{', '.join(self._languages)}: add it to 'languages' or 'lang_map', or narrow the pattern"
                )
                self._problems.error(path, 1, "unknown-language", message, in_version=True)
                return

    def _is_text(self, path: str) -> bool:
        """Whether a name is UTF-8; what is not cannot be named in a problem or a snapshot."""
        if path.isascii():
            return True
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode(errors="backslashreplace")
            self._problems.error(shown, 1, "encoding", "the name is not valid UTF-8: rename it")
            return False
        return True

    def _leads_to_content(self, path: str) -> bool:
        """Whether a link ends at a file that may be content; reports why not."""
        target = os.path.realpath(os.path.join(self._root, path))  # noqa: PTH118 - as above
        inside = os.path.relpath(target, self._root)
        message = None
        if inside.startswith(".."):
            message = "is a link that leads out of the workspace: copy here what it leads to"
        elif inside.startswith(".") or "/." in inside:
            message = "is a link to a hidden file, which is never content: copy the file here"
        elif not os.path.exists(target):  # noqa: PTH110 - as above
            message = "is a link that leads nowhere: remove it"
        if message is not None:
            self._problems.error(path, 1, "link", message)
        return message is None


def _enter(state: _State, directory: str) -> _State:
    return [(rule, inside) for rule, reached in state if (inside := rule.walk.enter(reached, directory))]


def _is_definition(path: str) -> bool:
    if path == "workspace.yaml":
        return True
    return path.startswith("apis/") and path.endswith((".yaml", ".yml")) and path.count("/") == 1


def _kind_of(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
