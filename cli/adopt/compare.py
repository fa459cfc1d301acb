"""``cms adopt compare``: compare the entries of a workspace with the pages that the site's generator made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import store_at, usable_cache, workspace_directory
from cli.options import Json, StoreLocation, WorkspaceDirectory
from cli.output import documents, lines
from cli.output.progress import progress
from cli.output.wording import plural
from snapshots.times import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from snapshots.adoption.proof.comparison import Comparison, Only, Pair

_SHOWN = 10
"""Places of each kind that a terminal gets; the page and the JSON document have all."""


def compare(
    public: Annotated[
        Path,
        typer.Argument(
            metavar="PUBLIC",
            help="The folder that the generator wrote, such as public, _site or dist; or a sitemap.xml with the pages "
            "saved in the folder around it.",
            show_default=False,
        ),
    ],
    workspace: WorkspaceDirectory = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--site",
            metavar="SITE",
            help="The folder of the site, if the workspace is a copy of its content.  [default: the workspace]",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write the report as a page.", show_default=False),
    ] = None,
    store: StoreLocation = None,
    json: Json = False,
) -> None:
    """Compare a workspace with the pages that a site generator made of the same content.

    For every entry that is live, the page is found, and its text, title, dates and language are compared. Entries that
    the site does not publish are listed, and pages that no entry is behind. The exit status is 1 if there is an entry
    that the site does not publish.
    """
    from snapshots.adoption.proof.built_pages import read_built
    from snapshots.adoption.proof.comparison import compared
    from snapshots.adoption.proof.page import report_page
    from snapshots.build.build import survey

    root = workspace_directory(workspace)
    built = read_built(public)
    with usable_cache(store_at(store, root)) as cache, progress() as tell:
        surveyed = survey(root, cache, progress=tell)
        found = compared(root, root if site is None else site, surveyed, built, now_ms())
    if html is not None:
        html.write_text(report_page(found, root.resolve().name), encoding="utf-8")
    if json:
        documents.write_json(_document(found))
    else:
        _print(found)
    if html is not None:
        lines.message(f"The report is in {html}")
    if found.unpublished:
        raise typer.Exit(1)


def _print(found: Comparison) -> None:
    from snapshots.adoption.proof.comparison import Aspect

    lines.answer(f"{plural(found.pages, 'page')}, {plural(found.entries, 'entry')}")
    same = sum(not pair.otherwise for pair in found.pairs)
    lines.answer(f"Entries that say what their pages say: {same:,} of {len(found.pairs):,}")
    _places("Published here, and not by the site", found.unpublished, always=True)
    for aspect in Aspect:
        differs = "differ" if aspect is Aspect.MARKS else "differs"
        _places(f"Entries whose {aspect} {differs}", found.differing(aspect))
    _places("Entries on the page of another, or in a list", found.inside)
    _places("Pages whose content is not live here", found.held_back)
    _places("Pages with a text that is in no content file", found.unknown)
    for what, some in (
        ("Entries that are data for other pages", found.data),
        ("Pages made by templates alone", found.templates),
        ("Pages that only lead elsewhere", found.redirects),
        ("Pages in the sitemap that are not saved", found.unsaved),
    ):
        if some:
            lines.answer(f"{what}: {len(some):,}")


def _places(heading: str, some: Sequence[Pair | Only], *, always: bool = False) -> None:
    if not some and not always:
        return
    lines.answer(f"{heading}: {len(some):,}")
    for one in some[:_SHOWN]:
        lines.answer(f"  {_place(one)}")
    if len(some) > _SHOWN:
        lines.answer(f"  and {len(some) - _SHOWN:,} more; --html and --json have all")


def _place(one: Pair | Only) -> str:
    from snapshots.adoption.proof.comparison import Pair

    if isinstance(one, Pair):
        return f"{one.file}: {one.page}"
    place = f"{one.name}: {one.file}" if one.file else one.name
    return f"{place}, {one.why}" if one.why else place


def _document(found: Comparison) -> dict[str, object]:
    def only(name: str, some: Iterable[Only]) -> list[dict[str, str]]:
        every = ({name: one.name, "file": one.file, "why": one.why} for one in some)
        return [{key: value for key, value in one.items() if value} for one in every]

    return {
        "generator": found.generator,
        "pages": found.pages,
        "entries": found.entries,
        "same": sum(not pair.otherwise for pair in found.pairs),
        "differing": [
            {
                "entry": pair.entry,
                "file": pair.file,
                "page": pair.page,
                "otherwise": [
                    {"in": one.aspect, "entry": place.entry, "page": place.page}
                    for one in pair.otherwise
                    for place in one.differences
                ],
            }
            for pair in found.pairs
            if pair.otherwise
        ],
        "unpublished": only("entry", found.unpublished),
        "inside": only("entry", found.inside),
        "data": only("entry", found.data),
        "keptBack": only("page", found.held_back),
        "unknown": only("page", found.unknown),
        "templates": list(found.templates),
        "redirects": list(found.redirects),
        "notSaved": list(found.unsaved),
    }
