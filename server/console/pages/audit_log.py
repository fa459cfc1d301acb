"""The audit log of a workspace as a page."""

from __future__ import annotations

from typing import Final

from server.console.navigation import ConsolePage, ConsoleSection
from server.console.visit import Shown, Visit

PER_PAGE: Final = 100


def show(visit: Visit) -> Shown:
    """Show the changes of one month, the newest month unless another is asked for."""
    months = visit.audit.months()
    asked = visit.query.one("month")
    month = asked if asked in months else next(iter(months), None)
    entries = visit.audit.entries(month) if month is not None else []
    page, pages = visit.page_of(len(entries), PER_PAGE)
    shown = entries[(page - 1) * PER_PAGE : page * PER_PAGE]
    return Shown(
        "tabs/audit_log.html", {"months": months, "month": month, "entries": shown, "page": page, "pages": pages}
    )


SECTION: Final = ConsoleSection("Audit log", (ConsolePage("/settings/audit-log", show, manages=True),))
