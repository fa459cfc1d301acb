"""The tab *Versions*: what each holds, what changed from one to another, and making another one current."""

from __future__ import annotations

from typing import Final

from engine.administration import versions as administration
from engine.administration.version_list import known_holds, listed_versions
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.version_changes import compared, effect_of
from server.console.visit import Moved, Outcome, PageRefused, Shown, Visit
from snapshots.store.current import ActivationConflict, Current
from snapshots.store.holds.holds import Hold, hold_on
from snapshots.store.manifest import Manifest

PER_PAGE: Final = 30
CHANGES_PER_PAGE: Final = 20


def listed(visit: Visit) -> Shown:
    """Show the versions, the newest first."""
    versions = visit.workspace_store.versions()
    page, pages = visit.page_of(len(versions), PER_PAGE)
    shown = list(listed_versions(visit.workspace_store, versions[(page - 1) * PER_PAGE : page * PER_PAGE]))
    done = _NOTES.get(visit.query.one("done"))
    current = visit.workspace_store.current()
    back = _rollback_target(visit, current)
    values = {"versions": shown, "current": current, "page": page, "pages": pages, "note": done, "back": back}
    return Shown("versions/versions.html", values)


def show(visit: Visit) -> Shown:
    """Show a version, and what changed from another one to it: unless asked otherwise, from the current one, or where
    it is that itself, from the one current before."""
    version = _asked(visit)
    manifest = visit.workspace_store.manifest(version)
    current = visit.workspace_store.current()
    versions = visit.workspace_store.versions()
    asked = visit.query.one("from")
    before = asked if asked in versions else _usual_before(version, current, versions)
    changes = compared(visit, before, version, CHANGES_PER_PAGE) if before not in (None, version) else None
    values = {
        "version": version,
        "manifest": manifest,
        "current": current,
        "before": before,
        "others": [one for one in versions if one != version],
        "changes": changes,
        "effect": effect_of(visit, before, version) if before is not None and before != version else None,
        "held": _held(visit, manifest, current),
    }
    return Shown("versions/version.html", values)


def activate(visit: Visit) -> Outcome:
    """Say what making a version current changes for clients, and do it once that is confirmed."""
    version, expected = _asked(visit), visit.form.one("expected")
    if not expected:
        return _confirmation(visit, version, rolls_back=False)
    try:
        administration.activate(visit.administrator, version, expected=expected)
    except ActivationConflict as conflict:
        raise _overtaken(conflict) from None
    return Moved((visit.workspace.id, "versions"), {"done": "activated"})


def rollback(visit: Visit) -> Outcome:
    """Make the version current that was current before, once the person confirms; otherwise ask for confirmation."""
    target, expected = _rollback_target(visit, visit.workspace_store.current()), visit.form.one("expected")
    if target is None:
        raise PageRefused(
            404,
            "Nothing to go back to",
            "No snapshot version was current before this one, or it has been pruned since.",
        )
    if not expected:
        return _confirmation(visit, target, rolls_back=True)
    try:
        administration.roll_back(visit.administrator, expected=expected)
    except ActivationConflict as conflict:
        raise _overtaken(conflict) from None
    return Moved((visit.workspace.id, "versions"), {"done": "rolled-back"})


_NOTES: Final = {
    "activated": "The snapshot version is current. Applications see it within a second.",
    "rolled-back": "The previous snapshot version is current again. Applications see it within a second.",
}


def _confirmation(visit: Visit, version: str, *, rolls_back: bool) -> Shown:
    current = visit.workspace_store.current()
    if current is None or current.version == version:
        raise PageRefused(
            409, "Already current", f"{version} is the current snapshot version, so there is nothing to change."
        )
    values = {
        "version": version,
        "manifest": visit.workspace_store.manifest(version),
        "current": current,
        "effect": effect_of(visit, current.version, version),
        "rolls_back": rolls_back,
        "holds": rolls_back or current.is_return(current.version, version),
    }
    return Shown("versions/version_activate.html", values)


def _asked(visit: Visit) -> str:
    version = visit.path["version"]
    if not visit.workspace_store.has(version):
        raise PageRefused(
            404,
            "No such version",
            f"{visit.workspace.name} has no snapshot version with this name. It may have been pruned.",
        )
    return version


def _held(visit: Visit, manifest: Manifest, current: Current | None) -> Hold | None:
    if current is not None and current.version == manifest.version:
        return None
    return hold_on(known_holds(visit.workspace_store), manifest.content, manifest.known_sources)


def _usual_before(version: str, current: Current | None, versions: list[str]) -> str | None:
    if current is None:
        return next((one for one in versions if one < version), None)
    if current.version != version:
        return current.version
    return next((one for one in current.previous if one in versions), None)


def _rollback_target(visit: Visit, current: Current | None) -> str | None:
    if current is None or not current.previous or not visit.workspace_store.has(current.previous[0]):
        return None
    return current.previous[0]


def _overtaken(conflict: ActivationConflict) -> PageRefused:
    why = f"{conflict.found} is now the current snapshot version, so nothing was changed. Look at it and decide again."
    return PageRefused(409, "Somebody else was faster", why)


_GET_AND_POST: Final = ("GET", "HEAD", "POST")
SECTION: Final = ConsoleSection(
    "Versions",
    (
        ConsolePage("/versions", listed),
        ConsolePage("/versions/rollback", rollback, manages=True, methods=_GET_AND_POST),
        ConsolePage("/versions/{version}", show),
        ConsolePage("/versions/{version}/activate", activate, manages=True, methods=_GET_AND_POST),
    ),
)
