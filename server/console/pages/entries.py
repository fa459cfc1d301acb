"""The tab *Entries*: every language version at any instant, found as by the API, and one of them beside another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.read.all_versions.all_versions import Listed
from engine.timeline.states import STATES, State
from engine.timeline.timeline import Flip
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.visit import PageRefused, Shown, Visit
from server.pages.entries.entry_links import EntryLinks, PageLink, preview_link
from server.pages.entries.instants import Instant
from server.pages.entries.listing import ListChoices, api_counts, entry_list, short_title
from server.pages.entries.page import EntryView, entry_view, version_of
from server.pages.rendering import Pages
from snapshots.model import Api, Workspace
from snapshots.times import format_datetime


class ConsoleLinks(EntryLinks):
    """The addresses of a workspace's entries in the console."""

    def __init__(self, pages: Pages, workspace: str) -> None:
        self._pages = pages
        self._workspace = workspace

    def entries(self, api: str, query: Mapping[str, str]) -> str:
        return self._pages.url(self._workspace, "entries", api, **query)

    def entry(self, api: Api, version: Listed, at: str, **more: str) -> str:
        draft = "1" if version.state is State.DRAFT else ""
        query = {"lang": version.lang, "draft": draft, "at": at, **more}
        return self._pages.url(self._workspace, "entries", api.endpoint, version.id, **query)

    def elsewhere(
        self,
        workspace: Workspace,  # another site's links depend on it, as on the next two
        api: Api,
        version: Listed,
        at: str,
    ) -> list[PageLink]:
        return preview_link(version)


def entry_after(visit: Visit, flip: Flip) -> str:
    """Return the address of the page of the version that a flip is of, as of its instant."""
    at = format_datetime(flip.at)
    return visit.context.pages.url(visit.workspace.id, "entries", flip.api, flip.entry, lang=flip.lang, at=at)


def listed(visit: Visit) -> Shown:
    """Show the entries of an API, of the first one unless another is named."""
    endpoint = visit.path.get("api")
    apis = visit.workspace.apis
    if not apis:
        return Shown("tabs/entries.html", {"list": None})
    api = apis[0] if endpoint is None else visit.workspace.api(endpoint)
    if api is None:
        raise PageRefused(
            404, "No such API", f"{visit.workspace.name} has no API of this name in its current snapshot version."
        )
    instant = Instant.read(visit.query.one("at"), visit.zone, visit.now)
    asked = ListChoices.read({name: values[-1] for name, values in visit.query.values.items()})
    values = {
        "list": entry_list(visit.all_versions, api, asked, instant.at),
        "instant": instant,
        "counts": api_counts(visit.timeline, visit.workspace, instant.at),
        "languages": visit.workspace.languages_of(api),
        "states": STATES,
        "entry_links": _links(visit),
        "title": short_title,
    }
    return Shown("tabs/entries.html", values)


def show(visit: Visit) -> Shown:
    """Show a language version, beside another one where that is asked for."""
    api = visit.workspace.api(visit.path["api"])
    instant = Instant.read(visit.query.one("at"), visit.zone, visit.now)
    versions = visit.all_versions.versions(api, visit.path["entry"], instant.at) if api is not None else ()
    lang = visit.query.one("lang") or visit.workspace.main_language
    version = version_of(versions, lang, draft=visit.query.one("draft") == "1")
    if version is None and not (visit.query.has("lang") or visit.query.has("draft")):
        version = next(iter(versions), None)
    if api is None or version is None:
        why = "The current snapshot version of the workspace has no such entry, or not in this language."
        raise PageRefused(404, "No such entry", why)
    beside_lang, _, kind = visit.query.one("with").partition(".")
    beside = version_of(versions, beside_lang, draft=kind == "draft")
    view = _view(visit, api, version, instant)
    other = None if beside in (None, version) or beside is None else _view(visit, api, beside, instant)
    values = {
        "view": view,
        "other": other,
        "versions": versions,
        "instant": instant,
        "entry_links": _links(visit),
        "differs": _differing(view, other),
        "others": [(_name(one), one) for one in versions if one != version],
        "chosen": None if beside is None else _name(beside),
    }
    return Shown("tabs/entry.html", values, policy=view.policy())


def _view(visit: Visit, api: Api, version: Listed, instant: Instant) -> EntryView:
    return entry_view(
        visit.all_versions,
        api,
        version,
        instant,
        visit.zone,
        links=_links(visit),
        assets=visit.origin,
        pages=visit.context.pages,
    )


def _name(version: Listed) -> str:
    return f"{version.lang}.draft" if version.state is State.DRAFT else version.lang


def _differing(view: EntryView, other: EntryView | None) -> frozenset[str]:
    """Return the IDs of the fields with other values in the two versions."""
    if other is None:
        return frozenset()
    ours, theirs = view.content.values, other.content.values
    return frozenset(field.id for field in view.api.fields if ours.get(field.id) != theirs.get(field.id))


def _links(visit: Visit) -> ConsoleLinks:
    return ConsoleLinks(visit.context.pages, visit.workspace.id)


SECTION: Final = ConsoleSection(
    "Entries",
    (
        ConsolePage("/entries", listed),
        ConsolePage("/entries/{api}", listed),
        ConsolePage("/entries/{api}/{entry}", show),
    ),
)
