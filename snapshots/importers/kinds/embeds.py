"""Write the HTML that shows a video or any other page by its address."""

from __future__ import annotations

import re
from html import escape

_YOUTUBE = re.compile(
    r"https?://(?:www\.|m\.)?(?:youtube\.com/(?:watch\?(?:[^#]*&)?v=|embed/|shorts/)|youtu\.be/)([\w-]{6,})"
)
_VIMEO = re.compile(r"https?://(?:www\.|player\.)?vimeo\.com/(?:video/)?([0-9]+)")


def embed(url: str) -> str:
    """Return the HTML for an address that stands alone: a video's frame, or a link."""
    for pattern, base in (
        (_YOUTUBE, "https://www.youtube-nocookie.com/embed/"),
        (_VIMEO, "https://player.vimeo.com/video/"),
    ):
        found = pattern.match(url)
        if found is not None:
            return f'<iframe src="{base}{found[1]}" allowfullscreen></iframe>'
    return f'<p><a href="{escape(url)}">{escape(url)}</a></p>'
