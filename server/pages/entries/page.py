"""Collect all that the page of a language version needs, its other versions too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from markupsafe import Markup

from engine.read.all_versions.all_versions import AllVersions, Content, Listed
from engine.timeline.states import State
from server.pages.entries.entry_links import EntryLinks
from server.pages.entries.instants import Instant
from server.pages.entries.listing import short_title
from server.pages.entries.values import EntryValues, ShownField, site_of
from server.pages.rendering import Pages
from snapshots.model import Api

IMAGES_FROM_ANYWHERE: Final = "data: http: https:"


class EntryView(msgspec.Struct, frozen=True):
    """One language version as a page shows it."""

    api: Api
    version: Listed
    title: str
    content: Content
    fields: tuple[ShownField, ...]
    site: str | None
    """The origin of the site on the web that the entry belongs to."""

    def policy(self) -> dict[str, str]:
        """Return the directives of the page's content security policy that are others than those of other pages: images
        come from anywhere, and relative addresses are read on the site."""
        base = {} if self.site is None else {"base-uri": self.site}
        return {"img-src": IMAGES_FROM_ANYWHERE, **base}


def version_of(versions: tuple[Listed, ...], lang: str, *, draft: bool) -> Listed | None:
    """Return an entry's version in a language: its draft, or the published one."""
    return next((one for one in versions if (one.lang, one.state is State.DRAFT) == (lang, draft)), None)


def entry_view(
    all_versions: AllVersions,
    api: Api,
    version: Listed,
    instant: Instant,
    zone: ZoneInfo,
    *,
    links: EntryLinks,
    assets: str,
    pages: Pages,
) -> EntryView:
    """Return a version as a page shows it at an instant. ``assets`` is the whole address below which the server's
    assets are. Raises ``SnapshotUnusable``."""
    site = site_of(api, version)
    content = all_versions.content(api, version)
    frame = _framed(pages)
    values = EntryValues(all_versions, version, instant.at, instant.asked, zone, site, assets, links, frame)
    return EntryView(api, version, short_title(version), content, values.shown(api.fields, content.values), site)


def _framed(pages: Pages) -> Callable[[str, str, str | None], str]:
    def frame(html: str, lang: str, site: str | None) -> str:
        # Rich text is sanitised when it is built, and no script runs in the frame.
        values = {"html": Markup(html), "lang": lang, "site": site}  # noqa: S704 - see above
        return pages.render("shared/rich_text.html", values)

    return frame
