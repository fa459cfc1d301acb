"""To whom the files of a store belong, and who may read them."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.backup.content import PRIVATE
from server.doctor.finding import Case, Finding

SUBJECT: Final = "owner and rights"
_OTHERS: Final = 0o007
_GROUP_AND_OTHERS: Final = 0o077


def look(case: Case) -> Iterator[Finding]:
    """Look at all files of a store in a directory."""
    root = case.root
    if root is None:
        return
    if not root.is_dir():
        yield Finding(
            SUBJECT,
            True,
            f"There is no store at {root}.",
            "A server that is started there serves nothing, and a build in the wrong place is never seen.",
            "export CMS_STORE=/var/lib/parquetry/store    # or wherever it is",
        )
        return
    owner, quoted = root.stat(), shlex.quote(str(root))
    yield from _of_others(root, owner, quoted)
    yield from _open_to_others(root, owner, quoted)
    yield from _not_for_me(case, root, owner)


def _of_others(root: Path, owner: os.stat_result, quoted: str) -> Iterator[Finding]:
    """Find files that the store's owner cannot read or replace."""
    foreign = [(path, found) for path, found in _files(root) if found.st_uid != owner.st_uid]
    if not foreign:
        return
    path, found = foreign[0]
    yield Finding(
        SUBJECT,
        True,
        f"{_count(len(foreign), 'file')} in the store belong to another user than the store, {_user(owner.st_uid)}: "
        f"{path.relative_to(root)} belongs to {_user(found.st_uid)}.",
        "The server runs as the owner of the store. It does not follow what it cannot read, and serves what it had "
        "before.",
        f"chown -R {_user(owner.st_uid)}:{_group(owner.st_gid)} {quoted}",
    )


def _open_to_others(root: Path, owner: os.stat_result, quoted: str) -> Iterator[Finding]:
    lax = [
        path for path, found in _files(root) if path.name in PRIVATE and stat.S_IMODE(found.st_mode) & _GROUP_AND_OTHERS
    ]
    if lax:
        several = " ".join(shlex.quote(str(path)) for path in lax)
        yield Finding(
            SUBJECT,
            True,
            f"{lax[0].relative_to(root)} can be read by others than its owner.",
            "It holds the secrets of draft keys or webhooks, or who is signed in.",
            f"chmod 600 {several}",
        )
    if stat.S_IMODE(owner.st_mode) & _OTHERS:
        yield Finding(
            SUBJECT,
            False,
            "Every user of this machine can look into the store.",
            "It holds content that is not published yet.",
            f"chmod o= {quoted}",
        )


def _not_for_me(case: Case, root: Path, owner: os.stat_result) -> Iterator[Finding]:
    """Find what this user could not do: only the owner's own look says what the server can."""
    me = os.geteuid()
    if me not in (0, owner.st_uid):
        yield Finding(
            SUBJECT,
            False,
            f"This command runs as {_user(me)}, and the store belongs to {_user(owner.st_uid)}.",
            "It does not find what it cannot see, and the server may not be able to read what this user publishes.",
            f"sudo -u {_user(owner.st_uid)} cms doctor",
        )
    if me in (0, owner.st_uid):
        cache = Path(case.settings.cache) if case.settings.cache else root / ".cache"
        for place, name in ((root, "store"), (cache, "cache")):
            if place.exists() and not os.access(place, os.W_OK | os.X_OK):
                yield Finding(
                    SUBJECT,
                    True,
                    f"The {name} {place} cannot be written to.",
                    "Page views cannot be kept, and new snapshot versions cannot be opened.",
                    f"chmod u+rwx {shlex.quote(str(place))}",
                )


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *names):
            path = Path(parent, name)
            if not name.startswith("."):
                try:
                    yield path, path.lstat()
                except OSError:  # gone meanwhile
                    continue


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
