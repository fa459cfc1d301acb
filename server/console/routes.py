"""The parts of a workspace's console, in the order of their tabs: a new one is a module of ``pages`` and a row here."""

from __future__ import annotations

from typing import Final

from server.console.pages import audit_log, entries, keys, overview, readers, schedule, versions, views, webhooks

SECTIONS: Final = (
    overview.SECTION,
    entries.SECTION,
    schedule.SECTION,
    versions.SECTION,
    views.SECTION,
    webhooks.SECTION,
    readers.SECTION,
    keys.SECTION,
    audit_log.SECTION,
)
PAGES: Final = tuple(page for section in SECTIONS for page in section.pages)
