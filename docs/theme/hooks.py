"""What the pages of ``docs/`` need to become a site: they are written to be read in the repository too."""

from __future__ import annotations

import re
from typing import Any

_FENCE = re.compile(r"^(\s*```[a-z]+) (.+)$", re.MULTILINE)
_TITLE = re.compile(r"title=(\S+)")
_OUTSIDE = re.compile(r"\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Return a page whose fenced blocks have titles as the site writes them, and whose links out of ``docs/`` lead to
    the repository."""

    def opened(fence: re.Match[str]) -> str:
        title = _TITLE.search(fence[2])
        return f'{fence[1]} title="{title[1]}"' if title is not None else fence[1]

    markdown = _FENCE.sub(opened, markdown)
    return _OUTSIDE.sub(lambda link: f"]({config.extra['repository']}/blob/main/{link[1]})", markdown)
