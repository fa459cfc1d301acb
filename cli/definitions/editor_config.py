"""``cms editor-config``: the configuration of an editor in the browser, over the git repository of a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.location import DEFINITION, NoWorkspace, workspace_directory
from cli.options import WorkspaceDirectory, new_app
from cli.output import documents, lines
from snapshots.editing.config import editor_config
from snapshots.editing.editors import Editor
from snapshots.editing.repository import find_repository

app = new_app()


@app.command()
def config(
    workspace: WorkspaceDirectory = None,
    editor: Annotated[Editor, typer.Option("--editor", help="The editor to configure.")] = Editor.DECAP,
) -> None:
    """Print the configuration of a browser-based editor.

    The YAML is for Decap CMS or Sveltia CMS, which write to the workspace's git repository. It has a collection for
    each API, with fields, folders and languages taken from the definitions and the files. Warnings on standard error
    name what the editor cannot edit.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes what occurs twice twice."""

        def ignore_aliases(self, _: object) -> bool:
            return True

    from snapshots.definitions.workspace import load_workspace
    from snapshots.problems import Problems

    root = workspace_directory(workspace)
    definitions = load_workspace(root, Problems())
    if definitions is None:
        raise NoWorkspace(f"{root / DEFINITION} cannot be used; `cms check` shows why.")
    found = editor_config(root, definitions, find_repository(root), editor)
    for warning in found.warnings:
        lines.warning(warning)
    documents.write_source(yaml.dump(found.document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))
