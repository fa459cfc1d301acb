"""How old the newest backup is, and whether it is still there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from engine.backup.layout import NoBackup, read_list
from engine.backup.newest import newest_backup
from server.doctor.finding import Case, Finding
from server.lookout import BACKUP_MS
from snapshots.problems import ParquetryError
from snapshots.store.locations import open_objects

SUBJECT: Final = "backup"
_DAY_MS: Final = 86_400_000
_WHY: Final = "Keys, page views, webhooks and the audit log are in the store alone."


def look(case: Case) -> Iterator[Finding]:
    """Look for the newest backup that the store remembers."""
    if not case.store.workspaces():
        return
    newest = newest_backup(case.store.objects)
    if newest is None:
        yield Finding(SUBJECT, True, "There is no backup of the store.", _WHY, "cms backup DEST")
        return
    again = f"cms backup {shlex.quote(newest.place)}"
    days = (case.now - newest.begun_at) // _DAY_MS
    if case.now - newest.begun_at > BACKUP_MS:
        yield Finding(SUBJECT, True, f"The newest backup, {newest.name}, is {days} days old.", _WHY, again)
    if newest.complaints:
        yield Finding(
            SUBJECT,
            True,
            f"The newest backup, {newest.name}, lacks what was damaged in the store ({newest.complaints}).",
            "A store of that backup lacks it, too.",
            f"{again}    # says what, after `cms snapshot verify`",
        )
    try:
        read_list(open_objects(newest.place), newest.name)
    except NoBackup:
        yield Finding(
            SUBJECT, True, f"The newest backup, {newest.name}, is not in {newest.place} any more.", _WHY, again
        )
    except ParquetryError as error:
        yield Finding(
            SUBJECT,
            True,
            f"The newest backup cannot be read: {error}",
            _WHY,
            f"cms restore {shlex.quote(newest.place)} --check",
        )
