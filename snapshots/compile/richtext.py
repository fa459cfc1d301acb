"""Compile rich text: Markdown or HTML to sanitised HTML to visible text (decisions 14, 19 and 37; workspace-format).

Sanitising keeps the elements and attributes of nh3's own allow-list, and those that Markdown needs besides:
``class="language-…"`` on ``code`` and ``pre``, ``id``, the classes of footnotes and alerts, disabled check boxes,
``section``, ``tfoot``, video and audio, and ``rel`` and ``aria-label`` on links; of classes and of frames besides those
that the workspace names. Everything else goes: scripts, styles and their content, event handlers, forms, other frames,
and URLs of any scheme but the usual ones. No ``rel`` is added to links: authors' markup is not changed more than safety
asks for, and browsers isolate ``target="_blank"``, which is not kept anyway.

Every ``id`` begins with ``ID_PREFIX``, so that no text can take a name that a page's scripts look up (DOM clobbering).
Links to the IDs of the same text follow, as do the ``headers`` of table cells.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from html import escape, unescape
from typing import NamedTuple
from urllib.parse import unquote

import nh3

from snapshots.aliases.reading import OLD_ID, Renamed
from snapshots.compile.assets import ON_ONE_COMPUTER, Asset, Assets, MissingAsset, is_local_path
from snapshots.compile.links import InvalidLink, Link, Links, NoPageUrl
from snapshots.compile.markdown import SMALL, render
from snapshots.compile.markup import ADDRESSES, ANY_TAG, Removed, is_allowed_url, removed
from snapshots.compile.plain_html import ID_PREFIX, decoded, one_line, plain_text
from snapshots.compile.shortcodes import Shortcodes
from snapshots.definitions.model import RichTextSettings
from snapshots.paths import Steps
from snapshots.pictures.image_metadata import STRIPPED
from snapshots.pictures.picture_sizes import has_sizes, srcset

MAX_LENGTH = 4_000_000
"""Characters a rich text may have: a long book."""
MAX_NESTING = 500
"""Elements that may be open at once; the time of parsing grows with their square."""
MAX_ATTRIBUTES = 500
"""Attributes one tag may have."""
MAX_PASSES = 8
"""The most times that HTML is parsed until it no longer changes; badly broken HTML has taken four."""

_INLINE = (
    "a|abbr|acronym|area|audio|b|bdi|bdo|cite|code|data|del|dfn|em|i|iframe|img|input|ins|kbd|label|map|mark|q|rp|rt|"
    "rtc|ruby|s|samp|small|source|span|strike|strong|sub|sup|time|track|tt|u|var|video|wbr"
)
"""The allowed elements whose tags do not separate words; those of all others do."""

_MEDIA = {"src", "controls", "height", "loop", "muted", "playsinline", "poster", "preload", "width"}
_EXTRA_ATTRIBUTES = {
    "*": {"class", "id", "lang", "title"},
    "a": {"rel", "aria-label"},
    "audio": _MEDIA - {"height", "playsinline", "poster", "width"},
    "iframe": {"allowfullscreen", "height", "loading", "src", "width"},
    "img": {"loading"},
    "source": {"src", "type"},
    "track": {"default", "kind", "label", "src", "srclang"},
    "video": _MEDIA,
}
_EXTRA_TAGS = frozenset({"audio", "input", "label", "section", "source", "tfoot", "track", "video"})
_ALERTS = ("note", "tip", "important", "warning", "caution")
_CLASSES = {
    "a": frozenset({"footnote-backref"}),
    "div": frozenset({"markdown-alert", *(f"markdown-alert-{kind}" for kind in _ALERTS)}),
    "p": frozenset({"markdown-alert-title"}),
    "section": frozenset({"footnotes"}),
    "sup": frozenset({"footnote-ref"}),
}
_CODE = frozenset({"code", "pre"})
_SHOWN = 200
"""Characters of an address, and of its fault, that a message shows."""
_ENDS = frozenset("\"'()<>[]{} \t\n")
"""Characters after an address."""
_IMAGE = re.compile(r'(<img (?:[^>]* )?src="([^"]*)"[^>]*>)')
_EMPTY_ALT = re.compile(r"""\balt\s*=\s*(?:""|'')""", re.IGNORECASE)
_LOCAL_MEDIA = re.compile(
    r"<(?:img|video|audio|source)\b[^>]*?\s(?:src|poster)\s*=\s*(?:\"|')?(?P<address>[^\"'>]*)"
    r"|!\[[^\]<]*\]\((?P<text>(?:[A-Za-z]:\\|file:)[^)<]*)\)",
    re.IGNORECASE,
)
"""The address of a picture, a video or a sound; and a picture in Markdown that is none, for a blank in its path."""
_CODE_ELEMENT = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)
_LANGUAGE = re.compile("language-.")
_FRAME_URL = re.compile(r"(?:https:)?//([A-Za-z0-9.-]+)(?::[0-9]+)?(?:[/?#][^\\\s]*)?", re.IGNORECASE)
"""An address whose host every browser takes for the same."""


@dataclass(frozen=True, slots=True)
class TextDoubt:
    """A warning about a place in a text, or an error."""

    line: int
    """From 0."""
    kind: str
    message: str
    is_error: bool = False
    way: Steps = ()
    """The way from the field to the text, where that is in a group."""


SHORTCODE = "shortcode"
NO_PAGE_URL = "no-page-url"


class Left(NamedTuple):
    """What stays in a text as it is written, since no setting says what to do with it."""

    kind: str
    """``SHORTCODE`` or ``NO_PAGE_URL``."""
    what: str
    """The tag as people know it, and in a second line its name in the settings; or what is wrong with a link."""
    times: int
    line: int
    """The line of the text with the first, from 0."""
    way: Steps


class ImageDoubt(StrEnum):
    """The kinds of doubt about an image."""

    NO_SIZE = "no-size"
    """Neither its file nor the text gives its size."""
    LARGE = "large-image"
    POSITION = "position"
    """It is published with the position at which it was taken, which `strip` leaves off."""
    FIXED_POSITION = "fixed-position"
    """It is published with the position at which it was taken, which only another file does not have."""
    NO_ALT = "no-alt"
    """It has no text for those who cannot see it."""


@dataclass(frozen=True, slots=True)
class DoubtfulImage:
    """An image about which an editor is to be told once, however often it is named."""

    doubt: ImageDoubt
    what: str
    """The image's path, relative to the workspace; where it lacks a text, how one is written."""
    line: int
    """The line of the text that names it, from 0."""
    way: Steps = ()
    """The way from the field to the text, where that is in a group."""


ALT_IN_TEXTS = 'write one, as in ![Embers](oven.jpg), or <img src="oven.jpg" alt=""> for one that only decorates'
ALT_IN_FIELDS = 'write one as its alt, or alt: "" for one that only decorates'


def image_doubts(asset: Asset) -> list[ImageDoubt]:
    """Return what is doubtful of an image, wherever it is named."""
    found = [ImageDoubt.LARGE] if asset.is_large else []
    if asset.tells_position:
        may_go = asset.image is not None and asset.image.format in STRIPPED
        found.append(ImageDoubt.POSITION if may_go else ImageDoubt.FIXED_POSITION)
    return found


class RichText:
    """Compiles the rich texts of a workspace.

    ``file`` is to be set to the path of the content file, relative to the workspace, before its texts are compiled, and
    ``way`` to that from the field to a text in a group.
    Findings about the texts add up in ``removed``, ``doubts``, ``linked`` and ``images``, for the caller to take.
    """

    def __init__(
        self, settings: RichTextSettings | None = None, links: Links | None = None, assets: Assets | None = None
    ) -> None:
        self._settings, self._links, self._assets = settings or RichTextSettings(), links, assets
        self._classes = frozenset(self._settings.classes)
        attributes = deepcopy(nh3.ALLOWED_ATTRIBUTES)
        for tag, names in _EXTRA_ATTRIBUTES.items():
            attributes.setdefault(tag, set()).update(names)
        frames = {"iframe"} if self._settings.iframe_hosts else set()
        self._cleaner = nh3.Cleaner(
            tags=nh3.ALLOWED_TAGS | _EXTRA_TAGS | frames,
            attributes=attributes,
            attribute_filter=self._kept_value,
            tag_attribute_values={"input": {"type": {"checkbox"}, "checked": {"", "checked"}}},
            set_tag_attribute_values={"input": {"disabled": ""}},
            link_rel=None,
        )
        self._shortcodes = Shortcodes(self._settings.shortcodes)
        self._plain = ""
        """The text at work, with its shortcodes replaced."""
        self.file = ""
        self.way: Steps = ()
        self.removed: list[Removed] = []
        self.doubts: list[TextDoubt] = []
        self.left: list[Left] = []
        self.linked: list[tuple[int, Link, Steps]] = []
        """Links to pages, each with its line in the text, from 0, and the way to the text."""
        self._followed: dict[str, Link | InvalidLink | MissingAsset] = {}
        self.images: list[DoubtfulImage] = []
        self._addresses: dict[str, tuple[str, Asset] | None] = {}
        """Addresses as they are delivered; those of assets as they are written, and the assets."""

    def of_html(self, html: str) -> tuple[str, str]:
        """Return HTML as written, made safe and canonical, and its visible text. Text without markup stays as it is.

        Sanitising sanitised HTML changes nothing. Raises ``ValueError``, with a message that says why, for
        text that is too long, nested too deep or too badly, or holds a lone surrogate.
        """
        self._plain = html
        self._shortcodes.forget()
        return self._sanitised(html, html)

    def of_markdown(self, text: str) -> tuple[str, str]:
        """Return Markdown as sanitised HTML, and its visible text.

        Raises ``ValueError`` as ``of_html`` and ``render`` do.
        """
        _refuse_surrogates(text)
        if len(text) > MAX_LENGTH:
            raise ValueError(_too_long(text))

        def doubtful(offset: int, message: str) -> None:
            self.doubts.append(TextDoubt(text.count("\n", 0, offset), SHORTCODE, message, way=self.way))

        plain = self._shortcodes.replaced(text, doubtful, mdx=self.file.lower().endswith(".mdx"))
        self._plain = plain
        for (shown, name), places in self._shortcodes.left.items():
            line = text.count("\n", 0, places[0])
            self.left.append(Left(SHORTCODE, f"{shown}\n{name}", len(places), line, self.way))
        return self._sanitised(render(plain), text)

    def _sanitised(self, html: str, written: str) -> tuple[str, str]:
        if _NEEDS_PARSING.search(html) is None:
            _refuse_surrogates(html)
            return html, one_line(html)
        if len(html) <= MAX_LENGTH:
            # A quote in text needs no entity; a quote inside an attribute's value makes HTML that is not plain.
            plain = html.replace("&quot;", '"') if "&" in html else html
            text = plain_text(plain)
            if text is not None:
                if ":\\" in html or "](file:" in html:
                    self._tell_local_paths(html, written)
                return plain, text
        _refuse_costly(html)
        self._followed.clear()
        self._addresses.clear()
        try:
            settled = self.settled(html)
        except UnicodeEncodeError:
            _refuse_surrogates(html)
            raise
        lost = removed(html, settled, written, self.way)
        self.removed += lost
        if ":\\" in html or any(one.what.startswith(("src of", "poster of")) for one in lost):
            self._tell_local_paths(html, written)
        if self._followed:
            self._tell_links(written)
        if "<img" in settled:
            settled = _IMAGE.sub(partial(self._image, written), settled)
        return settled, visible_text(settled)

    def _image(self, written: str, image: re.Match[str]) -> str:
        """Return an image's tag with what browsers need to know before they fetch it, unless it says so itself."""
        tag = image[0]
        href, asset = self._addresses.get(image[2]) or (unescape(image[2]), None)
        self._judge(tag, href, asset, written)
        if asset is None:
            return tag
        more = ""
        if asset.size is not None and " width=" not in tag and " height=" not in tag:
            more += f' width="{asset.size[0]}" height="{asset.size[1]}"'
        if " loading=" not in tag:
            more += ' loading="lazy"'
        widths = self._settings.image_widths
        if widths and asset.image is not None and has_sizes(asset.image) and not {"?", "#"} & set(asset.url):
            offered = srcset(escape(asset.url), asset.image.size[0], widths)
            more += f' srcset="{offered}" sizes="auto, 100vw"' if offered else ""
        return f"{tag[:-1]}{more}>"

    def _judge(self, tag: str, href: str, asset: Asset | None, written: str) -> None:
        """Note what is doubtful about an image."""
        found = [] if asset is None else [(doubt, asset.path) for doubt in image_doubts(asset)]
        if asset is not None and asset.lacks_size and " width=" not in tag and " height=" not in tag:
            found.append((ImageDoubt.NO_SIZE, asset.path))
        # Markdown has no other way to write an empty text, HTML says by it that an image only decorates.
        if ' alt="' not in tag or (' alt=""' in tag and _EMPTY_ALT.search(written) is None):
            found.append((ImageDoubt.NO_ALT, ALT_IN_TEXTS))
        if found:
            line = self._line_of(href, written)
            self.images += [DoubtfulImage(doubt, what, line, self.way) for doubt, what in found]

    def _tell_links(self, written: str) -> None:
        for href, found in self._followed.items():
            line = self._line_of(href, written)
            if isinstance(found, Link):
                self.linked.append((line, found, self.way))
                if found.old_id is not None:
                    message = (
                        f"the link {_cut(href)} leads to {found.entry_id!r} by its old ID {found.old_id!r}: write its "
                        f"address, {_cut(found.href)}"
                    )
                    self.doubts.append(TextDoubt(line, OLD_ID, message, way=self.way))
            elif isinstance(found, MissingAsset):
                self._tell_missing(line, href, found)
            elif isinstance(found, NoPageUrl):
                self.left.append(Left(NO_PAGE_URL, str(found), 1, line, self.way))
            else:
                message = f"the link {_cut(href)} {_cut(str(found))}: it is delivered as written"
                self.doubts.append(TextDoubt(line, "dangling-link", message, way=self.way))

    def _tell_missing(self, line: int, href: str, found: MissingAsset) -> None:
        message = f"{_cut(href)} {_cut(str(found))}"
        allowed = self._settings.allows_missing_assets
        message += ": it is delivered as written" if allowed else ""
        self.doubts.append(TextDoubt(line, "missing-asset", message, is_error=not allowed, way=self.way))

    def _tell_local_paths(self, html: str, written: str) -> None:
        """Report pictures, videos and sounds that are named by a path on one computer."""
        for found in _LOCAL_MEDIA.finditer(_CODE_ELEMENT.sub("", html)):
            href = unquote(unescape(found["address"] or found["text"])).strip()
            if is_local_path(href):
                message = f"{_cut(href)} {ON_ONE_COMPUTER}"
                line = self._line_of(href, written)
                self.doubts.append(TextDoubt(line, "missing-asset", message, is_error=True, way=self.way))

    def _line_of(self, href: str, written: str) -> int:
        """Return the line, from 0, on which an address first stands in a text; 0 where it does not."""
        offset = max(_find_address(self._plain, href), _find_address(self._plain, unquote(href)), 0)
        return written.count("\n", 0, self._shortcodes.written_at(offset))

    def settled(self, html: str) -> str:
        """Return sanitised HTML, by the parser alone."""
        # Removing an element can make its content parse differently (a paragraph inside a paragraph), so the result is
        # parsed again until it stays as it is. Canonical HTML is parsed once.
        html = _without_foreign_names(html)
        for _ in range(MAX_PASSES):
            html = html.lstrip("\ufeff")  # the parser drops a byte order mark, and only one
            cleaned = self._cleaner.clean(html)
            if "<input" in cleaned:
                cleaned = _OTHER_INPUT.sub("", cleaned)
            if "<iframe" in cleaned:
                cleaned = _OTHER_IFRAME.sub("", _IN_IFRAME.sub(r"\1", cleaned))
            if "<pre" in cleaned:
                # The parser drops the line end after <pre>, and the serialiser does not put it back.
                cleaned = _LEADING_LINES_OF_PRE.sub(r"\1", cleaned)
            if cleaned == html:
                return _with_links_to_ids(cleaned)
            html = cleaned
        raise ValueError("HTML so badly nested that it changes whenever it is parsed: close its elements in order")

    def _kept_value(self, tag: str, attribute: str, value: str) -> str | None:
        """Return the allowed part of an attribute's value; ``None`` removes the attribute."""
        if attribute == "class":
            return " ".join(name for name in value.split() if self._is_kept_class(tag, name)) or None
        if attribute == "id":
            return _prefixed(value) if value not in ("", ID_PREFIX) else None
        if attribute == "headers":
            return " ".join(map(_prefixed, value.split())) or None
        if attribute == "loading" and tag == "img":
            return value if value in ("eager", "lazy") else None
        if attribute == "cite":
            return value if is_allowed_url(value) else None
        if attribute in ADDRESSES and tag != "iframe":
            return self._address(value)
        if tag == "iframe" and attribute == "src":
            return value if self._is_allowed_frame(value) else None
        return value

    def _address(self, href: str) -> str:
        """Return the address to deliver for one in a text."""
        if href in self._addresses:  # as it is when parsed again
            return href
        try:
            link = self._links.resolved(self.file, href) if self._links is not None else None
            if link is not None:
                self._followed[href] = link
                self._addresses[link.href] = None
                return link.href
            asset = self._assets.found(self.file, href) if self._assets is not None else None
        except (InvalidLink, MissingAsset) as error:
            self._followed[href] = error
            return href
        if asset is None:
            return href
        self._addresses[escape(asset.url)] = href, asset
        return asset.url

    def lead_on(self, renamed: Renamed) -> None:
        """Have links by old IDs lead to the entries that had them, from now on."""
        if self._links is not None:
            self._links.renamed = renamed

    def asset(self, url: str) -> Asset | None:
        """Return the asset that an address in a field leads to; ``None`` for any other. Raises ``MissingAsset``."""
        try:
            return self._assets.found(self.file, url) if self._assets is not None else None
        except MissingAsset as error:
            if not self._settings.allows_missing_assets:
                raise
            self._tell_missing(0, url, error)
            return None

    def _is_kept_class(self, tag: str, name: str) -> bool:
        if name in self._classes:
            return True
        return _LANGUAGE.match(name) is not None if tag in _CODE else name in _CLASSES.get(tag, ())

    def _is_allowed_frame(self, url: str) -> bool:
        found = _FRAME_URL.fullmatch(url)
        if found is None:
            return False
        host = found[1].lower()
        return any(
            host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed
            for allowed in self._settings.iframe_hosts
        )


_NAME_OF_TAG = re.compile("<([a-zA-Z][a-zA-Z0-9]*)")
_WITHOUT_TEXT = frozenset({"script", "style", "template"})


@lru_cache(maxsize=1_000)
def _loses_text(name: str) -> bool:
    """Return whether the cleaner removes elements of a name with the text in them, though they are not scripts.

    It does so where SVG or MathML has an element of the name, such as ``card``, ``list`` or ``text``.
    """
    return name not in _WITHOUT_TEXT and "x" not in nh3.clean(f"<{name}>x</{name}>")


def _without_foreign_names(html: str) -> str:
    """Return HTML whose unknown elements have names under which the cleaner removes their tags alone."""
    lost = {name for name in {*map(str.lower, _NAME_OF_TAG.findall(html))} - nh3.ALLOWED_TAGS if _loses_text(name)}
    if not lost:
        return html
    return ANY_TAG.sub(
        lambda tag: f"<{tag[1]}x-{tag[2]}{tag[3]}" if tag[2].lower() in lost else tag[0],
        html,
    )


def _prefixed(identifier: str) -> str:
    return identifier if identifier.startswith(ID_PREFIX) else ID_PREFIX + identifier


_LINK_TO_ID = re.compile(r'(<a(?: [^>]*)? href="#)([^"]+)"')
_ID = re.compile(r'<[^>]* id="([^"]*)"')
# Sanitised HTML is canonical: in text and in attribute values alike, every < and > is an entity.
_NEEDS_PARSING = re.compile("[<>&\r\0\xa0\ufeff]")
_LEADING_LINES_OF_PRE = re.compile(r"(<pre(?: [^>]*)?>)\n+")
_OTHER_INPUT = re.compile(r'<input(?![^>]* type="checkbox")[^>]*>')
_OTHER_IFRAME = re.compile(r"<iframe(?![^>]* src=)[^>]*></iframe>")
_IN_IFRAME = re.compile(r"(<iframe[^>]*>)(?:(?!</iframe>).)*", re.DOTALL)
_SEPARATING_TAG = rf"<(?!/?(?:{_INLINE})[ >])[^>]*>"
_SEPARATION = re.compile(rf"{_SEPARATING_TAG}(?:\s*{_SEPARATING_TAG})*\s*")
_TAG = re.compile(r"<[^>]*>")


def _with_links_to_ids(cleaned: str) -> str:
    """Return HTML whose links to IDs of the same text lead to the prefixed ones; others may mean the page around it."""
    if 'href="#' not in cleaned:
        return cleaned
    identifiers = set(map(unescape, _ID.findall(cleaned)))

    def followed(link: re.Match[str]) -> str:
        target = unquote(unescape(link[2]))
        if target in identifiers or ID_PREFIX + target not in identifiers:
            return link[0]
        return f'{link[1]}{ID_PREFIX}{link[2]}"'

    return _LINK_TO_ID.sub(followed, cleaned)


def visible_text(sanitised: str) -> str:
    """Return the text that a reader sees of sanitised HTML, as one line (decision 37).

    Tags are dropped and entities decoded; starts and ends of blocks, ``<br>`` and table cells separate words,
    and a run of white space is one space. Only right for the output of ``RichText``.
    """
    text = sanitised
    if "<" in text:
        text = _SEPARATION.sub(" ", text)
        if "<" in text:
            text = _TAG.sub("", text)
    if "&" in text:
        text = decoded(text)
    return one_line(text)


_ANY_ATTRIBUTE = re.compile(r"""[^\s/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
# Elements without content, and those that the next of their kind closes: never nested by being repeated.
_NEVER_NESTED = re.compile(
    "area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|rp|rt|source|tbody|td|tfoot|th|thead|tr|"
    "track|wbr",
    re.IGNORECASE,
)


def _refuse_costly(html: str) -> None:
    if len(html) <= SMALL:
        return
    if len(html) > MAX_LENGTH:
        raise ValueError(_too_long(html))
    open_elements = 0
    for slash, name, attributes in ANY_TAG.findall(html):
        if len(attributes) > MAX_ATTRIBUTES and len(_ANY_ATTRIBUTE.findall(attributes)) > MAX_ATTRIBUTES:
            raise ValueError(f"a <{name[:20]}> tag has more than {MAX_ATTRIBUTES} attributes")
        if _NEVER_NESTED.fullmatch(name) is None:
            open_elements = max(0, open_elements - 1) if slash else open_elements + 1
            if open_elements > MAX_NESTING:
                raise ValueError(
                    f"more than {MAX_NESTING} HTML elements are open at once: close elements such as <{name[:20]}>"
                )


def _find_address(text: str, href: str) -> int:
    """Return the place at which an address first stands in a text, if it can not as the beginning of a longer one."""
    first = at = text.find(href)
    while at >= 0:
        following = text[at + len(href) : at + len(href) + 1]
        if not following or following in _ENDS:
            return at
        at = text.find(href, at + 1)
    return first


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _too_long(text: str) -> str:
    return f"a rich text of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed: split the entry"


def _refuse_surrogates(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(
            f"half of a surrogate pair (U+{code:04X}) at character {error.start + 1}: remove it, or write the whole "
            "character"
        ) from None
