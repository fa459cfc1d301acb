"""Render the text of a WordPress post as HTML: paragraphs of classic posts, blocks, embeds and shortcodes.

Classic posts have no ``<p>``: WordPress makes paragraphs of blank lines when it shows them, and so does this. Posts of
the block editor are HTML with a comment around each block.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Final

from snapshots.importers.kinds.embeds import embed

Tell = Callable[[str, str], None]
"""Reports a loss, given what is lost and why."""
Media = Callable[[str], tuple[str, str] | None]
"""Returns the address and the alternative text of an attachment, given its number."""

ALIGNMENTS: Final = frozenset(
    {
        *("alignleft", "alignright", "aligncenter", "alignwide", "alignfull"),
        *("has-text-align-left", "has-text-align-center", "has-text-align-right"),
    }
)
"""The classes by which WordPress says where a picture or a text stands."""

_BLOCKS = (
    "table|thead|tfoot|caption|col|colgroup|tbody|tr|td|th|div|dl|dd|dt|ul|ol|li|pre|form|map|area|blockquote|address|"
    "style|p|h[1-6]|hr|fieldset|legend|section|article|aside|hgroup|header|footer|nav|figure|figcaption|details|menu|"
    "summary|iframe|video|audio|script"
)
_OPENS = re.compile(rf"(<(?:{_BLOCKS})(?=[\s/>]))", re.IGNORECASE)
_CLOSES = re.compile(rf"(</(?:{_BLOCKS})>)", re.IGNORECASE)
_ALONE = re.compile(r"(<hr\s*/?>)", re.IGNORECASE)
_KEPT = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
_IS_BLOCK = re.compile(rf"\s*</?(?:{_BLOCKS})(?=[\s/>])", re.IGNORECASE)
_HELD = re.compile("\x02([0-9]+)\x03")

_ENDS_WORDS = re.compile("</(?:p|h[1-6]|summary|legend|caption|dt|pre)>", re.IGNORECASE)
"""The ends of blocks that hold no paragraphs."""
_COMMENT = re.compile("<!--")
_BLOCK = re.compile(r"\s+/?wp:([a-z0-9/_-]+)\s")
_EMBED = re.compile(
    r'<div class="wp-block-embed__wrapper">\s*(https?://[^\s<"]+)\s*</div>|^[ \t]*(https?://[^\s<"]+)[ \t]*$',
    re.MULTILINE,
)
_SHORTCODE = re.compile(r"\[(\[?)(/?)([A-Za-z][\w-]*)(?=[\s=/\]])([^\[\]<>]*?)(/?)\](\]?)")
_EMBEDDED = re.compile(r"\[embed[^\]\[]*\]\s*([^\s\[]+)\s*\[/embed\]")
_CAPTION = re.compile(r"\[(caption|wp_caption)([^\]\[]*)\]")
_PARAMETER = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""")
_IMAGE = re.compile(r"(?:<a[^<>]*>\s*)?<img[^<>]*>(?:\s*</a>)?", re.IGNORECASE)


def post_html(text: str, media: Media, tell: Tell) -> str:
    """Return a post's text as HTML. ``media`` finds the pictures of galleries; ``tell`` is told of every loss."""
    is_blocks = "<!-- wp:" in text
    if is_blocks:
        text = _without_comments(text, tell)
    text = _EMBED.sub(lambda found: f"\n\n{embed(found[1] or found[2])}\n\n", text)
    text = _shortcodes(text, media, tell)
    return text.strip() if is_blocks else paragraphs(text)


def paragraphs(text: str) -> str:
    """Return text in which blank lines separate paragraphs, and other line ends are line ends, as HTML."""
    held: list[str] = []

    def hold(_: re.Match[str], whole: str) -> str:
        held.append(whole)
        return f"\n\n\x02{len(held) - 1}\x03\n\n"

    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x02", "").replace("\x03", "")
    text = _enclosed(text, _KEPT, lambda found: f"</{found[1].lower()}>", hold)
    text = _OPENS.sub(r"\n\n\1", text)
    text = _CLOSES.sub(r"\1\n\n", text)
    text = _ALONE.sub(r"\1\n\n", text)
    made = []
    for part in filter(None, map(str.strip, re.split(r"\n\s*\n", text))):
        if _HELD.fullmatch(part):
            made.append(held[int(part[1:-1])])
        elif _IS_BLOCK.match(part):
            made.append(part)
        else:
            closing = _CLOSES.search(part)  # text in front of the end of the block around it
            inside, rest = (part, "") if closing is None else (part[: closing.start()], part[closing.start() :])
            lines = "<br>\n".join(line.strip() for line in inside.strip().split("\n"))
            made.append((f"<p>{lines}</p>" if lines and not _ENDS_WORDS.match(rest) else lines) + rest)
    return "\n".join(made)


def _enclosed(
    text: str,
    opening: re.Pattern[str],
    closing: Callable[[re.Match[str]], str],
    replaced: Callable[[re.Match[str], str], str],
) -> str:
    """Replace what stands from each ``opening`` to the next ``closing``, both included, in one pass.

    ``replaced`` takes the opening and the whole. An opening without a closing stays.
    """
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text  # a few letters become two
    missing: set[str] = set()
    made, at = [], 0
    for found in opening.finditer(text):
        end = closing(found)
        if found.start() < at or end in missing:
            continue
        end_at = lower.find(end, found.end())
        if end_at < 0:
            missing.add(end)
            continue
        made += [text[at : found.start()], replaced(found, text[found.start() : end_at + len(end)])]
        at = end_at + len(end)
    return "".join([*made, text[at:]])


def _without_comments(text: str, tell: Tell) -> str:
    def block(_: re.Match[str], whole: str) -> str:
        named = _BLOCK.match(whole, 4)
        if named is None:
            return whole
        if named[1] in ("block", "core/block"):
            why = "it is not inserted: its content is an entry of the API wp_block, if the export contains it"
            tell("a reusable block", why)
        elif whole.endswith("/-->") and named[1] not in ("more", "nextpage", "spacer", "separator"):
            tell(f"the block {named[1]}", "WordPress makes its content when the page is shown, so the export has none")
        return ""

    return re.sub(r"\n{3,}", "\n\n", _enclosed(text, _COMMENT, lambda _: "-->", block))


def _shortcodes(text: str, media: Media, tell: Tell) -> str:
    """Replace the shortcodes of WordPress itself, and take those of plugins out; what they enclose stays."""
    if "[" not in text:
        return text
    closed = {found[3] for found in _SHORTCODE.finditer(text) if found[2]}

    def replaced(found: re.Match[str]) -> str:
        name, parameters = found[3], dict(_parameters(found[4]))
        if found[1] and found[6]:
            return found[0][1:-1]  # [[name]] shows a shortcode
        if name == "gallery" and not found[2]:
            return _gallery(parameters.get("ids") or parameters.get("include", ""), media, tell)
        if name in ("video", "audio") and not found[2]:
            source = next(
                (parameters[key] for key in ("src", "mp4", "webm", "mp3", "m4a", "ogg") if key in parameters), ""
            )
            return f'<{name} controls src="{escape(source)}"></{name}>' if source else ""
        if name in ("video", "audio", "gallery"):
            return ""
        if parameters or name in closed or found[5]:
            if not found[2]:
                tell(f"the shortcode [{name}]", "only its plugin can render it; the text in it stays")
            return ""
        return found[0]  # text in brackets, as [sic]

    text = _EMBEDDED.sub(lambda found: embed(found[1]), text)
    text = _enclosed(text, _CAPTION, lambda found: f"[/{found[1]}]", _caption)
    return _SHORTCODE.sub(replaced, text)


def _caption(found: re.Match[str], whole: str) -> str:
    inside = whole[len(found[0]) : -len(found[1]) - 3]
    image = _IMAGE.search(inside)
    if image is None:
        return inside
    words = (inside[: image.start()] + inside[image.end() :]).strip()
    parameters = dict(_parameters(found[2]))
    words = words or escape(parameters.get("caption", ""))
    stands = parameters.get("align")
    opening = f'<figure class="{stands}">' if stands in ALIGNMENTS else "<figure>"
    return f"\n\n{opening}{image[0]}<figcaption>{words}</figcaption></figure>\n\n"


def _gallery(ids: str, media: Media, tell: Tell) -> str:
    if not ids.strip(" ,"):
        why = "WordPress fills it with the pictures attached to the post when the page is shown"
        tell("a gallery that lists no pictures", why)
        return ""
    made = []
    for number in ids.replace(" ", "").split(","):
        found = media(number)
        if found is None:
            tell("a picture of a gallery", "the export does not contain its attachment")
        else:
            made.append(f'<figure><img src="{escape(found[0])}" alt="{escape(found[1])}"></figure>')
    return "\n\n" + "\n".join(made) + "\n\n"


def _parameters(text: str) -> list[tuple[str, str]]:
    return [(found[1], found[2] or found[3] or found[4] or "") for found in _PARAMETER.finditer(text)]
