"""``cms review``: compare a workspace with what is published, and write a comment for a pull request."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.changes.report import Report
from cli.location import workspace_directory
from cli.options import AssetsHost, Json, WorkspaceDirectory, assets_host, new_app
from cli.output import documents, lines
from cli.remote.server import KEY_VARIABLE
from cli.review.comment import Review, comment
from cli.review.compared import Compare, compared, live_public_url, live_store, with_checkout, with_live, with_nothing
from cli.review.outputs import print_review, review_document
from cli.review.posting import SERVICES, post
from snapshots.problems import Problems
from snapshots.times import now_ms

if TYPE_CHECKING:
    from snapshots.store.store import Store

app = new_app()


@app.command()
def review(
    workspace: WorkspaceDirectory = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base",
            metavar="DIR",
            help="Compare with this workspace, such as a checkout of the main branch.",
        ),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="STORE",
            show_default=False,
            help="Compare with what is live: in a store (a directory, or a bucket and path as s3://…), or on a server, "
            f"such as https://cms.example.com/v1/acme; {KEY_VARIABLE} has the key.",
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            "--site",
            metavar="URL",
            help="A site that shows this content; added and changed entries link to their pages there.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--post",
            metavar="SERVICE",
            help="Post the review as a comment: github or gitlab, set up from the CI job's environment.  "
            "[default: only print it]",
        ),
    ] = None,
    fail_on_breaking: Annotated[
        bool, typer.Option("--fail-on-breaking", help="Exit with status 1 also if a change breaks clients.")
    ] = False,
    public_url: AssetsHost = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="text for people, or markdown for a comment.  [default: text on a terminal, else markdown]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Report what publishing would change, for a pull request.

    The review lists all problems, then changes to the definitions, those that break clients first, then what goes live
    and ends when, the entries renamed and removed, with the addresses and references that end, and those changed, word
    by word, and added. Nothing is published. The exit status is 1 if there is an error.
    """
    if to is not None and to not in SERVICES:
        raise typer.BadParameter(f'"{to}" is not a service. Choose one of {", ".join(SERVICES)}.', param_hint="--post")
    if form not in (None, "text", "markdown"):
        raise typer.BadParameter(f'"{form}" is not a format. Choose text or markdown.', param_hint="--format")
    from snapshots.store.store import open_store

    if base is not None and live is not None:
        raise typer.BadParameter("--base and --live both name what to compare with: choose one.")
    root, now = workspace_directory(workspace), now_ms()
    host = assets_host(public_url)
    compare: Compare = with_nothing
    if live is not None:
        compare = with_live(live)
        host = host or live_public_url(live, root)
    elif base is not None:
        compare = with_checkout(workspace_directory(base), now, host)
    with tempfile.TemporaryDirectory(prefix="cms-review-") as folder:
        published = None if live is None else live_store(live)
        found = _reviewed(root, compare, open_store(folder), now, site, host, published)
        text = comment(found)
        where = None if to is None else post(SERVICES[to], text)
        _print(found, text, where, form, json=json)
    breaking = 0 if found.report is None else found.report.changes.breaking
    if found.problems.errors or (fail_on_breaking and breaking):
        raise typer.Exit(1)


def _print(found: Review, text: str, where: str | None, form: str | None, *, json: bool) -> None:
    if json:
        documents.write_json({**review_document(found), "comment": text, "url": where})
    elif form == "text" or (form is None and sys.stdout.isatty()):
        print_review(found)
    else:
        documents.write_text(text)
    if where is not None:
        lines.message(f"Commented: {where}")


def _reviewed(
    root: Path,
    compare: Compare,
    store: Store,
    now: int,
    site: str | None,
    host: str | None,
    published: Store | None,
) -> Review:
    from zoneinfo import ZoneInfo

    from snapshots.definitions.workspace import load_workspace

    definitions = load_workspace(root, Problems())
    found = compared(root, store, compare, now, host, published)
    if definitions is None or found.changes is None:
        name = root.resolve().name if definitions is None else definitions.workspace.id
        return Review(name, found.problems, None, found.remark, found.translations)
    workspace = definitions.workspace
    zone = ZoneInfo(workspace.timezone)
    report = Report(found.changes, workspace, zone, now, definitions.page_urls, site, definitions.launches)
    return Review(workspace.id, found.problems, report, found.remark, found.translations)
