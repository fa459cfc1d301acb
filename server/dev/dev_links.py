"""The addresses of the pages of ``cms dev``, and of what programs get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from engine.read.all_versions.all_versions import Listed
from engine.timeline.states import State
from server.pages.entries.entry_links import EntryLinks, PageLink, preview_link
from snapshots.model import Api, ApiKind, Workspace

PREFIX: Final = "/_dev"
ENTRY_PATH: Final = f"{PREFIX}/entry"


class DevLinks(EntryLinks):
    """The addresses of one session of ``cms dev``."""

    def entries(self, api: str, query: Mapping[str, str]) -> str:
        return _address("/", {"api": api, **query})

    def entry(self, api: Api, version: Listed, at: str, **more: str) -> str:
        draft = "1" if version.state is State.DRAFT else ""
        return _address(
            ENTRY_PATH,
            {"api": api.endpoint, "id": version.id, "lang": version.lang, "draft": draft, "at": at, **more},
        )

    def elsewhere(self, workspace: Workspace, api: Api, version: Listed, at: str) -> list[PageLink]:
        """Links to the version on the site, and as programs get it; what programs get is of the present alone."""
        base = f"{PREFIX}/v1/{workspace.id}/"
        named = f"{version.id}, {version.lang}"
        if version.draft is not None and version.draft.key is not None:
            href = base + version.draft.path(workspace.main_language)
            return [*preview_link(version), PageLink("JSON", href, f"JSON of the draft of {named}")]
        if version.state is not State.LIVE or at:
            return []
        path = api.endpoint if api.kind is ApiKind.OBJECT else f"{api.endpoint}/{version.id}"
        lang = "" if version.lang == workspace.main_language else f"?lang={version.lang}"
        return [PageLink("JSON", base + path + lang, f"JSON of {named}")]


def _address(path: str, parameters: Mapping[str, str]) -> str:
    """A path with those parameters that have a value."""
    given = urlencode({name: value for name, value in parameters.items() if value})
    return f"{path}?{given}" if given else path
