"""The examples that ``cms demo`` can serve: their content, requests to try, and page views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.creating.sample_views import reference_views, sample_views

if TYPE_CHECKING:
    from engine.views.collecting.spool import View

EXAMPLE: Final = Path(__file__).parent / "example"


@dataclass(frozen=True)
class Example:
    """A workspace that is bundled."""

    folder: Path
    requests: tuple[tuple[str, str], ...]
    """Requests to try: a title, and the path and query below the workspace."""
    draft: tuple[str, str, str]
    """Endpoint, entry and language of the unpublished changes to preview."""
    draft_key: str | None
    """The draft key that the draft's file names; ``None`` for the derived one."""
    preview: tuple[str, str]
    """The request that previews them, as in ``requests``."""
    views: Callable[[int], list[View]]
    """Returns made-up page views as of an instant (UTC milliseconds)."""


EXAMPLES: Final = {
    "komugi": Example(
        EXAMPLE,
        (
            ("The newest breads", "breads?limit=2"),
            ("One of them", "breads/melon-bread"),
            (
                "In Japanese, or in English if there is no translation",
                "breads?lang=ja&lang_fallback=true&include=_langs&fields=name",
            ),
            ("With references expanded two levels deep", "journal/the-night-oven?depth=2&fields=title,author"),
            (
                "Filtered and sorted",
                "breads?filters=vegan[equals]true[and]price[less_than]1000&orders=-price&fields=name,price",
            ),
            ("Entries that contain a word", "journal?q=oven&fields=title"),
            ("An object API", "shop?fields=title,welcome,todays_bread"),
            (
                "The most viewed first (the demo comes with four weeks of made-up page views)",
                "breads?orders=-views&fields=name",
            ),
            ("The APIs and their fields", "_schema"),
        ),
        draft=("journal", "the-night-oven", "en"),
        draft_key=None,
        preview=("Unpublished changes, with their draft key", "journal/the-night-oven?fields=title,tags"),
        views=sample_views,
    ),
    "acme": Example(
        Path(__file__).parent / "acme",
        (
            ("A list", "blog?limit=1&fields=title"),
            ("One entry", "blog/hello"),
            ("In Japanese, or in English if there is no translation", "blog?lang=ja&lang_fallback=true&fields=title"),
            ("Filtered", "blog?fields=title&filters=rating[greater_than]3"),
            ("An object API", "site?depth=0"),
            ("How often entries were viewed", "_views/blog?ids=hello,second,mika&days=7"),
            ("The APIs and their fields", "_schema"),
        ),
        draft=("blog", "hello", "en"),
        draft_key="hello-preview",
        preview=("Unpublished changes, with their draft key", "blog/hello?fields=title"),
        views=reference_views,
    ),
}
"""The bakery that all guides are about, and the content of the examples in ``docs/delivery-api.md``."""
