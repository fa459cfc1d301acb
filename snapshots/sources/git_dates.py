"""Read the first and last commit date of every file from a git checkout's history (decision 23).

Dates are committer dates. A file's history begins where its present path does: renames are not followed.
A merge counts for the files that differ from both of its sides. git only reads the history: it runs no
program, fetches nothing and never prompts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

_CHUNK = 1 << 20
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
    shallow: bool = False
    """True for a shallow clone: its history is cut off, and so are first dates."""
    prefix: str = ""
    """The workspace's place in the checkout: empty, or a path that ends with a slash."""


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
    about = _ask(root, "rev-parse", "--is-shallow-repository", "--show-prefix", "HEAD^{commit}")
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
        if _ask(root, "merge-base", "--is-ancestor", cached.head, head) is None:
            cached = None
    dates = {} if cached is None else dict(cached.dates)
    if not _read_history(root, head if cached is None else f"{cached.head}..{head}", prefix, dates):
        return None
    return GitDates(head, dates, shallow == "true", prefix)


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


def _ask(root: Path, *arguments: str) -> str | None:
    """Return git's output; ``None`` when it answers no, fails, or is not installed."""
    process = _start(root, *arguments)
    if process is None:
        return None
    with process:
        said, _ = process.communicate()
    return os.fsdecode(said) if process.returncode == 0 else None


def _read_history(root: Path, commits: str, prefix: str, dates: dict[str, tuple[int, int]]) -> bool:
    """Widen ``dates`` by the commits of a range; return False when git fails.

    Without ``--full-history`` git leaves out side branches, and a range would not add up to the whole.
    """
    arguments = ("-c", "-z", "--name-status", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv")
    command = ("log", *arguments, "--no-color", "--full-history", "--format=@%ct", commits, "--", ".")
    process = _start(root, *command)
    if process is None:
        return False
    with process:
        assert process.stdout is not None  # noqa: S101 - PIPE above says so
        tokens = _tokens(process.stdout)
        inside = os.fsencode(prefix)
        when = 0
        for token in tokens:
            # git puts a line end before a commit's first file, and an empty token between commits.
            mark = token.lstrip(b"\n")
            if mark.startswith(b"@"):
                when = int(mark[1:]) * 1000
            elif mark:
                path = next(tokens, b"")
                name = os.fsdecode(path[len(inside) :])
                if path.startswith(inside) and _is_text(name):
                    first, last = dates.get(name, (when, when))
                    dates[name] = (min(first, when), max(last, when))
    return process.returncode == 0


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
