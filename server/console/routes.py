"""The pages of a workspace in the console: one table of paths, who may see them, and what makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from server.console.navigation import Section
from server.console.pages import audit_log, entries, keys, overview, readers, schedule, versions, views, webhooks
from server.console.visit import Outcome, Visit


class Page(msgspec.Struct, frozen=True):
    """A page of a workspace."""

    path: str
    """Below the workspace; ``{names}`` stand for one segment each."""
    answer: Callable[[Visit], Outcome]
    section: Section
    manages: bool = False
    """Whether only owners and maintainers may ask for it."""
    methods: tuple[str, ...] = ("GET", "HEAD")
    waits: bool = False
    """Whether its answer waits for another program, so that other pages must not wait for it."""


_KEYS: Final = "/settings/api-keys"
_WEBHOOK: Final = "/webhooks/{webhook}"
_POST: Final = ("POST",)
_GET_AND_POST: Final = ("GET", "HEAD", "POST")

PAGES: Final = (
    Page("", overview.show, Section.OVERVIEW),
    Page("/entries", entries.listed, Section.ENTRIES),
    Page("/entries/{api}", entries.listed, Section.ENTRIES),
    Page("/entries/{api}/{entry}", entries.show, Section.ENTRIES),
    Page("/schedule", schedule.show, Section.SCHEDULE),
    Page("/schedule.ics", schedule.calendar, Section.SCHEDULE),
    Page("/versions", versions.listed, Section.VERSIONS),
    Page("/versions/rollback", versions.rollback, Section.VERSIONS, manages=True, methods=_GET_AND_POST),
    Page("/versions/{version}", versions.show, Section.VERSIONS),
    Page("/versions/{version}/activate", versions.activate, Section.VERSIONS, manages=True, methods=_GET_AND_POST),
    Page("/views", views.show, Section.VIEWS),
    Page("/views/by-time.csv", views.days_file, Section.VIEWS),
    Page("/views/entries.csv", views.entries_file, Section.VIEWS),
    Page("/views/paths.csv", views.paths_file, Section.VIEWS),
    Page("/views/origins.csv", views.origins_file, Section.VIEWS),
    Page("/webhooks", webhooks.listed, Section.WEBHOOKS),
    Page(_WEBHOOK, webhooks.show, Section.WEBHOOKS),
    Page(f"{_WEBHOOK}/state", webhooks.change_state, Section.WEBHOOKS, manages=True, methods=_POST),
    Page(f"{_WEBHOOK}/replay", webhooks.tell_again, Section.WEBHOOKS, manages=True, methods=_POST),
    Page(f"{_WEBHOOK}/test", webhooks.send_test, Section.WEBHOOKS, manages=True, methods=_POST, waits=True),
    Page("/readers", readers.show, Section.READERS),
    Page(_KEYS, keys.listed, Section.KEYS, manages=True),
    Page(f"{_KEYS}/new", keys.new, Section.KEYS, manages=True),
    Page(f"{_KEYS}/issue", keys.issue, Section.KEYS, manages=True, methods=_POST),
    Page(f"{_KEYS}/{{key}}/validity", keys.edit, Section.KEYS, manages=True),
    Page(f"{_KEYS}/{{key}}/save", keys.save, Section.KEYS, manages=True, methods=_POST),
    Page(f"{_KEYS}/{{key}}/state", keys.change_state, Section.KEYS, manages=True, methods=_POST),
    Page(f"{_KEYS}/{{key}}/delete", keys.delete, Section.KEYS, manages=True, methods=_GET_AND_POST),
    Page("/settings/audit-log", audit_log.show, Section.AUDIT_LOG, manages=True),
)
