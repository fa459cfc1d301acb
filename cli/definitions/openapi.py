"""``cms openapi``: the delivery API of one workspace as an OpenAPI document."""

from __future__ import annotations

from cli.location import choose_workspace
from cli.options import PublicUrl, StoreLocation, WorkspaceId, new_app
from cli.output import documents

app = new_app()


@app.command()
def openapi(
    public_url: PublicUrl = "http://127.0.0.1:8787", store: StoreLocation = None, workspace_id: WorkspaceId = None
) -> None:
    """Print the OpenAPI description of a workspace.

    The definition, for client generators, has the workspace's own APIs as paths and their fields as schemas. It is made
    from the current snapshot version or, before the first build, from the definitions. A server's /openapi.json
    describes any workspace.
    """
    from server.reference.workspace_document import workspace_document

    documents.write_json(workspace_document(choose_workspace(store, workspace_id).workspace(), public_url))
