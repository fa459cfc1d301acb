"""Exports of other systems, imported, checked and built as a person would: what the API then answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from snapshots.build.build import build, check
from snapshots.compile.richtext import ImageDoubt
from snapshots.importers.kinds.registry import KINDS
from snapshots.importers.losses import Loss
from snapshots.importers.run import import_export
from snapshots.store.store import open_store
from tests.programs.command_line import Cms

NOW = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


class Imported:
    """A workspace that was imported; it has no errors."""

    def __init__(self, root: Path, losses: list[Loss]) -> None:
        self.root, self.losses = root, losses

    def lost(self, part: str) -> Loss:
        """The one loss whose ``what`` and ``why`` have a text in them."""
        found = [loss for loss in self.losses if part in f"{loss.what}: {loss.why}"]
        assert len(found) == 1, [f"{loss.what}: {loss.why} ({loss.places[0]})" for loss in self.losses]
        return found[0]

    def text(self, file: str) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def files(self) -> list[str]:
        """The content files."""
        return sorted(path.relative_to(self.root / "content").as_posix() for path in self.root.glob("content/**/*.*"))


def imported(
    kind: str,
    source: Path,
    root: Path,
    *,
    assets: str | None = None,
    language: str | None = None,
    api: str | None = None,
    sheet: str | None = None,
    warnings: int | None = 0,
) -> Imported:
    """Import an export, and check that the workspace has no errors, and as many warnings (``None``: any number)
    besides that of images without alternative texts, of which the exports have some."""
    read = import_module(KINDS[kind].module).read
    report = import_export(kind, read, source, root, "site", assets=assets, language=language, api=api, sheet=sheet)
    found = check(root, root.parent / f"{root.name}-cache")
    assert [str(problem) for problem in found.kept if problem.severity == "error"] == []
    told = [str(problem) for problem in found.kept if problem.kind not in (ImageDoubt.NO_ALT, "ids-alike")]
    assert warnings in (None, len(told)), told
    files = [path.relative_to(root).as_posix() for path in root.glob("content/**/*") if path.is_file()]
    assert sum(report.written.versions.values()) == len(files), (report.written.versions, sorted(files))
    return Imported(root, report.losses)


def answers(cms: Cms, made: Imported, target: str, *arguments: str) -> Any:
    """What the API answers to a request, once the workspace is built."""
    store = made.root.parent / f"{made.root.name}-store"
    if not store.exists():
        build(made.root, open_store(store), now=NOW)
    ran = cms("query", target, "--store", store, *arguments)
    assert ran.status == 0, ran.err
    return ran.json


def write_files(root: Path, files: Mapping[str, Any]) -> Path:
    """Write an export's files: texts and bytes as they are, JSONL for a list in a ``.jsonl``, else JSON."""
    for name, value in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            (root / name).write_bytes(value)
            continue
        many = value if name.endswith(".jsonl") and isinstance(value, list) else [value]
        text = value if isinstance(value, str) else "\n".join(map(json.dumps, many))
        (root / name).write_text(text, encoding="utf-8")
    return root
