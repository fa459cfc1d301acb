"""``cms redirects``: where the pages of entries are now that had another ID or address before."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cli.location import store_at, usable_cache, workspace_directory
from cli.options import StoreLocation, WorkspaceDirectory, new_app
from cli.output import lines
from cli.output.progress import progress
from snapshots.problems import ParquetryError

app = new_app()


class Form(StrEnum):
    """The forms in which redirects are printed."""

    NETLIFY = "netlify"
    NGINX = "nginx"
    JSON = "json"


@app.command()
def redirects(
    workspace: WorkspaceDirectory = None,
    form: Annotated[Form, typer.Option("--format", help="Who is to read them.")] = Form.JSON,
    store: StoreLocation = None,
) -> None:
    """Print redirects for entries that had other IDs.

    The old IDs are the aliases in the content files. Each old page leads to the page of the entry, with status 301, in
    all languages of the entry; where they are is the page_url of the API. Netlify reads them from a file _redirects in
    the published folder, nginx by an include in the server block.
    """
    from snapshots.build.build import survey
    from snapshots.build.old_ids.gathering import Refers, redirects_of
    from snapshots.build.old_ids.redirects import FORMATS

    root = workspace_directory(workspace)
    with usable_cache(store_at(store, root)) as cache, progress() as tell:
        found = survey(root, cache, progress=tell)
    if found.inputs is None or found.problems.errors:
        count = found.problems.errors
        raise ParquetryError(
            f"The workspace has {count:,} error{'' if count == 1 else 's'}, so its redirects are not known. "
            "`cms check` lists them."
        )
    every = [Refers(one.api, one.index, one.references) for one in found.checked]
    made, refused = redirects_of(found.inputs.definitions, every)
    for one in refused:
        lines.warning(one)
    typer.echo(FORMATS[form.value](made), nl=False)
