"""The inputs of a build: definitions, files and commit dates, and one signature over all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from snapshots.build.cache import LAYOUT, RACY_NS, BuildCache, CachedDefinitions
from snapshots.definitions.files import WORKSPACE_FILE, DefinitionUnreadable, definition_files, read_definition
from snapshots.definitions.model import Definitions
from snapshots.problems import Problems
from snapshots.sources import git_dates as git
from snapshots.sources.listing import Listing, list_files, report_unused

SHALLOW_CLONE: Final = "shallow-clone"
"""The kind of problem of a clone whose history is cut off."""


class Inputs(msgspec.Struct, frozen=True):
    """A workspace as a build found it."""

    root: Path
    definitions: Definitions
    listing: Listing
    """The files that may be content. Which of them are sources is decided only if an input changed."""
    head: str | None
    """The git commit checked out, where there is one."""
    started_ns: int
    """The time at which the files were listed, in ns."""
    signature: str
    """Equal for equal inputs, judged by sizes, times and inodes."""
    written: str
    """A digest over the bytes of every definition file."""
    settled: bool
    """False while some file is so fresh that it may change again without a trace in ``signature``."""


def find_inputs(
    root: Path, cache: BuildCache, program: Sequence[str], problems: Problems, public_url: str | None
) -> Inputs | None:
    """Read the definitions and list the files; ``None`` when workspace.yaml does not even say the languages.

    Definitions with errors are left out, so that the content of the others is checked in the same run (decision 53).
    ``program`` names the versions of the program and of what it compiles with, ``public_url`` is the beginning of the
    addresses of assets that the server delivers itself. Problems of the definitions and of the
    listing go to ``problems``.
    """
    started = time.time_ns()
    written = _definition_files(root)
    definition_files = f"{program}\0{written}"
    definitions = _definitions(root, cache, definition_files, problems)
    if definitions is None:
        return None
    definitions = definitions.served_at(public_url)
    with git.asking_head_commit(root) as head_commit:
        listing = list_files(root, definitions, problems)
        report_unused(root, definitions, listing, problems)
        head = head_commit()
    base = definitions.rich_text.assets_url
    seen = blake2b(f"{LAYOUT}\0{definition_files}\0{base}\0{root}\0{head}\0".encode(), digest_size=16)
    seen.update(listing.digest())
    settled = listing.newest() < started - RACY_NS
    commit = None if head is None else head.commit
    return Inputs(root, definitions, listing, commit, started, seen.hexdigest(), written, settled)


def commit_dates(
    inputs: Inputs, cached: git.GitDates | None, problems: Problems
) -> tuple[git.GitDates | None, Mapping[str, tuple[int, int]] | None]:
    """Return the commit dates to remember, and those to use; both ``None`` where git tells nothing."""
    if inputs.head is None:
        return None, None
    found = git.git_dates(inputs.root, cached)
    if found is None:
        return None, None
    if found.shallow:
        problems.warning(
            "workspace.yaml",
            1,
            SHALLOW_CLONE,
            "this git clone is shallow, so files have the date of its oldest commit instead of earlier ones; fetch the "
            "whole history (git fetch --unshallow; in CI fetch-depth: 0 or GIT_DEPTH: 0)",
        )
    return found, found.dates


def _definitions(root: Path, cache: BuildCache, signature: str, problems: Problems) -> Definitions | None:
    cached = cache.load_definitions(signature)
    if cached is not None:
        for problem in cached.problems:
            problems.add(problem)
        return cached.definitions
    from snapshots.definitions.workspace import load_workspace  # noqa: PLC0415 - spares Pydantic (0.1 s) where nothing changed

    found = Problems()
    definitions = load_workspace(root, found, salvage=True)
    problems.merge(found)
    if definitions is not None and definitions.whole:
        cache.save_definitions(CachedDefinitions(LAYOUT, signature, definitions, found.kept))
    return definitions


def _definition_files(root: Path) -> str:
    """Return a digest over the bytes of every definition file."""
    digest = blake2b(digest_size=16)
    files = [WORKSPACE_FILE]
    with suppress(DefinitionUnreadable):  # reported when the definitions are read
        files += definition_files(root)
    for file in files:
        try:
            data = read_definition(root, file)
        except DefinitionUnreadable as error:
            data = error.reason.encode()
        digest.update(f"{file}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
