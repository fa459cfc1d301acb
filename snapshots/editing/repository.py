"""Find out where an editor reaches a workspace in a git checkout: the service, repository, branch and folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import msgspec

_SERVICES: Final = {"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "bitbucket"}
_REMOTE: Final = re.compile(r"(?:https?://|ssh://)?(?:[^@/]+@)?([^/:]+)(?::\d+/|[:/])(.+?)(?:\.git)?/?")


class Repository(msgspec.Struct, frozen=True):
    """Where a workspace is kept."""

    service: str | None = None
    """``github``, ``gitlab`` or ``bitbucket``; ``None`` for others."""
    name: str | None = None
    """The owner and the repository, as in ``acme/content``."""
    branch: str | None = None
    folder: str = ""
    """The workspace's folder in the repository, with a slash at the end; empty for the repository itself."""


def find_repository(root: Path) -> Repository:
    """Return what git says of the workspace at ``root``; outside of a checkout, or without git, nothing."""
    folder, branch, remote = (
        _git(root, *command)
        for command in (
            ("rev-parse", "--show-prefix"),
            ("symbolic-ref", "--short", "HEAD"),
            ("remote", "get-url", "origin"),
        )
    )
    found = _REMOTE.fullmatch(remote or "")
    service = _SERVICES.get(found[1].lower()) if found else None
    return Repository(service, found[2] if found and service else None, branch or None, folder or "")


def _git(root: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
