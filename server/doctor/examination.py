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
STORE: Final = "store"
"""The subject where the store cannot be read at all."""
_OF_THE_STORE: Final = frozenset({clock.SUBJECT, room.SUBJECT, backups.SUBJECT, versions.SUBJECT})
"""The looks that would say the same."""


def examined(case: Case) -> Iterator[Finding]:
    """Return all that is found. A look that fails is a finding itself."""
    root = case.root
    if root is not None and not root.is_dir():  # all else would say the same
        yield from rights.look(case)
        return
    needless = frozenset[str]()
    try:
        case.store.workspaces()
    except ParquetryError as error:
        yield Finding(
            STORE,
            True,
            f"The store cannot be read: {error}",
            "Nothing in it can be looked at. Servers go on with what they have; builds and changes of keys fail.",
            "cms store check",
        )
        needless = _OF_THE_STORE
    for subject, look in LOOKS.items():
        if subject in needless:
            continue
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
