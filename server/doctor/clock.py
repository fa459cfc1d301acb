"""Whether this machine's clock is right, as far as the store and the system tell."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from server.doctor.finding import Case, Finding
from server.lookout import FUTURE_MS
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime

SUBJECT: Final = "clock"
_WHY: Final = "Schedules, keys, sign-ins and page views go by the clock: content comes too early or too late."


def look(case: Case) -> Iterator[Finding]:
    """Compare the clock with the store, and ask the system whether something corrects it."""
    for name in case.store.workspaces():
        with suppress(ParquetryError):  # told by another look
            current = case.store.workspace(name).current()
            if current is not None and current.activated_at > case.now + FUTURE_MS:
                yield Finding(
                    SUBJECT,
                    True,
                    f"{current.version} of {name} became current at {format_datetime(current.activated_at)}, and here "
                    f"it is {format_datetime(case.now)}: this clock is behind, or that of "
                    f"{current.activated_by} was ahead.",
                    _WHY,
                    "timedatectl set-ntp true",
                )
    if _is_synchronized() is False:
        yield Finding(
            SUBJECT, False, "Nothing keeps the clock of this machine right.", _WHY, "timedatectl set-ntp true"
        )


def _is_synchronized() -> bool | None:
    """Return whether a time service corrects the clock; ``None`` where the system does not say."""
    program = shutil.which("timedatectl")
    if program is None:
        return None
    command = [program, "show", "--property=NTPSynchronized", "--value"]
    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
        return {"yes": True, "no": False}.get(asked.stdout.strip())
    return None
