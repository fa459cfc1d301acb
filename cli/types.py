"""``cms types``: a workspace's entries and queries as types of a programming language."""

from __future__ import annotations

from cli import output
from cli.location import find_place
from cli.options import StoreLocation, WorkspaceId, new_app

app = new_app("Print a workspace's entries and queries as types.")


@app.command()
def typescript(store: StoreLocation = None, workspace_id: WorkspaceId = None) -> None:
    """Print types for TypeScript.

    One module without dependencies: entries by depth, queries, and a function that writes a query. It is for the
    current version, and before the first one for the definitions.
    """
    from engine.typed.typescript import typescript_types

    output.write_source(typescript_types(find_place(store, workspace_id).workspace()))


@app.command()
def python(store: StoreLocation = None, workspace_id: WorkspaceId = None) -> None:
    """Print types for Python 3.11 and later.

    One module without dependencies: entries by depth, queries, and a function that writes a query. It is for the
    current version, and before the first one for the definitions.
    """
    from engine.typed.python import python_types

    output.write_source(python_types(find_place(store, workspace_id).workspace()))
