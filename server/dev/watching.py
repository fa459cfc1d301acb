"""The changes in a workspace's directory that concern its builds: definitions and content, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from watchfiles import Change

from snapshots.definitions.model import Definitions
from snapshots.definitions.workspace import load_workspace
from snapshots.documents.document import Format, format_of
from snapshots.problems import Problems
from snapshots.sources.listing import list_files
from snapshots.sources.rules import SourceRules, rules_of

DEFINITION = "workspace.yaml"
DEFINITIONS = "apis"
_DRAFT = ".draft"


class BuildInputs:
    """The files that a build reads of a workspace, as a filter for ``watchfiles``.

    Other files change no build: redirected output, an editor's files, a checkout's, the store. Building for them would
    never end where the build itself writes one.
    """

    def __init__(self, root: Path, store: Path) -> None:
        self._root = root
        self._store = store
        self.assets: frozenset[str] = frozenset()
        """The files that texts name, relative to the workspace, there or not, by the last build."""
        self._definitions: Definitions | None = None
        self._rules: list[SourceRules] | None = None
        """``None`` as long as the definitions have never been free of errors: any content may be checked."""

    def read_definitions(self) -> None:
        """Read the definitions again. Those with errors change nothing."""
        found = load_workspace(self._root, Problems())
        if found is not None:
            self._definitions, self._rules = found, rules_of(found)

    def __call__(self, change: Change, path: str) -> bool:
        """Whether a build reads a file that changed, or may read one in a directory that changed."""
        parts = list(Path(path).relative_to(self._root).parts)
        if parts in ([DEFINITION], [DEFINITIONS]):
            return True
        if not parts or any(part.startswith(".") for part in parts) or Path(path).is_relative_to(self._store):
            return False
        directories, name = parts[:-1], parts[-1]
        _, dot, extension = name.rpartition(".")
        if directories == [DEFINITIONS] and extension in ("yaml", "yml"):
            return True
        if dot and (kind := format_of(extension)) is not None:
            return self._rules is None or self._is_source("/".join(parts), kind) or self._is_linked(path)
        if "/".join(parts) in self.assets:
            return True
        # A directory that came with its files, or went with them.
        return (Path(path).is_dir() or change is Change.deleted) and self._may_hold_content(parts)

    def _is_source(self, path: str, kind: Format) -> bool:
        stem, _, extension = path.rpartition(".")
        undrafted = f"{stem.removesuffix(_DRAFT)}.{extension}"
        *directories, _ = path.split("/")
        for rules in self._rules or ():
            if rules.leaves_out(path):
                continue
            for rule in rules.rules:
                state = rule.walk.start()
                for directory in directories:
                    state = rule.walk.enter(state, directory)
                if state and rule.walk.takes_files(state) and rule.read(undrafted, kind) is not None:
                    return True
            if any(pattern.parts(undrafted) is not None for pattern in rules.unknown):
                return True
        return False

    def _is_linked(self, path: str) -> bool:
        """Whether a file is content under another name: a link leads to it."""
        if self._definitions is None:
            return False
        listed = (self._root / file for file, *_ in list_files(self._root, self._definitions, Problems()).files)
        return any(file.is_symlink() and os.path.realpath(file) == os.path.realpath(path) for file in listed)

    def _may_hold_content(self, directories: list[str]) -> bool:
        for rules in self._rules or ():
            for rule in rules.rules:
                state = rule.walk.start()
                for directory in directories:
                    state = rule.walk.enter(state, directory)
                if state:
                    return True
        return self._rules is None
