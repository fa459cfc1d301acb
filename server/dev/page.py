"""Write the pages of ``cms dev`` in HTML: the last build, and the entries of the version served."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from engine.read.all_versions.all_versions import AllVersions
from engine.timeline.states import STATES, State
from engine.timeline.timeline import Timeline
from server.dev.builds import Built
from server.dev.dev_links import PREFIX, DevLinks
from server.pages.entries.instants import Instant
from server.pages.entries.listing import ListChoices, api_counts, entry_list, short_title
from server.pages.entries.page import entry_view, version_of
from server.pages.rendering import Pages

PROBLEMS_SHOWN: Final = 100
_PAGES: Final = Pages(PREFIX)
_LINKS: Final = DevLinks()
_timeline: Final = lru_cache(1)(Timeline)


class Access(msgspec.Struct, frozen=True):
    """The request with which clients get what the page shows."""

    address: str
    """The server's, such as ``http://127.0.0.1:8787``."""
    key: str


class DevPage(msgspec.Struct, frozen=True):
    """A page of ``cms dev``."""

    body: str
    status: int = 200
    policy: Mapping[str, str] = {}
    """Directives of the content security policy that are others than those of most pages."""


def trouble_page(built: Built, trouble: str) -> DevPage:
    """The page where the entries cannot be shown."""
    return DevPage(_PAGES.render("dev/dev.html", {**_frame(built, None), "trouble": trouble, "list": None}), 500)


def list_page(
    built: Built, versions: AllVersions | None, access: Access | None, asked: ListChoices, now: int
) -> DevPage:
    """The last build, and the entries of an API, of the first one unless another is asked for.

    Raises ``SnapshotUnusable``.
    """
    values = _frame(built, versions)
    workspace = versions.manifest.workspace if versions is not None else None
    if versions is None or workspace is None or not workspace.apis:
        return DevPage(_PAGES.render("dev/dev.html", {**values, "list": None}))
    api = workspace.api(asked.api) or workspace.apis[0]
    instant = Instant.read(asked.at, ZoneInfo(workspace.timezone), now)
    values |= {
        "list": entry_list(versions, api, replace(asked, at=instant.asked), instant.at),
        "instant": instant,
        "counts": api_counts(_timeline(versions.workspace_store, versions.manifest), workspace, instant.at),
        "languages": workspace.languages_of(api),
        "states": STATES,
        "title_of": short_title,
        "workspace": workspace,
        "access": access,
    }
    return DevPage(_PAGES.render("dev/dev.html", values))


def entry_page(built: Built, served: AllVersions | None, asked: Mapping[str, str], now: int, origin: str) -> DevPage:
    """A version of an entry, or a page that says that there is none. Raises ``SnapshotUnusable``.

    ``origin`` is that of ``cms dev`` itself, from which assets come.
    """
    values = _frame(built, served)
    workspace = served.manifest.workspace if served is not None else None
    api = workspace.api(asked.get("api", "")) if workspace is not None else None
    if served is None or workspace is None or api is None:
        return _not_there(values, "There is no such API.", "/")
    zone = ZoneInfo(workspace.timezone)
    instant = Instant.read(asked.get("at", ""), zone, now)
    versions = served.versions(api, asked.get("id", ""), instant.at)
    version = version_of(versions, asked.get("lang", ""), draft=asked.get("draft") == "1")
    if version is None:
        back = _LINKS.entries(api.endpoint, {"at": instant.asked})
        return _not_there(values, "There is no such language version.", back)
    view = entry_view(served, api, version, instant, zone, links=_LINKS, assets=origin, pages=_PAGES)
    kept = {"api": api.endpoint, "id": version.id, "lang": version.lang}
    values |= {
        "title": view.title,
        "view": view,
        "versions": versions,
        "instant": instant,
        "workspace": workspace,
        "kept": {**kept, "draft": "1"} if version.state is State.DRAFT else kept,
    }
    return DevPage(_PAGES.render("dev/dev_entry.html", values), policy=view.policy())


def _not_there(values: Mapping[str, Any], why: str, back: str) -> DevPage:
    given = {**values, "title": "Not there", "view": None, "trouble": why, "back": back}
    return DevPage(_PAGES.render("dev/dev_entry.html", given), 404)


def _frame(built: Built, versions: AllVersions | None) -> dict[str, Any]:
    """Return the values that every page shows: the result of the last build and its problems."""
    name = versions.manifest.workspace.name if versions is not None else built.workspace or "cms dev"
    problems = sorted(built.problems.kept, key=lambda problem: problem.severity)
    return {
        "built": built,
        "name": name,
        "title": name,
        "zone": ZoneInfo(versions.manifest.workspace.timezone if versions is not None else "UTC"),
        "problems": problems[:PROBLEMS_SHOWN],
        "more_problems": built.problems.errors + built.problems.warnings - min(len(problems), PROBLEMS_SHOWN),
        "entry_links": _LINKS,
        "trouble": None,
        "back": None,
        "access": None,
    }
