"""Where pages of entries are: the addresses that a site of such pages gives its lists and entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec

from engine.read.all_versions.all_versions import Listed
from snapshots.model import Api, Workspace


class PageLink(msgspec.Struct, frozen=True):
    """A link to a version elsewhere than on these pages."""

    label: str
    href: str
    about: str
    """The link's words for those who do not see what it stands beside."""


class EntryLinks(ABC):
    """The addresses of one site's pages of entries."""

    @abstractmethod
    def entries(self, api: str, query: Mapping[str, str]) -> str:
        """Return the address of the list of an API's entries (endpoint), with the parameters that have a value."""

    @abstractmethod
    def entry(self, api: Api, version: Listed, at: str, **more: str) -> str:
        """Return the address of the page that shows a version as of an instant, ``at`` as it was asked for."""

    @abstractmethod
    def elsewhere(self, workspace: Workspace, api: Api, version: Listed, at: str) -> list[PageLink]:
        """Return links to the version on the site it is made for, and the like."""


def preview_link(version: Listed) -> list[PageLink]:
    """Return the link to a draft on the site, where the API has a ``preview_url``."""
    page = version.draft.page() if version.draft is not None else None
    return [] if page is None else [PageLink("Preview", page, f"Preview of {version.id}, {version.lang} on the site")]
