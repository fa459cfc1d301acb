"""Where a page stands among the others: the tabs of a workspace, as a person may see them."""

from __future__ import annotations

from enum import Enum

import msgspec

from server.console.visit import Visit
from snapshots.problems import ParquetryError


class Section(Enum):
    """The parts of the console: the tab's words, its path below the workspace, and whether only owners and maintainers
    see it."""

    OVERVIEW = ("Overview", (), False)
    ENTRIES = ("Entries", ("entries",), False)
    SCHEDULE = ("Schedule", ("schedule",), False)
    VERSIONS = ("Versions", ("versions",), False)
    VIEWS = ("Views", ("views",), False)
    WEBHOOKS = ("Webhooks", ("webhooks",), False)
    READERS = ("Readers", ("readers",), False)
    KEYS = ("API keys", ("settings", "api-keys"), True)
    AUDIT_LOG = ("Audit log", ("settings", "audit-log"), True)


class Tab(msgspec.Struct, frozen=True):
    """A link of the navigation."""

    label: str
    segments: tuple[str, ...]
    is_current: bool


def navigation(visit: Visit, current: Section) -> list[Tab]:
    """Return the tabs that a person sees, with the one of the ``current`` page marked."""
    tabs = []
    for section in Section:
        label, path, manages = section.value
        if (visit.role.manages or not manages) and (section is current or _is_set_up(visit, section)):
            tabs.append(Tab(label, (visit.workspace.id, *path), section is current))
    return tabs


def _is_set_up(visit: Visit, section: Section) -> bool:
    if section is not Section.WEBHOOKS:
        return True
    try:
        return bool(visit.webhooks)
    except ParquetryError:  # the tab's page says what is wrong
        return True
