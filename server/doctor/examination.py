"""All looks at an installation, one after the other; none keeps the others from being taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from server.doctor import alerts, backups, checkout, clock, proxy, rights, room, versions
from server.doctor.finding import Case, Finding
from snapshots.problems import ParquetryError

LOOKS: Final[Mapping[str, Callable[[Case], Iterator[Finding]]]] = {
    look.SUBJECT: look.look for look in (rights, checkout, clock, room, proxy, alerts, backups, versions)
}
"""What is looked at, by the name of the subject."""


def examined(case: Case) -> Iterator[Finding]:
    """Return all that is found. A look that fails is a finding itself."""
    root = case.root
    if root is not None and not root.is_dir():  # all else would say the same
        yield from rights.look(case)
        return
    for subject, look in LOOKS.items():
        try:
            yield from look(case)
        except (ParquetryError, OSError) as error:
            yield Finding(
                subject,
                True,
                f"This could not be looked at: {error}",
                "What cannot be looked at may be wrong, too.",
                "cms store check",
            )
