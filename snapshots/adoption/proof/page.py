"""Write a comparison as one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from snapshots.adoption.proof.comparison import Aspect, Comparison, Only, Pair

_STYLE: Final = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_PLACES: Final = 5
"""Places of one text that are shown."""
_NAMES: Final = {
    Aspect.TEXT: "Text that differs",
    Aspect.MARKS: "Marks that differ",
    Aspect.TITLE: "Title that differs",
    Aspect.DATE: "Date that differs",
    Aspect.LANGUAGE: "Language that differs",
}


def report_page(found: Comparison, workspace: str) -> str:
    """Return the page as text. Everything on it that comes from content or pages is escaped."""
    title = f"{workspace} and its site"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n<style>\n{_STYLE}</style>\n</head>\n<body>\n'
        f"<header><h1>{escape(title)}</h1>\n<p>{_counted(found.entries, 'entry', 'entries')} compared with "
        f"{_counted(found.pages, 'page', 'pages')}{_made_by(found)}</p></header>\n<main>\n{_verdict(found)}"
        f"{''.join(_sections(found))}</main>\n</body>\n</html>\n"
    )


def _made_by(found: Comparison) -> str:
    return "" if found.generator == "plain" else f" that {escape(found.generator)} made"


def _verdict(found: Comparison) -> str:
    same = sum(not pair.otherwise for pair in found.pairs)
    numbers = (
        (found.unpublished, "published here, and not by the site", True),
        (found.held_back, "pages whose content is not live here", False),
        (found.differing(Aspect.TEXT), "texts that differ", False),
    )
    cells = [f"<li><strong>{same:,}</strong> of {len(found.pairs):,} pages as their entries</li>"]
    for some, what, is_wrong in numbers:
        mark = ' class="wrong"' if is_wrong and some else ""
        cells.append(f"<li{mark}><strong>{len(some):,}</strong> {what}</li>")
    return f'<ul class="numbers">{"".join(cells)}</ul>\n'


def _sections(found: Comparison) -> Iterable[str]:
    yield _only(
        "Published here, and not by the site",
        "These entries are live, and the site has no page with their text: leave them out, or find out why their pages "
        "were not found.",
        found.unpublished,
    )
    for aspect in Aspect:
        yield _pairs(_NAMES[aspect], found.differing(aspect), aspect)
    yield _only(
        "Pages whose content is not live here",
        "The site has these pages. Their files are here, and are kept back for the reason that stands beside each.",
        found.held_back,
    )
    yield _only(
        "Pages with a text that is in no content file",
        "Templates or other files hold the text of these pages, or their content is missing.",
        found.unknown,
    )
    yield _only("Entries on the page of another", "Their whole text stands on the page beside each.", found.inside)
    yield _only("Entries that are data", "The generator makes other pages with these.", found.data)
    for name, addresses in (
        ("Pages made by templates alone", found.templates),
        ("Pages that only lead elsewhere", found.redirects),
        ("Pages in the sitemap that are not saved", found.unsaved),
    ):
        yield _addresses(name, addresses)


def _only(name: str, about: str, some: Sequence[Only]) -> str:
    if not some:
        return ""
    rows = "".join(
        f"<li><b>{escape(one.name)}</b>{_code(one.file)}{f' <span>{escape(one.why)}</span>' if one.why else ''}</li>\n"
        for one in some
    )
    return f"<section>\n<h2>{name} <small>{len(some):,}</small></h2>\n<p>{about}</p>\n<ul>\n{rows}</ul>\n</section>\n"


def _code(file: str) -> str:
    return f" <code>{escape(file)}</code>" if file else ""


def _pairs(name: str, pairs: Sequence[Pair], aspect: Aspect) -> str:
    if not pairs:
        return ""
    rows = "".join(_differing(pair, aspect) for pair in pairs)
    return f"<section>\n<h2>{name} <small>{len(pairs):,}</small></h2>\n{rows}</section>\n"


def _differing(pair: Pair, aspect: Aspect) -> str:
    places = [place for one in pair.otherwise if one.aspect is aspect for place in one.differences]
    shown = "".join(
        f"<dt>here</dt><dd>{_marked(place.entry)}</dd><dt>site</dt><dd>{_marked(place.page)}</dd>\n"
        for place in places[:_PLACES]
    )
    more = f"<p>and {len(places) - _PLACES:,} more places</p>\n" if len(places) > _PLACES else ""
    return (
        f"<article>\n<h3>{escape(pair.entry)}</h3>\n<p><code>{escape(pair.file)}</code> "
        f"<code>{escape(pair.page)}</code></p>\n<dl>\n{shown}</dl>\n{more}</article>\n"
    )


def _marked(shown: str) -> str:
    """Return the words of a difference, with a mark around those that differ."""
    before, opened, rest = shown.partition("[")
    inside, closed, after = rest.rpartition("]")
    if not (opened and closed):
        return escape(shown) or "<i>nothing</i>"
    marked = f"<mark>{escape(inside)}</mark>" if inside else "<i>nothing</i>"
    return f"{escape(before)}{marked}{escape(after)}"


def _addresses(name: str, addresses: Sequence[str]) -> str:
    if not addresses:
        return ""
    rows = "".join(f"<li><code>{escape(one)}</code></li>\n" for one in addresses)
    return f"<details>\n<summary>{name}: {len(addresses):,}</summary>\n<ul>\n{rows}</ul>\n</details>\n"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
