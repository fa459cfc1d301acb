"""Print the commits that versions were built from: first line, author and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output import wording
from snapshots.times import format_datetime

if TYPE_CHECKING:
    from snapshots.store.manifest import Manifest


def commit_document(manifest: Manifest) -> dict[str, object] | None:
    """Return a version's commit as ``--json`` prints it; ``None`` where nothing but its hash is recorded."""
    commit = manifest.described_commit
    if commit is None:
        return None
    return {
        "commit": manifest.commit,
        "subject": commit.subject,
        "author": commit.author,
        "at": format_datetime(commit.at),
        "differs": commit.differs,
    }


def commit_subject(manifest: Manifest) -> str:
    """Return a commit's first line, marked where files differed from it; the beginning of its hash where no more is
    recorded."""
    commit = manifest.described_commit
    if commit is None:
        return (manifest.commit or "")[:10]
    return f"{commit.subject}{' + uncommitted' if commit.differs else ''}"


def commit_author(manifest: Manifest) -> str:
    """Return the name of a commit's author; empty where it is not recorded."""
    return "" if manifest.described_commit is None else manifest.described_commit.author


def commit_sentence(manifest: Manifest) -> str:
    """Return a commit for one line: hash, first line, author and time; ``-`` without one."""
    commit = manifest.described_commit
    if commit is None:
        return manifest.commit or "-"
    differs = ", with changes that are not committed" if commit.differs else ""
    return f"{(manifest.commit or '')[:10]} {commit.subject} ({commit.author}, {wording.instant(commit.at)}{differs})"
