"""``cms check``: a workspace directory → every problem in it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import output
from cli.location import store_at, usable_cache, workspace_directory
from cli.options import Json, StoreLocation, Strict, WorkspaceDirectory, new_app

app = new_app()


@app.command()
def check(
    workspace: WorkspaceDirectory = None,
    store: StoreLocation = None,
    strict: Strict = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write a missing uid into each API's definition first.")] = False,
    json: Json = False,
) -> None:
    """Print every problem of a workspace.

    Each is a line, file:line: error|warning: message, and their number comes last.
    Exit status 1 when there is an error.
    """
    from snapshots.build.build import check as check_workspace

    root = workspace_directory(workspace)
    if fix:
        from snapshots.definitions.uids import fix_uids

        for file in fix_uids(root):
            output.message(f"{file}: uid written")
    with usable_cache(store_at(store, root)) as cache, output.progress() as tell:
        found = check_workspace(root, cache, strict=strict, progress=tell)
    if json:
        output.write_json(
            {"errors": found.errors, "warnings": found.warnings, "problems": output.problem_documents(found)}
        )
    else:
        output.problems(found, stderr=False)
    if found.errors:
        raise typer.Exit(1)
