"""``cms check``: print every problem of a workspace directory."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.location import store_at, usable_cache, workspace_directory
from cli.options import Json, StoreLocation, Strict, WorkspaceDirectory, new_app
from cli.output import documents, lines
from cli.output.problems import print_problems, problem_documents
from cli.output.progress import progress

app = new_app()


@app.command()
def check(
    workspace: WorkspaceDirectory = None,
    store: StoreLocation = None,
    strict: Strict = False,
    fix: Annotated[bool, typer.Option("--fix", help="First add a uid to every API definition that has none.")] = False,
    json: Json = False,
) -> None:
    """List every problem in a workspace.

    Each problem is one line, "file:line: error|warning: message"; the last line counts them.
    The exit status is 1 if there is an error.
    """
    from snapshots.build.build import examine

    root = workspace_directory(workspace)
    if fix:
        from snapshots.definitions.uids import fix_uids

        for file in fix_uids(root):
            lines.message(f"{file}: uid written")
    opened = store_at(store, root)
    with usable_cache(opened) as cache, progress() as tell:
        found = examine(root, cache, strict=strict, progress=tell, published=opened).problems
    if json:
        documents.write_json({"errors": found.errors, "warnings": found.warnings, "problems": problem_documents(found)})
    else:
        print_problems(found, stderr=False)
    if found.errors:
        raise typer.Exit(1)
