"""``cms openapi``: the delivery API of one workspace as an OpenAPI document."""

from __future__ import annotations

from cli import output
from cli.location import find_place
from cli.options import PublicUrl, StoreLocation, WorkspaceId, new_app

app = new_app()


@app.command()
def openapi(
    public_url: PublicUrl = "http://127.0.0.1:8787", store: StoreLocation = None, workspace_id: WorkspaceId = None
) -> None:
    """Print the OpenAPI definition of a workspace.

    With its own APIs as paths and their fields as schemas: what generators of clients want. It is that of the current
    version, and before the first one that of the definitions. A server's /openapi.json describes any workspace.
    """
    from server.reference.workspace_document import workspace_document

    output.write_json(workspace_document(find_place(store, workspace_id).workspace(), public_url))
