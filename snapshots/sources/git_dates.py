"""Read the first and last commit date of every file from a git checkout's history (decision 23).

Dates are committer dates. A file's history begins where its present path does: renames are not followed.
A merge counts for the files that differ from both of its sides. git only reads the history: it runs no
program, fetches nothing and never prompts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

_CHUNK = 1 << 20
_AT_ONCE = 1000
"""Paths in one command line."""
_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "log.showRoot=true", "log.mailmap=false")
# A hook runs with these set to the repository it belongs to, which need not be the workspace's.
_NOT_INHERITED = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
    "GIT_NAMESPACE",
)


class GitDates(msgspec.Struct, frozen=True):
    """The first and last commit dates of files, as of one commit."""

    head: str
    """The commit's full hash."""
    dates: dict[str, tuple[int, int]]
    """The first and last committer date (UTC milliseconds) of each file, deleted ones included, by the path relative to
    the workspace."""
    contents: dict[str, int]
    """The last committer date of each file at which its contents changed: neither deleted nor only renamed."""
    renamed: dict[str, tuple[int, str]]
    """The date at which a file got its present path without a change of its contents, and the path before."""
    shallow: bool = False
    """True for a shallow clone: its history is cut off, and so are first dates."""
    prefix: str = ""
    """The workspace's place in the checkout: empty, or a path that ends with a slash."""

    def changed_at(self, path: str) -> int | None:
        """Return when a file's contents were last changed, UTC milliseconds, under whatever path; ``None`` for a file
        that no commit has."""
        found = self.contents.get(path)
        bound, seen = None, {path}
        while (before := self.renamed.get(path)) is not None:
            at, path = before
            bound = at if bound is None else min(bound, at)
            known = self.contents.get(path)
            if known is not None:  # what came to the old path after the renaming is another file
                found = min(known, bound) if found is None else max(found, min(known, bound))
            if path in seen:
                break
            seen.add(path)
        return found


class Head(msgspec.Struct, frozen=True):
    """The commit that is checked out."""

    commit: str
    """Its full hash."""
    shallow: bool
    """Whether the clone is shallow."""


def head_commit(root: Path) -> str | None:
    """Return the full hash of the commit checked out at ``root``; ``None`` without git or a commit."""
    with asking_head_commit(root) as answer:
        head = answer()
        return None if head is None else head.commit


@contextmanager
def asking_head_commit(root: Path) -> Iterator[Callable[[], Head | None]]:
    """Start git to find the commit checked out at ``root`` while the block runs. The block is given a function that
    returns it; ``None`` without git or a commit."""
    process = _start(root, "rev-parse", "--is-shallow-repository", "HEAD^{commit}")
    if process is None:
        yield lambda: None
        return

    def answer() -> Head | None:
        said, _ = process.communicate()
        if process.returncode:
            return None
        shallow, commit = os.fsdecode(said).split()
        return Head(commit, shallow == "true")

    with process:
        yield answer


def git_dates(root: Path, cached: GitDates | None) -> GitDates | None:
    """Return the dates of all files below ``root``; ``None`` without git or a commit.

    ``cached`` are the dates of an earlier commit: where the present one descends from it, only the
    history between the two is read, with the same result.
    """
    about = git_answer(root, "rev-parse", "--is-shallow-repository", "--show-prefix", "HEAD^{commit}")
    if about is None:
        return None
    shallow, rest = about.split("\n", 1)
    prefix, head = rest.removesuffix("\n").rsplit("\n", 1)
    if not _is_text(prefix):
        return None
    if cached is not None and (cached.prefix != prefix or cached.shallow != (shallow == "true")):
        cached = None
    if cached is not None:
        if cached.head == head:
            return cached
        if git_answer(root, "merge-base", "--is-ancestor", cached.head, head) is None:
            cached = None
    found = GitDates(head, {}, {}, {}, shallow == "true", prefix)
    if cached is not None:
        found = GitDates(
            head, dict(cached.dates), dict(cached.contents), dict(cached.renamed), shallow == "true", prefix
        )
    if not _read_history(root, head if cached is None else f"{cached.head}..{head}", found):
        return None
    return found


class Uncommitted(msgspec.Struct, frozen=True):
    """The differences of the files from the commit that is checked out."""

    changed: frozenset[str]
    """The paths of files that differ, relative to the workspace."""
    renamed: dict[str, str]
    """The committed path of each file that was only renamed."""


def uncommitted(root: Path, unknown: Sequence[str] = ()) -> Uncommitted:
    """Return the files below ``root`` that differ from the commit checked out. Files that git does not know are not
    among them; without git or a commit, none are.

    ``unknown`` are such files: one that has the contents of a file that is gone was renamed from it.
    """
    arguments = ("-z", "--raw", "--no-abbrev", "-M100%", "--relative", "--no-ext-diff", "--no-textconv", "--no-color")
    said = git_answer(root, "diff", *arguments, "HEAD", "--", ".")
    changed, renamed, gone = set[str](), dict[str, str](), dict[str, str]()
    tokens = iter([] if said is None else said.split("\0"))
    for about in tokens:
        if not about:
            break
        _, _, contents, _, status = about.split(" ")
        path = next(tokens, "")
        if status.startswith("R"):
            renamed[next(tokens, "")] = path
        elif status == "D":
            gone[contents] = path
            changed.add(path)
        else:
            changed.add(path)
    for start in range(0, len(unknown) if gone else 0, _AT_ONCE):
        some = unknown[start : start + _AT_ONCE]
        hashed = (git_answer(root, "hash-object", "--", *some) or "").split()
        if len(hashed) == len(some):
            renamed |= {path: gone[contents] for path, contents in zip(some, hashed, strict=True) if contents in gone}
    return Uncommitted(frozenset(changed), renamed)


def git_command(root: Path, *arguments: str) -> list[str]:
    """Return a command line of git at ``root`` that only reads, whatever the checkout's settings say."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return ["git", "-C", str(root), "--no-pager", *settings, *arguments]


def git_environment() -> dict[str, str]:
    """Return the environment for ``git_command``: git speaks English, asks nobody and fetches nothing."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return inherited | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "LC_ALL": "C",
    }


def _start(root: Path, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Start git, its output to be read; ``None`` if it is not installed."""
    try:
        return subprocess.Popen(
            git_command(root, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=git_environment(),
        )
    except OSError:
        return None


def git_answer(root: Path, *arguments: str) -> str | None:
    """Return git's output; ``None`` when it answers no, fails, or is not installed."""
    process = _start(root, *arguments)
    if process is None:
        return None
    with process:
        said, _ = process.communicate()
    return os.fsdecode(said) if process.returncode == 0 else None


def _read_history(root: Path, commits: str, into: GitDates) -> bool:
    """Widen the dates in ``into`` by the commits of a range; return False when git fails.

    Without ``--full-history`` git leaves out side branches, and a range would not add up to the whole.
    """
    arguments = ("-c", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv")
    command = ("log", *arguments, "--no-color", "--full-history", "--format=@%ct", commits, "--", ".")
    process = _start(root, *command)
    if process is None:
        return False
    with process:
        assert process.stdout is not None  # PIPE above says so
        tokens = _tokens(process.stdout)
        inside = os.fsencode(into.prefix)
        when, files = 0, list[_CommittedFile]()
        for token in tokens:
            # git puts a line end before a commit's first file, and an empty token between commits.
            mark = token.lstrip(b"\n")
            if mark.startswith(b"@"):
                _add_commit(into, when, files)
                when, files = int(mark[1:]) * 1000, []
            elif mark:
                path = next(tokens, b"")
                name = os.fsdecode(path[len(inside) :])
                if path.startswith(inside) and _is_text(name):
                    files.append((name, mark))
        _add_commit(into, when, files)
    return process.returncode == 0


_CommittedFile: TypeAlias = tuple[str, bytes]
"""A path in the workspace, and what git says of the change: modes, contents before and after, and a letter."""


def _add_commit(into: GitDates, when: int, files: list[_CommittedFile]) -> None:
    """Widen the dates by those of a commit."""
    gone: dict[bytes, str] = {}
    for name, about in files:
        first, last = into.dates.get(name, (when, when))
        into.dates[name] = (min(first, when), max(last, when))
        if about.endswith(b" D"):
            gone[about.split(b" ")[2]] = name
    for name, about in files:
        if about.endswith(b" D"):
            continue
        before = gone.get(about.split(b" ")[3]) if about.endswith(b" A") else None
        if before is None:
            into.contents[name] = max(into.contents.get(name, when), when)
        else:
            into.renamed[name] = max(into.renamed.get(name, (when, before)), (when, before))


def _is_text(name: str) -> bool:
    """Return whether a name is UTF-8; other names are never content."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tokens(stream: IO[bytes]) -> Iterator[bytes]:
    """Return the tokens of a stream, which zero bytes separate."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest
