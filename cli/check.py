"""``cms check``: print every problem of a workspace directory."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.location import store_at, usable_cache, workspace_directory
from cli.options import Json, MissingIn, StoreLocation, Strict, WorkspaceDirectory, new_app, no_such_language
from cli.output import documents, lines
from cli.output.problems import print_count, problem_documents, problem_lines
from cli.output.progress import progress
from cli.output.translations import language_documents, print_languages

app = new_app()


@app.command()
def check(
    workspace: WorkspaceDirectory = None,
    store: StoreLocation = None,
    strict: Strict = False,
    fix: Annotated[bool, typer.Option("--fix", help="First add a uid to every API definition that has none.")] = False,
    missing: MissingIn = None,
    json: Json = False,
) -> None:
    """List every problem in a workspace.

    Each problem is one line, "file:line: error|warning: message"; the last line counts them. Before it stands, for each
    language, how many entries are not translated, and how many translations are older than the original.
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
        result = examine(root, cache, strict=strict, progress=tell, published=opened, missing_in=missing)
    found = result.problems
    if missing is not None and missing not in {one.lang for one in result.translations}:
        raise no_such_language(missing, (one.lang for one in result.translations))
    if json:
        document: dict[str, object] = {"errors": found.errors, "warnings": found.warnings}
        document |= {"problems": problem_documents(found), "languages": language_documents(result.translations)}
        documents.write_json(document if missing is None else {**document, "missing": result.missing})
    else:
        problem_lines(found, stderr=False)
        for entry in result.missing:
            lines.answer(f"not translated into {missing}: {entry}")
        print_languages(result.translations, stderr=False)
        print_count(found, stderr=False)
    if found.errors:
        raise typer.Exit(1)
