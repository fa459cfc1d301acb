"""``cms review``: compare a workspace with what is published, and write a comment for a pull request."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import workspace_directory
from cli.options import AssetsHost, Json, WorkspaceDirectory, assets_host, new_app
from cli.output import documents, lines
from cli.output.translations import language_documents
from cli.remote.server import KEY_VARIABLE
from cli.review.comment import Review, comment
from cli.review.compared import Compare, compared, live_public_url, live_store, with_checkout, with_live, with_nothing
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
    json: Json = False,
) -> None:
    """Report what publishing would change, for a pull request.

    The review lists all problems, then changes to the definitions, those that break clients first, then the entries
    added, changed and removed. Nothing is published. The exit status is 1 if there is an error.
    """
    if to is not None and to not in SERVICES:
        raise typer.BadParameter(f'"{to}" is not a service. Choose one of {", ".join(SERVICES)}.', param_hint="--post")
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
    changes = found.changes
    breaking = 0 if changes is None else changes.breaking
    if json:
        documents.write_json(
            {
                "workspace": found.workspace,
                "errors": found.problems.errors,
                "warnings": found.problems.warnings,
                "breaking": breaking,
                "entries": None
                if changes is None
                else {"added": changes.added, "changed": changes.changed, "removed": changes.removed},
                "languages": language_documents(found.translations),
                "comment": text,
                "url": where,
            }
        )
    else:
        documents.write_text(text)
    if where is not None:
        lines.message(f"Commented: {where}")
    if found.problems.errors or (fail_on_breaking and breaking):
        raise typer.Exit(1)


def _reviewed(
    root: Path,
    compare: Compare,
    store: Store,
    now: int,
    site: str | None,
    host: str | None,
    published: Store | None,
) -> Review:
    from snapshots.definitions.workspace import load_workspace

    definitions = load_workspace(root, Problems())
    pages = {}
    if definitions is not None:
        templates = ((api.endpoint, definitions.sources[api.uid].page_url) for api in definitions.workspace.apis)
        pages = {endpoint: template for endpoint, template in templates if template is not None}
    found = compared(root, store, compare, now, host, published)
    name = root.resolve().name if definitions is None else definitions.workspace.id
    return Review(name, found.problems, found.changes, found.remark, pages, site, found.translations)
