"""Turn the rich texts of an export into HTML or Markdown that is delivered as written, and tell what they lose."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

from snapshots.compile.assets import Asset, Assets, is_relative_asset
from snapshots.compile.markdown import render
from snapshots.compile.richtext import RichText
from snapshots.definitions.model import RichTextSettings
from snapshots.importers.losses import Losses
from snapshots.importers.model import ASSET_BASE
from snapshots.importers.names import characters

EMBED_HOSTS = (
    *("www.youtube.com", "www.youtube-nocookie.com", "player.vimeo.com", "www.dailymotion.com", "embed.ted.com"),
    *("open.spotify.com", "w.soundcloud.com", "embed.podcasts.apple.com", "www.google.com", "calendar.google.com"),
    *("codepen.io", "codesandbox.io", "stackblitz.com", "jsfiddle.net", "speakerdeck.com", "www.slideshare.net"),
    *("platform.twitter.com", "www.instagram.com", "www.facebook.com", "www.tiktok.com", "hatenablog-parts.com"),
)
"""Hosts whose pages people put into frames: the frames of these stay, and ``workspace.yaml`` names those used."""

Address = Callable[[str], str | None]
"""Returns the address to write in place of one in a rich text; ``None`` leaves it unchanged."""

_TAG = re.compile(r"<[^<>]*>")
_FRAME = re.compile(r'<iframe[^>]* src="(?:https:)?//([^/":?#]+)', re.IGNORECASE)
_CLASSES = re.compile(r'<[^<>]* class="([^"]*)"')
_NUMBERED = re.compile(r'(?<=\w)-[0-9]+(?="$)')
"""The number of what a class such as ``wp-image-123`` is about: all of them are one kind of loss."""
_NO_BASE = "its address is relative, and the export does not say to what: it now begins with /"


class _Addresses(Assets):
    """Answers the question for an asset with the address to write."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.relative: list[str] = []
        """Relative addresses since the last text, of which nothing is known."""
        self.changed = False

    def found(self, file: str, url: str) -> Asset | None:  # the question is that of a content file
        made = self._address(url)
        if made is None and is_relative_asset(url):
            self.relative.append(url)
            made = f"/{url.removeprefix('./').lstrip('/')}"
        if made is None or made == url:
            return None
        self.changed = True
        return Asset(made)


class RichTexts:
    """Cleans the rich texts of an export. ``hosts`` are those of the frames that stayed, and ``classes`` the classes of
    ``kept`` that are in use."""

    def __init__(self, address: Address, losses: Losses, kept: frozenset[str] = frozenset()) -> None:
        self._addresses = _Addresses(address)
        settings = RichTextSettings(iframe_hosts=EMBED_HOSTS, classes=tuple(sorted(kept)))
        self._text = RichText(settings, assets=self._addresses)
        self._losses, self._kept = losses, kept
        self.hosts: set[str] = set()
        self.classes: set[str] = set()

    def of_html(self, html: str, where: str, scope: str) -> str:
        """Return HTML as it will be delivered. ``scope`` is what equal losses are counted in."""
        html = characters(html)
        try:
            cleaned, _ = self._text.of_html(html)
        except ValueError as error:
            cleaned = self._as_text(html, str(error), where, scope)
        return self._told(cleaned, where, scope)

    def of_markdown(self, text: str, where: str, scope: str) -> str:
        """Return Markdown as the HTML that will be delivered."""
        text = characters(text)
        try:
            html = render(text)
        except ValueError as error:
            html = self._as_text(text, str(error), where, scope)
        return self.of_html(html, where, scope)

    def markdown(self, text: str, where: str, scope: str) -> str | None:
        """Return Markdown that compiles; ``None`` where it does not, or where addresses in it have to change."""
        text = characters(text)
        self._addresses.changed = False
        try:
            html, _ = self._text.of_markdown(text)
        except ValueError:
            html = ""
            self._addresses.changed = True
        if self._addresses.changed:
            self._forget()
            return None
        self._told(html, where, scope)
        return text

    def _told(self, cleaned: str, where: str, scope: str) -> str:
        """Return the text, its losses told."""
        for removed in self._text.removed:
            why = "rich texts do not deliver it"
            if removed.what.startswith("class "):
                why = "rich texts deliver no classes but those that 'markdown: {classes: […]}' names"
            elif removed.what == "<iframe>":
                why = (
                    "its host is not a well-known one: add it to 'markdown: {iframe_hosts: […]}' and the frame by hand"
                )
            what = _NUMBERED.sub("-…", removed.what)
            self._losses.add(where, what, why, scope=scope, count=removed.count)
        for url in self._addresses.relative:
            self._losses.add(where, f"the address {url[:100]}", _NO_BASE, scope=scope)
        self._forget()
        if "<iframe" in cleaned:
            self.hosts.update(host.lower() for host in _FRAME.findall(cleaned))
        if self._kept:
            self.classes.update(*(self._kept.intersection(one.split()) for one in _CLASSES.findall(cleaned)))
        return cleaned

    def _forget(self) -> None:
        self._text.removed.clear()
        self._text.doubts.clear()
        self._text.linked.clear()
        self._addresses.relative.clear()

    def _as_text(self, html: str, why: str, where: str, scope: str) -> str:
        """Return the visible text of HTML that cannot be kept, in paragraphs."""
        self._losses.add(where, "the markup of a rich text", why, scope=scope)
        text = unescape(_TAG.sub(" ", html))[:_LONGEST]
        return "".join(f"<p>{escape(part, quote=False)}</p>" for part in text.split("\n") if part.strip())


_LONGEST = 1_000_000


def with_relative_assets(html: str, up: str) -> str:
    """Return HTML in which copied files are named relative to a content file that is ``up`` (``../../``) below."""
    return html.replace(f'="{ASSET_BASE}', f'="{up}') if ASSET_BASE in html else html
